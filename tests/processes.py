"""Processes that tests start, and what is known of them. Only these are ever signalled."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psutil
from django.db import connection

ROOT = Path(__file__).resolve().parent.parent


def until(condition: Callable[[], object], *, seconds: float = 15, what: str = "") -> object:
    """Wait for a condition, and fail with its name when it does not come."""
    end = time.monotonic() + seconds
    while True:
        if found := condition():
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what or condition}")
        time.sleep(0.01)


def database_url() -> str:
    """The database that this test session uses, for a process of its own."""
    p = connection.get_connection_params()
    return (
        f"postgresql://{quote(p.get('user') or '')}:{quote(p.get('password') or '')}@/{quote(p['dbname'])}"
        f"?host={quote(str(p.get('host') or ''), safe='/')}&port={p.get('port') or ''}"
    ).removesuffix("&port=")


def environment() -> dict[str, str]:
    from django.conf import settings

    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "DATABASE_URL": database_url(),
        "SECRET_KEY": settings.SECRET_KEY,
        "INSTANCE_SECRET": settings.INSTANCE_SECRET,
        "PYTHONUNBUFFERED": "1",
    }


class WorkerProcess:
    """`manage.py worker` in a session of its own."""

    def __init__(self, log: Path, queues: str | None = None, settings: str = "tests.settings", **env: str) -> None:
        command = [sys.executable, "manage.py", "worker", *(["--queues", queues] if queues else [])]
        self.log = log
        with log.open("w") as out:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**environment(), "DJANGO_SETTINGS_MODULE": settings, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.main = psutil.Process(self.process.pid)

    def children(self) -> list[psutil.Process]:
        try:
            return self.main.children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def sentinel(self) -> psutil.Process:
        return self.main.children()[0]

    def stop(self, seconds: float = 30) -> int:
        """SIGTERM to the main process; its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the worker did not stop within {seconds} s:\n{self.log.read_text()}") from None

    def kill(self) -> None:
        for process in [self.main, *self.children()]:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                pass
        self.process.wait(5)
