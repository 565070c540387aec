"""Whoever starts with a database that is not migrated, or with a wrong setting, is told what to do in one line."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from django.db import connection

from tests.ai import WebProcess
from tests.processes import ROOT, database_url, environment

pytestmark = pytest.mark.django_db(transaction=True)
EMPTY = "standmeet_not_migrated"


@pytest.fixture
def empty() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {EMPTY} WITH (FORCE)")
        cursor.execute(f"CREATE DATABASE {EMPTY} TEMPLATE template0")
        yield database_url().replace(f"@/{connection.settings_dict['NAME']}?", f"@/{EMPTY}?")
        cursor.execute(f"DROP DATABASE {EMPTY} WITH (FORCE)")


@pytest.mark.parametrize(
    "command", ["op tasks.overview", "mcp", "createsuperuser --noinput --email a@example.org", "prune", "worker"]
)
def test_a_command_ends_with_one_line_that_names_the_remedy(empty, command) -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", *command.split()],
        cwd=ROOT,
        env={**environment(), "DATABASE_URL": empty},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 1
    assert "./run migrate" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr


def test_a_setting_that_is_refused_is_one_line_too() -> None:
    ended = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**environment(), "SECRET_KEY": "short"},
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.returncode == 1
    assert ended.stderr.startswith("SECRET_KEY is too easy to guess")
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr


def test_healthz_says_that_the_database_is_not_migrated(empty, tmp_path: Path) -> None:
    web = WebProcess(tmp_path / "web.log", DATABASE_URL=empty)
    try:
        answer = requests.get(f"{web.url}/healthz", timeout=10)
    finally:
        web.stop()

    assert answer.status_code == 503
    said = answer.json()
    assert (said["status"], said["database"], said["worker"]) == ("failing", "not migrated", "unknown")
