"""Waiting for tasks to become final: one LISTEN connection a process, shared by its sync and async callers."""

import asyncio
import atexit
import contextlib
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.db import connection

from tasks.queue.context import current_task
from tasks.queue.listener import Call, Listener, Seen
from tasks.queue.tally import Tally

MOST_WAITING = 64


@dataclass(frozen=True)
class Receipt:
    """The wait is over and not all tasks are: ids to ask about later."""

    job_ids: tuple[int, ...]


@dataclass(frozen=True)
class Done:
    """Every task is final; `states` and, for those that did not complete, `reasons` by id."""

    states: dict[int, str]
    reasons: dict[int, str]


class Waits:
    """Admits waiting calls up to MOST_WAITING in this process and hands them to the listener."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.lock = threading.Lock()
        self.waiting = 0
        self.listener: Listener | None = None
        self.tally = Tally()

    def admit(self) -> bool:
        with self.lock:
            if self.waiting >= MOST_WAITING:
                return False
            self.waiting += 1
            return True

    def leave(self) -> None:
        with self.lock:
            self.waiting -= 1

    def count(self, outcome: str, begun: float) -> None:
        self.tally.add(outcome, time.monotonic() - begun)
        if self.listener:
            self.listener.poke()

    def listen(self) -> Listener:
        with self.lock:
            if self.listener is None or not self.listener.is_alive():
                self.listener = Listener(self.tally)
                self.listener.start()
                atexit.unregister(_close)
                atexit.register(_close)  # before what was registered earlier, the embedded Postgres's end included
            return self.listener

    def close(self) -> None:
        with self.lock:
            listener, self.listener = self.listener, None
        if listener:
            listener.close()


_waits = Waits()


def _close() -> None:
    waits().close()


def waits() -> Waits:
    """This process's: a fork has its own, with its own connection."""
    global _waits
    if _waits.pid != os.getpid():
        _waits = Waits()
    return _waits


def wait(job_ids: Iterable[int], seconds: float) -> Done | Receipt:
    """Wait until every one of these tasks is final, at most `seconds`; then give the receipt.

    The receipt comes at once where 64 calls wait in this process already, or when a task cannot end in time. Raises
    RuntimeError inside a transaction (it could never see the end) and inside a task's handler (it could wait for
    itself). The thread's database connection is given back first: waiting holds none. contract.md, section 1.
    """
    ids, begun = checked(job_ids), time.monotonic()
    release_connection()
    woken = threading.Event()
    call = Call(ids, seconds, woken.set)
    if not waits().admit():
        waits().count("capped", begun)
        return Receipt(ids)
    try:
        with waits().listen().registered(call):
            woken.wait(seconds)
    finally:
        waits().leave()
    return answer(call, begun)


async def wait_async(job_ids: Iterable[int], seconds: float, *, release: bool = True) -> Done | Receipt:
    """`wait` for a coroutine: it holds neither a thread nor a connection. Same promise, limits and errors.

    `release=False`: the caller ran its transaction elsewhere and has given that connection back. Outside a Django
    request, sync_to_async would give back the one of a thread that all coroutines share, one after the other.
    """
    ids, begun = checked(job_ids), time.monotonic()
    if release:
        await sync_to_async(release_connection)()
    woken = asyncio.Event()
    loop = asyncio.get_running_loop()

    def wake() -> None:
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            loop.call_soon_threadsafe(woken.set)

    call = Call(ids, seconds, wake)
    if not waits().admit():
        waits().count("capped", begun)
        return Receipt(ids)
    try:
        with waits().listen().registered(call), contextlib.suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), seconds)
    finally:
        waits().leave()
    return answer(call, begun)


def release_connection() -> None:
    if connection.in_atomic_block:
        raise RuntimeError("a wait belongs after the transaction that enqueued")
    connection.close()


def checked(job_ids: Iterable[int]) -> tuple[int, ...]:
    if current_task.get() is not None:
        raise RuntimeError("a handler must not wait for tasks: it could hold the place that they need")
    return tuple(dict.fromkeys(job_ids))


def answer(call: Call, begun: float) -> Done | Receipt:
    seen: dict[int, Seen] = call.seen
    if not all(id in seen and seen[id].final for id in call.ids):
        waits().count("receipt", begun)
        return Receipt(call.ids)
    waits().count("done", begun)
    return Done(
        {id: seen[id].state for id in call.ids},
        {id: seen[id].reason for id in call.ids if seen[id].reason},
    )
