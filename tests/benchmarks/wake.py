"""How long after its job was committed a waiter knows the result: idle system, no-op job, worker of the default size.

    p50_ms        commit -> the listener calls the waiter's `wake`; the call is registered right after the commit
    call_p50_ms   commit -> the public wait() returns
    limit_p50_ms  raw ping-pong of two connections: commit of insert and notify -> the other's answer is heard

Another thread enqueues and hands the id over, which is in the measured path; the new connection that the waiting
thread would need for each job, since wait() gives its own back, is not.
All three take turns, sample by sample, so that what else the machine does meets each of them alike.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Event

from django.db import connection

from tasks.queue.completion import Done, wait, waits
from tasks.queue.enqueue import enqueue
from tasks.queue.listener import Call
from tests.benchmarks.fleet import worker
from tests.benchmarks.machine import BETWEEN, quiet
from tests.benchmarks.pingpong import pingpong
from tests.benchmarks.report import Figures
from tests.benchmarks.samples import percentile
from tests.probe.kinds import NOOP, Probe
from tests.processes import until

ROUNDS, SAMPLES, WARM_UP = 4, 100, 20
PAUSE = 0.005
WANTED = {"ratio": ("<=", 4), "p99_ms": ("<=", 20), "call_p99_ms": ("<=", 20)}

Enqueued = tuple[int, float]  # the job's id, and when it was committed


@contextmanager
def enqueueing() -> Iterator[Callable[[], Enqueued]]:
    new: SimpleQueue[Enqueued] = SimpleQueue()

    def one() -> Enqueued:
        other.submit(lambda: new.put((enqueue(NOOP, Probe()), time.perf_counter())))
        return new.get(timeout=10)

    with ThreadPoolExecutor(1) as other:
        yield one
        other.submit(lambda: connection.close()).result()  # that thread's


def registered(job: int, committed: float) -> float:
    woken, at = Event(), []

    def wake() -> None:
        at.append(time.perf_counter())
        woken.set()

    call = Call((job,), 5, wake)
    with waits().listen().registered(call):
        assert woken.wait(5), f"nobody was told of task {job}"
    assert call.seen[job].final, call.seen
    return at[0] - committed


def called(job: int, committed: float) -> float:
    answer = wait([job], 5)
    seconds = time.perf_counter() - committed
    assert isinstance(answer, Done), answer
    return seconds


def run() -> Figures:
    with worker(), pingpong() as limit, enqueueing() as one:
        listener = waits().listen()
        until(lambda: listener.connected, what="the listener is connected")
        measures: dict[str, Callable[[], float]] = {
            "limit": limit.sample,
            "": lambda: registered(*one()),
            "call": lambda: called(*one()),
        }
        taken: dict[str, list[float]] = {name: [] for name in measures}
        busy = []
        for turn in range(ROUNDS + 1):
            busy.append(quiet(BETWEEN))
            for _ in range(SAMPLES if turn else WARM_UP):
                for name, sample in measures.items():
                    seconds = sample()
                    if turn:
                        taken[name].append(seconds * 1000)
                    time.sleep(PAUSE)
    p50, p99 = ({name: percentile(of, share) for name, of in taken.items()} for share in (50, 99))
    return {
        "p50_ms": p50[""],
        "p99_ms": p99[""],
        "limit_p50_ms": p50["limit"],
        "limit_p99_ms": p99["limit"],
        "ratio": p50[""] / p50["limit"],
        "call_p50_ms": p50["call"],
        "call_p99_ms": p99["call"],
        "samples": len(taken[""]),
        "busiest": max(busy),
    }
