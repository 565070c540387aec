"""Waiting for the tasks of a result, on the event loop: no thread and no connection is held meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from tasks.queue.completion import Done, Receipt, wait_async

TICK = 1.0  # seconds between notes of progress

Tell = Callable[[float], Awaitable[None]]


async def until_final(job_ids: Iterable[int], seconds: float, tell: Tell) -> Done | Receipt:
    """wait_async, telling every second how long it has been. Ends with its caller when that is cancelled."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    waiting = asyncio.ensure_future(wait_async(job_ids, seconds, release=False))
    try:
        while not (await asyncio.wait({waiting}, timeout=TICK))[0]:
            await tell(round(loop.time() - began, 1))
        return waiting.result()
    finally:
        waiting.cancel()
