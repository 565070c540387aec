"""The limit of throughput: processes that claim and finish rows of a bare table, with two statements a row."""

import multiprocessing
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.synchronize import Barrier

from tests.benchmarks.pingpong import connect

TABLE = """
CREATE TABLE IF NOT EXISTS bench_row (
    id bigserial PRIMARY KEY, state text NOT NULL DEFAULT 'ready', claimed_at timestamptz, finished_at timestamptz);
CREATE INDEX IF NOT EXISTS bench_ready ON bench_row (id) WHERE state = 'ready';
TRUNCATE bench_row"""
FILL = "INSERT INTO bench_row (state) SELECT 'ready' FROM generate_series(1, %s)"
CLAIM = """
WITH picked AS MATERIALIZED (
    SELECT id FROM bench_row WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
UPDATE bench_row b SET state = 'running', claimed_at = statement_timestamp()
FROM picked WHERE b.id = picked.id
RETURNING b.id"""
FINISH = """
WITH finished AS (
    UPDATE bench_row SET state = 'done', finished_at = statement_timestamp() WHERE id = %s RETURNING id)
SELECT pg_notify('bench_done', id::text) FROM finished"""


@dataclass(frozen=True)
class Durability:
    """Values of synchronous_commit."""

    claim: str
    finish: str


def committed(statement: str, setting: str) -> str:
    """Commit with this setting and without another round trip."""
    return statement if setting == "on" else f"{statement}, set_config('synchronous_commit', '{setting}', true)"


def loop(durability: Durability, start: Barrier) -> None:
    claim = committed(CLAIM, durability.claim)
    finish = FINISH.replace(" FROM finished", "")
    finish = f"{committed(finish, durability.finish)} FROM finished"
    with connect() as conn:
        start.wait(30)
        while row := conn.execute(claim).fetchone():
            conn.execute(finish, row[:1])


def rate(jobs: int, processes: int, durability: Durability) -> float:
    """Jobs a second, from the start signal to the last finish."""
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(processes + 1)
    with connect() as conn:
        conn.execute(TABLE, prepare=False)
        conn.execute(FILL, [jobs])
        running = [context.Process(target=loop, args=(durability, start), daemon=True) for _ in range(processes)]
        for process in running:
            process.start()
        began: datetime
        try:
            start.wait(30)
            [began] = conn.execute("SELECT clock_timestamp()").fetchone()  # type: ignore[misc]
            for process in running:
                process.join(120)
            assert [process.exitcode for process in running] == [0] * processes
        finally:
            for process in running:
                process.kill()
        query = "SELECT count(*), max(finished_at) FROM bench_row WHERE state = 'done'"
        [done, last] = conn.execute(query).fetchone()  # type: ignore[misc]
    assert done == jobs, f"{done} of {jobs}"
    return float(jobs / (last - began).total_seconds())
