"""What a worker of the default size costs while there is nothing to do, after every queue has had some work.

Memory is the proportional set size: what processes share is divided among them.
"""

import time
from contextlib import nullcontext

from tasks.queue.enqueue import enqueue
from tests.benchmarks import statements
from tests.benchmarks.fleet import add_noops, drained, own_connection, worker
from tests.benchmarks.report import Figures
from tests.probe.kinds import FETCH, NOTIFY, ONE, Probe
from tests.processes import WorkerProcess

SECONDS = 20.0
SETTLING = 3.0
CONNECTIONS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND application_name <> 'standmeet bench'"""
WANTED = {"statements_s": ("<=", 15), "pss_mb_max": ("<=", 20)}


def some_work() -> None:
    add_noops(300)
    for kind in (NOTIFY, FETCH, ONE):
        for n in range(50):
            enqueue(kind, Probe(f"{kind.name} {n}"))
    drained()


def memory(running: WorkerProcess) -> list[float]:
    """MB of each process of the tree."""
    return [process.memory_full_info().pss / 2**20 for process in (running.main, *running.children())]


def run() -> Figures:
    from django.db import connection

    logged = statements.each_logged()
    with statements.logged() if logged else nullcontext(), worker(settings="tests.whole_settings") as running:
        some_work()
        connection.close()
        time.sleep(SETTLING)
        count = statements.per_second_by_log if logged else statements.per_second_by_transaction
        a_second = count(SECONDS)
        each = memory(running)
        with own_connection() as conn:
            [connections] = conn.execute(CONNECTIONS).fetchone()  # type: ignore[misc]
    return {
        "statements_s": a_second,
        "pss_mb": sum(each),
        "pss_mb_max": max(each),
        "connections": connections,
        "processes": len(each),
        "counted_by": "log" if logged else "transactions",
    }
