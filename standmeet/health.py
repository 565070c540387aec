"""/healthz: whether this web process, the database and the worker are alive, as a small JSON; 200 or 503.

It answers in bounded time whatever the database does: on a connection of its own, with a deadline kept on this side,
since a frozen server keeps none. One look at a time in this process, shared by all who asked before it began.
"""

import logging
import select
import threading
import time
from dataclasses import dataclass
from typing import Any

import psycopg
from django.conf import settings
from django.http import HttpRequest, JsonResponse
from psycopg import pq

from standmeet.localpg import LocalPostgresError
from tasks.queue import completion
from tasks.queue.direct import connect
from tasks.queue.wire import numbered

log = logging.getLogger("standmeet.health")
CONNECT = 2  # seconds; libpq takes less for 2
ANSWER = 1.0  # seconds from then on
PATIENCE = 7.0  # with a look that somebody else began, and with one's own
SILENT = 60.0


@dataclass(frozen=True)
class Look:
    """`worker` is for how many seconds no worker was seen, `oldest` for how many the oldest due job has waited."""

    database: bool
    prepared: bool = True
    worker: float | None = None
    oldest: float | None = None

    @property
    def well(self) -> bool:
        return self.database and self.worker is not None and self.worker <= SILENT


class Looking:
    """One look at a time: whoever came before it began shares it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.began, self.last = -1.0, Look(database=False)

    def look(self) -> Look:
        came = time.monotonic()
        if not self.lock.acquire(timeout=PATIENCE):
            return Look(database=False)
        try:
            if self.began < came:
                self.began = time.monotonic()
                self.last = look()
            return self.last
        finally:
            self.lock.release()


looking = Looking()


def look() -> Look:
    try:
        conn = connect("health", within=CONNECT)
    except (psycopg.Error, LocalPostgresError) as error:
        log.warning("the database does not answer: %s", str(error).strip())
        return Look(database=False)
    try:
        worker, oldest = ask(conn, time.monotonic() + ANSWER)
        return Look(True, True, worker, oldest)
    except psycopg.errors.UndefinedTable:
        log.warning("the database has no tables of ours: ./run migrate")
        return Look(database=True, prepared=False)
    except (psycopg.Error, TimeoutError) as error:
        log.warning("the database does not answer: %s", str(error).strip())
        return Look(database=False)
    finally:
        conn.close()


def ask(conn: psycopg.Connection[Any], deadline: float) -> list[float | None]:
    """The row of health.sql; TimeoutError when it has not come by the deadline."""
    queues = ",".join(f'"{queue}"' for queue, size in settings.QUEUES.items() if size)
    pg = conn.pgconn
    pg.send_query_params(numbered("health")[0], [b"{%s}" % queues.encode()])
    poller = select.poll()
    poller.register(pg.socket, select.POLLIN)
    while pg.is_busy():
        left = deadline - time.monotonic()
        if left <= 0 or not poller.poll(left * 1000):
            raise TimeoutError(f"no answer within {ANSWER:g} s of being connected")
        pg.consume_input()
    result = pg.get_result()
    if result is None or result.status != pq.ExecStatus.TUPLES_OK:
        code = result.error_field(pq.DiagnosticField.SQLSTATE) if result else None
        missing = code == psycopg.errors.UndefinedTable.sqlstate.encode()
        raise (psycopg.errors.UndefinedTable if missing else psycopg.OperationalError)(pg.get_error_message())
    values = [result.get_value(0, column) for column in range(2)]
    return [float(value) if value is not None else None for value in values]


def listener() -> str:
    ours = completion.waits().listener
    if ours is None:
        return "not needed yet"
    return "listening" if ours.connected else "polling"


def healthz(request: HttpRequest) -> JsonResponse:
    seen = looking.look()
    asked = seen.database and seen.prepared
    worker = "unknown" if not asked else "ok" if seen.well else "none seen in the last minute"
    said = {
        "status": "ok" if seen.well else "failing",
        "web": "ok",
        "database": "no answer" if not seen.database else "ok" if seen.prepared else "not migrated",
        "worker": worker,
        "worker_seen_seconds_ago": rounded(seen.worker),
        "listener": listener(),
        "oldest_due_job_seconds": rounded(seen.oldest) or (0 if asked else None),
    }
    return JsonResponse(said, status=200 if seen.well else 503)


def rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(max(0.0, seconds), 1)
