"""Shared memory between a worker group's processes: what each worker runs, until when it may, and who still ticks.

Plain bytes, since a process can be killed at any point and must leave nothing that another would wait for.
"""

import mmap
import struct
import time
from dataclasses import dataclass

TIME = struct.Struct("d")  # when the task in hand must be done; 0: none is
HELD = struct.Struct("qq")  # task, claim
WHO = struct.Struct("qq")  # pid, and the id of the worker's row; 0: not enrolled yet
SIZE = TIME.size + HELD.size + WHO.size


@dataclass(frozen=True)
class Held:
    slot: int
    pid: int
    worker: int
    task_id: int
    claim: int
    deadline: float  # time.monotonic()


class Slots:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.memory = mmap.mmap(-1, workers * SIZE + 2 * TIME.size)

    def vacate(self, slot: int) -> None:
        """Nobody works here."""
        self.clear(slot)
        self.enroll(slot, 0, 0)

    def enroll(self, slot: int, pid: int, worker: int) -> None:
        WHO.pack_into(self.memory, slot * SIZE + TIME.size + HELD.size, pid, worker)

    def who(self, slot: int) -> tuple[int, int]:
        pid, worker = WHO.unpack_from(self.memory, slot * SIZE + TIME.size + HELD.size)
        return pid, worker

    def enrolled(self) -> dict[int, int]:
        """The ids of the workers' rows, with those of their processes."""
        found = (self.who(slot) for slot in range(self.workers))
        return {worker: pid for pid, worker in found if worker}

    def hold(self, slot: int, task_id: int, claim: int, limit: float) -> None:
        HELD.pack_into(self.memory, slot * SIZE + TIME.size, task_id, claim)
        TIME.pack_into(self.memory, slot * SIZE, time.monotonic() + limit)  # last: it makes the rest count

    def clear(self, slot: int) -> None:
        TIME.pack_into(self.memory, slot * SIZE, 0.0)

    def deadline(self, slot: int) -> float:
        return float(TIME.unpack_from(self.memory, slot * SIZE)[0])

    def held(self) -> list[Held]:
        found = []
        for slot in range(self.workers):
            deadline = self.deadline(slot)
            task_id, claim = HELD.unpack_from(self.memory, slot * SIZE + TIME.size)
            if deadline and deadline == self.deadline(slot):
                found.append(Held(slot, *self.who(slot), task_id, claim, deadline))
        return found

    def tick(self, who: int) -> None:
        """`who`: 0 the bell, 1 the housekeeper."""
        TIME.pack_into(self.memory, self.workers * SIZE + who * TIME.size, time.monotonic())

    def last_tick(self, who: int) -> float:
        return float(TIME.unpack_from(self.memory, self.workers * SIZE + who * TIME.size)[0])


class Flag:
    """One shared byte."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 1)

    def set(self) -> None:
        self.memory[0] = 1

    def is_set(self) -> bool:
        return self.memory[0] == 1
