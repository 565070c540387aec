"""Shared memory between a worker group's processes: what each worker runs, until when it may, and who still ticks.

Plain bytes without a lock: a process can be killed at any point and leaves nothing that another would wait for.
"""

import mmap
import struct
import time
from dataclasses import dataclass

HELD = struct.Struct("qqq")  # pid, task, claim
TIME = struct.Struct("d")
SIZE = TIME.size + HELD.size


@dataclass(frozen=True)
class Held:
    slot: int
    pid: int
    task_id: int
    claim: int
    deadline: float  # time.monotonic()


class Slots:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.memory = mmap.mmap(-1, workers * SIZE + 2 * TIME.size)

    def hold(self, slot: int, pid: int, task_id: int, claim: int, limit: float) -> None:
        HELD.pack_into(self.memory, slot * SIZE + TIME.size, pid, task_id, claim)
        TIME.pack_into(self.memory, slot * SIZE, time.monotonic() + limit)  # last: it makes the rest count

    def clear(self, slot: int) -> None:
        TIME.pack_into(self.memory, slot * SIZE, 0.0)

    def deadline(self, slot: int) -> float:
        return float(TIME.unpack_from(self.memory, slot * SIZE)[0])

    def held(self) -> list[Held]:
        found = []
        for slot in range(self.workers):
            deadline = self.deadline(slot)
            pid, task_id, claim = HELD.unpack_from(self.memory, slot * SIZE + TIME.size)
            if deadline and deadline == self.deadline(slot):
                found.append(Held(slot, pid, task_id, claim, deadline))
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
