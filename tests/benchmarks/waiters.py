"""As many calls as may wait in one process, on one LISTEN connection, and one more.

The jobs fall due together, once all the calls wait. A call's time runs from its job's `finalized_at` (the begin of the
statement that finished it, so the commit is counted too) to the moment wait() has returned in its thread, both by this
machine's clock.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tasks.queue.completion import MOST_WAITING, Done, Receipt, wait, waits
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tests.benchmarks.fleet import own_connection, worker
from tests.benchmarks.report import Figures
from tests.benchmarks.samples import percentile
from tests.probe.kinds import NOOP, Probe
from tests.processes import until

ROUNDS = 5
DUE_IN = timedelta(seconds=2)
LISTENING = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'standmeet listener'"""
WANTED = {"woken_p99_ms": ("<=", 100), "over_cap_ms": ("<=", 200), "listen_connections": ("==", 1)}


def woken_at(job: int) -> float:
    answer = wait([job], 30)
    at = time.time()
    assert isinstance(answer, Done), answer
    return at


def one_more(job: int) -> float:
    """Milliseconds until the call beyond the cap has its receipt."""
    began = time.perf_counter()
    answer = wait([job], 30)
    assert isinstance(answer, Receipt), answer
    return (time.perf_counter() - began) * 1000


def turn(pool: ThreadPoolExecutor) -> tuple[list[float], float, int]:
    jobs = [enqueue(NOOP, Probe(), delay=DUE_IN) for _ in range(MOST_WAITING + 1)]
    calls = {job: pool.submit(woken_at, job) for job in jobs[:MOST_WAITING]}
    until(lambda: waits().waiting == MOST_WAITING, what="every call waits")
    over_cap = one_more(jobs[-1])
    with own_connection() as conn:
        [listening] = conn.execute(LISTENING).fetchone()  # type: ignore[misc]
    assert not any(call.done() for call in calls.values()), "the jobs fell due too early"
    ended = {job: call.result() for job, call in calls.items()}
    tasks = Task.objects.filter(pk__in=ended)
    finished = {task.pk: task.finalized_at.timestamp() for task in tasks if task.finalized_at}
    return [(ended[job] - finished[job]) * 1000 for job in ended], over_cap, listening


def run() -> Figures:
    with worker(), ThreadPoolExecutor(MOST_WAITING) as pool:
        turns = [turn(pool) for _ in range(ROUNDS)]
    woken = [ms for samples, _, _ in turns for ms in samples]
    return {
        "woken_p50_ms": percentile(woken, 50),
        "woken_p99_ms": percentile(woken, 99),
        "woken_max_ms": max(woken),
        "over_cap_ms": max(ms for _, ms, _ in turns),
        "listen_connections": max(n for _, _, n in turns),
        "calls": MOST_WAITING,
    }
