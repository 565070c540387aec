import os
import subprocess
import sys

import pytest
from django.core.exceptions import ImproperlyConfigured

from standmeet import env
from tests.processes import ROOT

GOOD = "postgresql://standmeet:pass%40word@db.example.org:5433/meet?sslmode=require"
SECRET = "kJ8s9dLq2-mN4vB7xZ1cR5tY6uI0oP3a"


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (lambda: env.boolean("X", False), "maybe"),
        (lambda: env.integer("X", 1, least=1, most=9), "0"),
        (lambda: env.integer("X", 1), "-1"),
        (lambda: env.integer("X", 1), "1.5"),
        (lambda: env.url("X", ""), "example.org"),
        (lambda: env.url("X", ""), "ftp://example.org"),
        (lambda: env.secret("X", generated=None), ""),
        (lambda: env.secret("X", generated=None), "short"),
        (lambda: env.secret("X", generated=None), "a" * 64),
        (lambda: env.database("X"), "mysql://a/b"),
        (lambda: env.database("X"), "postgresql://host"),
        (lambda: env.database("X"), "postgresql://host:port/name"),
    ],
)
def test_nonsense_in_a_variable_is_refused_by_its_name(monkeypatch, read, value) -> None:
    monkeypatch.setenv("X", value)

    with pytest.raises(ImproperlyConfigured, match="^X "):
        read()


def test_a_database_url_is_read_whole(monkeypatch) -> None:
    monkeypatch.setenv("X", GOOD)

    found = env.database("X")

    assert found is not None
    assert (found["HOST"], found["PORT"], found["NAME"]) == ("db.example.org", "5433", "meet")
    assert (found["USER"], found["PASSWORD"], found["OPTIONS"]) == ("standmeet", "pass@word", {"sslmode": "require"})


def test_a_socket_folder_may_be_the_host(monkeypatch) -> None:
    monkeypatch.setenv("X", "postgresql:///meet?host=/run/postgresql")

    found = env.database("X")

    assert found is not None
    assert found["HOST"] == "/run/postgresql"


def test_a_generated_secret_is_kept(monkeypatch, tmp_path) -> None:
    monkeypatch.delenv("X", raising=False)

    first = env.secret("X", generated=tmp_path)

    assert len(first) >= 32
    assert env.secret("X", generated=tmp_path) == first
    assert (tmp_path / "x").stat().st_mode & 0o077 == 0


def start(**given: str) -> subprocess.CompletedProcess[str]:
    bare = {k: v for k, v in os.environ.items() if k not in ("DATABASE_URL", "SECRET_KEY", "INSTANCE_SECRET")}
    return subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=ROOT,
        env={**bare, "DJANGO_SETTINGS_MODULE": "standmeet.settings", **given},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("missing", ["SECRET_KEY", "INSTANCE_SECRET"])
def test_on_a_database_of_ones_own_it_does_not_start_without_secrets(missing) -> None:
    given = {"DATABASE_URL": GOOD, "SECRET_KEY": SECRET, "INSTANCE_SECRET": SECRET[::-1]}
    del given[missing]

    refused = start(**given)

    assert refused.returncode != 0
    assert f"{missing} is required" in refused.stderr


def test_with_its_secrets_it_starts() -> None:
    assert start(DATABASE_URL=GOOD, SECRET_KEY=SECRET, INSTANCE_SECRET=SECRET[::-1]).returncode == 0
