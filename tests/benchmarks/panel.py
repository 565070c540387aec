"""The panel's pages with two million jobs and half a million events: each page's server time, and its plans.

A page is asked for through Django's own client, as the owner, in this process: middleware, SQL and templates count, the
network does not. The tables are analysed but not vacuumed: no plan may count on visible pages. The statements are
explained again with what they were given; none may read a big table from end to end.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from psycopg import Cursor

from tasks.queue import sql
from tests.benchmarks.fleet import own_connection
from tests.benchmarks.report import Figures
from tests.benchmarks.samples import percentile
from tests.probe.kinds import FETCH, HEARS, MANY, NOTICED, QUICK

JOBS, EVENTS, SAMPLES = 2_000_000, 500_000, 15
BIG = {"tasks_task", "tasks_event", "tasks_delivery"}
# 97 % completed, and most of the rest waiting; three kinds, of which one is one in 400,000; one that nobody declares.
FILL = """
INSERT INTO tasks_task (kind, queue, state, args, attempt, max_attempts, claim, errors, created_at, scheduled_at,
    finalized_at)
SELECT CASE WHEN n %% 400000 = 7 THEN %(rare)s WHEN n %% 500000 = 9 THEN 'bench.of_yesterday'
            WHEN n %% 10 = 0 THEN %(some)s ELSE %(many)s END,
       CASE WHEN n %% 400000 = 7 THEN 'fetch' ELSE 'index' END,
       state, '{"note_id": 41}', attempt, 3, attempt,
       CASE WHEN state IN ('retryable', 'discarded')
            THEN jsonb_build_array(jsonb_build_object('at', at, 'attempt', 1, 'error', repeat('refused ', 40)))
            ELSE '[]' END,
       at, at + interval '1 hour', CASE WHEN state IN ('completed', 'discarded', 'cancelled') THEN at END
FROM (
    SELECT n, statement_timestamp() - (%(jobs)s - n) * interval '40 ms' AS at, s.state,
           CASE WHEN s.state = 'pending' THEN 0 ELSE 1 END AS attempt
    FROM generate_series(1, %(jobs)s) n, LATERAL (
        SELECT CASE WHEN n %% 100 < 97 THEN 'completed' WHEN n %% 100 = 97 THEN 'pending'
                    WHEN n %% 1000 = 98 THEN 'retryable' WHEN n %% 1000 = 99 THEN 'cancelled'
                    WHEN n %% 10000 = 198 THEN 'discarded' ELSE 'completed' END AS state) s) rows"""
FILL_EVENTS = """
WITH added AS (
    INSERT INTO tasks_event (id, type, owner_id, subject, occurred_at, data)
    SELECT gen_random_uuid(), CASE WHEN n %% 100000 = 5 THEN 'probe.ignored' ELSE %(type)s END, %(owner)s,
           'thing/' || n %% 50000, statement_timestamp() - n * interval '100 ms', '{"thing": "a bird"}'
    FROM generate_series(1, %(events)s) n
    RETURNING id)
INSERT INTO tasks_delivery (event_id, kind, task_id) SELECT id, %(hears)s, row_number() OVER () FROM added"""
PAGES = {
    "jobs": "/admin/tasks/task/",
    "jobs_deep": "/admin/tasks/task/?before=1000000",
    "kind_common": f"/admin/tasks/task/?kind={MANY.name}",
    "kind_rare": f"/admin/tasks/task/?kind={FETCH.name}",
    "kind_never": "/admin/tasks/task/?kind=owner.notify",
    "state_discarded": "/admin/tasks/task/?state=discarded",
    "state_pending": "/admin/tasks/task/?state=pending&before=1000000",
    "kind_rare_completed": f"/admin/tasks/task/?kind={FETCH.name}&state=completed",
    "kind_retryable": f"/admin/tasks/task/?kind={QUICK.name}&state=retryable",
    "queue": "/admin/tasks/task/?queue=fetch",
    "queue_state": "/admin/tasks/task/?queue=index&state=cancelled",
    "poll": "/admin/tasks/task/rows/?top=1",
    "job": "/admin/tasks/task/1999998/change/",
    "events": "/admin/tasks/event/",
    "events_rare": "/admin/tasks/event/?type=probe.ignored",
    "events_never": "/admin/tasks/event/?type=owner.login",
    "events_subject": "/admin/tasks/event/?subject=thing/77",
    "events_nobody": "/admin/tasks/event/?subject=thing/none&type=probe.noticed",
    "index": "/admin/",
}
WANTED = {f"{page}_ms": ("<=", 150.0) for page in PAGES} | {"sequential_scans": ("==", 0.0)}


def fill() -> Any:
    owner = get_user_model().objects.create_superuser("bench@example.org", "x", full_name="B")
    with own_connection() as conn:
        given = {"rare": FETCH.name, "some": QUICK.name, "many": MANY.name, "jobs": JOBS}
        conn.execute(FILL, given, prepare=False)
        told = {"type": NOTICED.name, "owner": owner.pk, "events": EVENTS, "hears": HEARS.name}
        conn.execute(FILL_EVENTS, told, prepare=False)
        for table in sorted(BIG):
            conn.execute(f"ANALYZE {table}")  # type: ignore[arg-type]
    return owner


Statement = tuple[str, Any]


@contextmanager
def listened() -> Iterator[list[Statement]]:
    """What is executed in here, by the ORM and from our files, with what it is given."""
    heard: list[Statement] = []

    def by_orm(execute: Callable[..., Any], text: str, params: Any, many: bool, context: Any) -> Any:
        heard.append((text, params))
        return execute(text, params, many, context)

    start = sql.start

    def by_file(name: str, params: dict[str, Any]) -> Any:
        heard.append((sql.statement(name), params))
        return start(name, params)

    sql.start = by_file
    try:
        with connection.execute_wrapper(by_orm):
            yield heard
    finally:
        sql.start = start


def explained(heard: list[Statement]) -> list[tuple[str, str]]:
    """The plan of each statement that reads a big table."""
    plans = []
    for text, params in heard:
        if text.lstrip("- \n").upper().startswith(("INSERT", "UPDATE", "SAVEPOINT", "RELEASE")):
            continue
        if any(table in text for table in BIG):
            cursor = Cursor(connection.connection)
            cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS) {text}", params)  # type: ignore[arg-type]
            plans.append((" ".join(text.split())[:110], "\n".join(line for (line,) in cursor)))
    return plans


def measured(client: Client, page: str, path: str) -> tuple[float, int]:
    """Milliseconds, p50, and the number of sequential scans of big tables."""
    with listened() as heard:
        answer = client.get(path)
    assert answer.status_code == 200, f"{path}: {answer.status_code}"
    scans = 0
    for text, plan in explained(heard):
        found = [table for table in re.findall(r"Seq Scan on (\w+)", plan) if table in BIG]
        scans += len(found)
        sys.stderr.write(f"\n{page}: {text}\n{plan}\n" + (f"SEQUENTIAL SCAN of {found}\n" if found else ""))
    samples = []
    for _ in range(SAMPLES):
        began = time.perf_counter()
        client.get(path)
        samples.append((time.perf_counter() - began) * 1000)
    return percentile(samples, 50), scans


def run() -> Figures:
    owner = fill()
    client = Client(HTTP_HOST="localhost")
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    figures: Figures = {}
    scans = 0
    for page, path in PAGES.items():
        figures[f"{page}_ms"], found = measured(client, page, path)
        scans += found
    figures["sequential_scans"] = float(scans)
    with own_connection() as conn:
        sizes = conn.execute(
            "SELECT indexrelname, pg_relation_size(indexrelid) FROM pg_stat_user_indexes WHERE relname = 'tasks_task'"
        ).fetchall()
        conn.execute("TRUNCATE tasks_task, tasks_event, tasks_delivery, tasks_taskaction")
    sys.stderr.write(json.dumps({name: f"{size >> 20} MB" for name, size in sizes}) + "\n")
    return figures
