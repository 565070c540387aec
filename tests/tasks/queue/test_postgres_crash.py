"""Postgres itself dies, with what it had not written to disk yet: the worker goes on, and no task is lost."""

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest

from tasks.queue.hands import MOST
from tests.localpg import kill_postmaster, temporary_folder
from tests.processes import ROOT, WorkerProcess, environment, until

ENQUEUE = """
from django.db import transaction
from tasks.queue.enqueue import enqueue
from tests.probe.kinds import MANY, TOGETHER, Probe
with transaction.atomic():
    for n in range(300):
        enqueue((MANY, TOGETHER)[n % 2], Probe(f"{n}", "sleep" if n % 10 == 0 else "", seconds=0.05))
"""
TASKS = "SELECT state, attempt, args ->> 'name' FROM tasks_task"
EFFECTS = "SELECT name FROM probe_effect"


class Elsewhere:
    """A Postgres of the test's own, and processes that use it and start it again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {"LOCALPG_DIR": str(folder), "DATABASE_URL": ""}
        self.url = self.run("-m", "standmeet.localpg", "url").strip()

    def run(self, *args: str) -> str:
        command, env = [sys.executable, *args], environment() | self.env
        done = subprocess.run(command, cwd=ROOT, env=env, timeout=60, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def rows(self, query: LiteralString) -> list[tuple[Any, ...]]:
        """None at all while it is down."""
        with suppress(psycopg.OperationalError), psycopg.connect(self.url) as conn:
            return conn.execute(query).fetchall()
        return []


@pytest.fixture
def elsewhere(db: None) -> Iterator[Elsewhere]:
    with temporary_folder() as folder:
        place = Elsewhere(folder)
        place.run("manage.py", "migrate", "--run-syncdb", "-v0")
        yield place


def test_a_crash_of_postgres_loses_no_task_and_fails_only_what_met_it(elsewhere: Elsewhere, tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path / "log", "index=2", **elsewhere.env)
    try:
        elsewhere.run("manage.py", "shell", "--no-imports", "-c", ENQUEUE)
        for crash in (1, 2, 3):
            until(lambda n=crash: len(elsewhere.rows(EFFECTS)) >= 60 * n, seconds=60, what=f"{crash} x 60 have begun")
            kill_postmaster(elsewhere.folder)
        until(lambda: {state for state, *_ in elsewhere.rows(TASKS)} == {"completed"}, seconds=60, what="all completed")
        tasks, effects = elsewhere.rows(TASKS), elsewhere.rows(EFFECTS)
    finally:
        code = worker.stop()

    assert code == 0, worker.log.read_text()
    assert len(tasks) == 300
    assert sum(attempt - 1 for _, attempt, _ in tasks) <= 3 * 2, "more than the handlers that were at the database then"
    assert {name for (name,) in effects} == {name for *_, name in tasks}
    again = {name: n for (name,), n in Counter(effects).items() if n > 1}
    assert len(again) <= 3 * 2 * MOST, f"more than the workers held at the crashes: {again}"
