"""Hands: the tasks that a worker took together, and how much of them it has begun, as its housekeeper sees it.

A hand is for quick tasks. When one of them turns out to be slow, the housekeeper completes what is done and gives back
what was not begun, so that nothing waits for it. Which of the two a task belongs to is agreed under a lock of the
worker's byte in a file (fcntl(2), "Advisory record locking"): the kernel lets go of it when its holder is killed.
"""

import fcntl
import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import mkstemp

MOST = 10  # tasks in a hand
HEAD = struct.Struct("dqq")  # when it was dealt, how many of it were begun, and one of these:
OVER, DEALT, REVOKED = range(3)  # nothing is to be done; its worker goes on; all but the task begun last is taken over
TASKS = struct.Struct(f"qq{2 * MOST}q")  # the worker's row, how many, then ids and claims by turns
SIZE = HEAD.size + TASKS.size

Pair = tuple[int, int]  # a task's id and claim


@dataclass(frozen=True)
class Late:
    """A hand whose worker has been busy for long with the last one it began."""

    slot: int
    dealt: float
    worker: int
    done: tuple[Pair, ...]
    unbegun: tuple[Pair, ...]


class Hands:
    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.memory = mmap.mmap(-1, workers * SIZE)
        self.file, name = mkstemp()
        os.unlink(name)  # it is for its locks only

    @contextmanager
    def locked(self, slot: int, wait: bool) -> Iterator[None]:
        """Raises OSError where the other one holds it and we do not wait."""
        fcntl.lockf(self.file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, slot)
        try:
            yield
        finally:
            fcntl.lockf(self.file, fcntl.LOCK_UN, 1, slot)

    def head(self, slot: int) -> tuple[float, int, int]:
        dealt, begun, now = HEAD.unpack_from(self.memory, slot * SIZE)
        return dealt, begun, now

    def write(self, slot: int, dealt: float, begun: int, now: int) -> None:
        HEAD.pack_into(self.memory, slot * SIZE, dealt, begun, now)

    def deal(self, slot: int, worker: int, tasks: list[Pair]) -> None:
        """The worker has taken these. The hand that a killed one left in the slot is forgotten: rescue finds it."""
        numbers = [number for pair in tasks for number in pair]
        room = [0] * (2 * MOST - len(numbers))
        with self.locked(slot, wait=True):
            TASKS.pack_into(self.memory, slot * SIZE + HEAD.size, worker, len(tasks), *numbers, *room)
            self.write(slot, time.monotonic(), 0, DEALT)

    def begin(self, slot: int, n: int) -> bool:
        """Whether the worker may begin task n (from 0) of its hand. False: it was given back."""
        with self.locked(slot, wait=True):
            dealt, _, now = self.head(slot)
            if now == DEALT:
                self.write(slot, dealt, n + 1, now)
        return now == DEALT

    def end(self, slot: int) -> bool:
        """The worker sees to what is left itself. False: the housekeeper has taken it over before."""
        with self.locked(slot, wait=True):
            now = self.head(slot)[2]
            if now == DEALT:
                self.write(slot, 0.0, 0, OVER)
        return now == DEALT

    def late(self, patience: float) -> list[Late]:
        """Revoke the hands that were dealt more than this many seconds ago. One that is named must be seen to."""
        found = []
        for slot in range(self.workers):
            dealt, _, now = self.head(slot)
            if now != OVER and time.monotonic() > dealt + patience and (late := self.revoke(slot)):
                found.append(late)
        return found

    def revoke(self, slot: int) -> Late | None:
        try:
            with self.locked(slot, wait=False):
                dealt, begun, now = self.head(slot)
                if now == OVER:  # meanwhile
                    return None
                self.write(slot, dealt, begun, REVOKED)
                worker, count, *numbers = TASKS.unpack_from(self.memory, slot * SIZE + HEAD.size)
        except OSError:  # its worker is just about to look
            return None
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))[:count]
        return Late(slot, dealt, worker, tuple(pairs[: max(0, begun - 1)]), tuple(pairs[begun:]))

    def seen_to(self, late: Late) -> None:
        """What was revoked is written down. (Again, where its worker is just about to look: it changes nothing.)"""
        with suppress(OSError), self.locked(late.slot, wait=False):
            dealt, _, now = self.head(late.slot)
            if now == REVOKED and dealt == late.dealt:
                self.write(late.slot, 0.0, 0, OVER)

    @property
    def any(self) -> bool:
        return any(self.head(slot)[2] != OVER for slot in range(self.workers))
