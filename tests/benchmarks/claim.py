"""How the time of the claim statement grows with the table: one round trip, without its commit.

The connection is as old as a worker's: its plan was made and kept while the table was nearly empty. Each scenario
begins there, then fills the table and measures at once, before anybody analysed it; then again after the ANALYZE that
autovacuum would have run by itself. Every claimed job is completed and committed, so the index's dead entries stay.
"""

import time
from typing import Any

import psycopg
from psycopg.types.json import Jsonb

from tasks.queue.sql import statement
from tests.benchmarks.fleet import own_connection
from tests.benchmarks.machine import BETWEEN, quiet
from tests.benchmarks.report import Figures
from tests.benchmarks.samples import percentile
from tests.probe.kinds import NOOP

SAMPLES = 300
FINISHED, PENDING = 1_000_000, 200_000
WANTED = {f"{name}{when}_ratio": ("<=", 2) for name in ("finished_1m", "pending_200k") for when in ("", "_analyzed")}
FILL = """
INSERT INTO tasks_task (kind, queue, state, args, attempt, max_attempts, claim, errors, created_at, scheduled_at,
    finalized_at)
SELECT %(kind)s, 'index', %(state)s, %(args)s, %(attempt)s, 3, %(attempt)s, '[]', at, at,
    CASE WHEN %(attempt)s > 0 THEN at END
FROM (SELECT statement_timestamp() - n * interval '10 ms' AS at FROM generate_series(1, %(rows)s) n) rows"""


def fill(conn: psycopg.Connection[Any], state: str, rows: int) -> None:
    args = Jsonb({"name": "", "do": "", "text": "", "seconds": 0.0, "times": 0})
    attempt = 0 if state == "pending" else 1
    given = {"kind": NOOP.name, "state": state, "args": args, "attempt": attempt, "rows": rows}
    conn.execute(FILL, given, prepare=False)


def claim(conn: psycopg.Connection[Any]) -> float:
    """Milliseconds for one claim."""
    with conn.transaction():
        began = time.perf_counter()
        row = conn.execute(statement("claim"), {"queue": "index", "worker": 1, "lease": 60.0}).fetchone()
        seconds = time.perf_counter() - began
        assert row, "nothing was due"
        conn.execute(statement("complete"), {"ids": [row[0]], "claims": [row[4]], "worker": 1})
    return seconds * 1000


def claims(conn: psycopg.Connection[Any]) -> float:
    quiet(BETWEEN)
    return percentile([claim(conn) for _ in range(SAMPLES)], 50)


def scenario(state: str, rows: int) -> tuple[float, float, float]:
    """Milliseconds, p50: nearly empty; filled; filled and analysed."""
    with own_connection() as conn, own_connection() as other:
        other.execute("TRUNCATE tasks_task")
        fill(other, "pending", SAMPLES)
        empty = claims(conn)
        fill(other, state, rows)
        fill(other, "pending", 2 * SAMPLES)
        filled = claims(conn)
        other.execute("ANALYZE tasks_task")
        return empty, filled, claims(conn)


def run() -> Figures:
    figures: Figures = {"empty_ms": 0.0}
    empties = []
    for name, state, rows in (("finished_1m", "completed", FINISHED), ("pending_200k", "pending", PENDING)):
        empty, filled, analyzed = scenario(state, rows)
        empties.append(empty)
        figures |= {
            f"{name}_ms": filled,
            f"{name}_ratio": filled / empty,
            f"{name}_analyzed_ms": analyzed,
            f"{name}_analyzed_ratio": analyzed / empty,
        }
    figures["empty_ms"] = sum(empties) / len(empties)
    with own_connection() as conn:
        conn.execute("TRUNCATE tasks_task")
    return figures
