"""Calls that wait, and what their tests say about them."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tasks.queue import completion
from tasks.queue.completion import Done, Receipt, wait, wait_async
from tasks.queue.models import Task
from tasks.queue.transitions import change
from tests.probe.rows import hand_of
from tests.processes import until

AT_ONCE = 0.2
Answer = Done | Receipt


def waiting_async(job_ids: list[int], seconds: float) -> Answer:
    return asyncio.run(wait_async(job_ids, seconds))


both = pytest.mark.parametrize("call", [wait, waiting_async], ids=["sync", "async"])
Call = Callable[[list[int], float], Answer]


@contextmanager
def within(seconds: float, least: float = 0) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert least <= time.monotonic() - began < seconds


def until_waiting(calls: int = 1) -> None:
    until(lambda: completion.waits().waiting == calls, what=f"{calls} calls wait")


def complete(task: Task) -> None:
    assert change("complete", **hand_of(task))
