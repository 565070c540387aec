"""The workers and jobs that are measured."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection, transaction

from tasks.declare import TaskKind
from tasks.queue import completion
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Worker
from tests.probe.kinds import NOOP, Probe
from tests.processes import WorkerProcess, until

LEFT = """SELECT EXISTS (SELECT FROM tasks_task WHERE state IN ('pending', 'retryable'))
    OR EXISTS (SELECT FROM tasks_task WHERE state = 'running')"""
BESIDE_WORKERS = 3  # sentinel, bell, housekeeper


def own_connection() -> psycopg.Connection[Any]:
    return connect("bench")


@contextmanager
def nothing_left() -> Iterator[None]:
    """A benchmark begins with empty tables and leaves no connection of this thread's and no listener."""
    with own_connection() as conn:
        conn.execute("TRUNCATE tasks_task, tasks_worker, probe_effect")
    try:
        yield
    finally:
        completion.waits().close()
        connection.close()


@contextmanager
def worker(queues: str | None = None, settings: str = "tests.settings") -> Iterator[WorkerProcess]:
    """`manage.py worker` with every process at work; its log is added to what goes wrong meanwhile."""
    with TemporaryDirectory() as folder:
        process = WorkerProcess(Path(folder) / "log", queues, settings)
        try:
            until(lambda: enrolled(process, queues), seconds=30, what="every worker process enrolled")
            yield process
        except Exception as error:
            error.add_note(f"The worker's log ended with:\n{process.log.read_text()[-3000:]}")
            raise
        finally:
            process.stop()


def enrolled(process: WorkerProcess, queues: str | None) -> bool:
    assert process.process.poll() is None, "the worker did not start"
    return Worker.objects.count() == workers(queues)


def workers(queues: str | None = None) -> int:
    if queues is None:
        return sum(settings.QUEUES.values())
    return sum(int(part.partition("=")[2]) for part in queues.split(","))


def add_noops(n: int, kind: TaskKind = NOOP) -> None:
    """In one commit."""
    with transaction.atomic():
        for _ in range(n):
            enqueue(kind, Probe())


def drained(seconds: float = 120, every: float = 0.05) -> None:
    """Wait until every task is final, with looks that cost the server little."""
    end = time.monotonic() + seconds
    with own_connection() as conn:
        while conn.execute(LEFT).fetchone()[0]:  # type: ignore[index]
            if time.monotonic() > end:
                states = conn.execute("SELECT queue, state, count(*) FROM tasks_task GROUP BY 1, 2").fetchall()
                raise AssertionError(f"not every task is final after {seconds} s: {states}")
            time.sleep(every)
