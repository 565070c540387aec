"""No-op jobs a second of two worker processes, beside a bare SQL loop in two processes that commits as durably.

The no-op kind is declared quick, so that several are taken together; `alone_` is one that is not. They and the limit
take turns. The medians count; the best rounds are those that other processes disturbed least.
Both begin when their jobs are there and end with the last finish, by the server's clock; neither table is vacuumed or
analysed by hand.
"""

from datetime import datetime
from statistics import median

from tasks.declare import TaskKind
from tests.benchmarks import bareloop, durability
from tests.benchmarks.fleet import add_noops, drained, own_connection, worker
from tests.benchmarks.machine import BETWEEN, quiet
from tests.benchmarks.report import Figures
from tests.probe.kinds import NOOP, NOOP_ALONE

ROUNDS, JOBS, PROCESSES = 5, 4000, 2
WANTED = {"ratio": (">=", 1.0)}


def rate(jobs: int, kind: TaskKind = NOOP) -> float:
    with own_connection() as conn:
        conn.execute("TRUNCATE tasks_task")
        add_noops(jobs, kind)
        began: datetime
        [began] = conn.execute("SELECT clock_timestamp()").fetchone()  # type: ignore[misc]
        drained()
        query = "SELECT count(*), max(finalized_at) FROM tasks_task WHERE state = 'completed'"
        [done, last] = conn.execute(query).fetchone()  # type: ignore[misc]
    assert done == jobs, f"{done} of {jobs}"
    return float(jobs / (last - began).total_seconds())


def run() -> Figures:
    with worker(f"index={PROCESSES}"):
        settings = durability.of_the_worker()
        rate(JOBS // 10)
        rounds, busy = [], []
        for _ in range(ROUNDS):
            busy.append(quiet(BETWEEN))
            rounds.append((rate(JOBS), rate(JOBS, NOOP_ALONE), bareloop.rate(JOBS, PROCESSES, settings)))
    ours, alone, limit = (median(side) for side in zip(*rounds, strict=True))
    best_ours, _, best_limit = (max(side) for side in zip(*rounds, strict=True))
    return {
        "jobs_s": ours,
        "limit_jobs_s": limit,
        "ratio": ours / limit,
        "alone_jobs_s": alone,
        "alone_ratio": alone / limit,
        "best_jobs_s": best_ours,
        "best_limit_jobs_s": best_limit,
        "best_ratio": best_ours / best_limit,
        "busiest": max(busy),
        "claim_commit": settings.claim,
        "finish_commit": settings.finish,
    }
