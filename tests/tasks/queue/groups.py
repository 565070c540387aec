"""A worker group of a test's own, whose processes are known by what they do, and one who listens to the database."""

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import psycopg
from django.db import connection

from tasks.queue.models import Task, Worker
from tests.processes import WorkerProcess, until


def disposition(process: psutil.Process) -> str:
    """What SIGTERM does to it: proc(5), SigIgn and SigCgt of /proc/pid/status."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    except OSError:
        return "gone"
    masks = {name: value.strip() for name, _, value in (line.partition(":") for line in status)}
    if masks["State"].startswith("Z"):
        return "gone"
    bit = 1 << (signal.SIGTERM - 1)
    for name, what in (("SigBlk", "waits"), ("SigIgn", "ignores"), ("SigCgt", "catches")):
        if int(masks[name], 16) & bit:
            return what
    return "dies"


class Group(WorkerProcess):
    def __init__(self, log: Path, queues: str, **env: str) -> None:
        super().__init__(log, queues, **env)
        self.queues, self.env, self.read = queues, env, 0
        self.size = sum(int(part.split("=")[1]) for part in queues.split(","))

    def those_who(self, what: str) -> list[psutil.Process]:
        """The sentinel's children by what SIGTERM does to them."""
        return [p for p in self.children() if p.pid != self.sentinel().pid and disposition(p) == what]

    def workers(self) -> list[psutil.Process]:
        return self.those_who("catches")

    def bell(self) -> psutil.Process:
        [bell] = self.those_who("dies")
        return bell

    def housekeeper(self) -> psutil.Process:
        [housekeeper] = self.those_who("ignores")
        return housekeeper

    def is_whole(self) -> bool:
        """Every process is there and at work."""
        try:
            roles = [len(self.those_who(what)) for what in ("catches", "dies", "ignores", "waits")]
            pids = {p.pid for p in self.workers()}
        except (psutil.NoSuchProcess, IndexError):
            return False
        return (
            roles == [self.size, 1, 1, 0]
            and set(Worker.objects.values_list("pid", flat=True)) >= pids
            and sessions("standmeet bell") > 0
        )

    def until_whole(self) -> None:
        until(self.is_whole, what="the group is whole")

    def is_idle(self) -> bool:
        return self.process.poll() is None and self.is_whole() and not Task.objects.filter(state="running").exists()

    def said(self) -> str:
        """What it logged in this test."""
        return self.log.read_text()[self.read :]

    def processes(self) -> list[psutil.Process]:
        return [self.main, *self.children()]

    def send(self, signum: int) -> None:
        """To every process of the group."""
        for process in self.processes():
            process.send_signal(signum)


def sessions(application: str) -> int:
    """How many database sessions go by that name."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = %s",
            [application],
        )
        return int(cursor.fetchone()[0])


def end_sessions(application: str | None = None) -> int:
    """Have Postgres end the sessions of that name, or all but this one; how many there were."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND application_name = coalesce(%s, application_name)",
            [application],
        )
        return int(cursor.fetchone()[0])


Start = Callable[..., Group]


class Ear:
    """Hears everything said on a channel up to now, in the order of the commits."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self.conn, self.marks = conn, 0

    def listen(self, channel: str) -> None:
        self.channel = channel
        self.conn.execute(f"LISTEN {channel}")

    def heard(self) -> list[str]:
        """A mark is sent behind whatever was committed before: what has not come before it never will."""
        self.marks += 1
        mark = f"mark {self.marks}"
        self.conn.execute("SELECT pg_notify(%s, %s)", [self.channel, mark])
        said: list[str] = []
        for note in self.conn.notifies(timeout=10):
            if note.payload == mark:
                return said
            said.append(note.payload)
        raise AssertionError("the mark did not come back")
