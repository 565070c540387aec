"""The thread that holds a process's LISTEN connection and reads the rows for everybody who waits."""

import contextlib
import logging
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import psycopg
from django.utils import timezone

from tasks.queue.direct import connect
from tasks.queue.receivers import FINAL_CHANNEL
from tasks.queue.sql import statement
from tasks.queue.states import TERMINAL, State
from tasks.queue.tally import Tally

log = logging.getLogger("standmeet.tasks")
ANY = -1
SAFETY_POLL = 1.0  # seconds between looks at every row that is waited for


@dataclass(frozen=True)
class Seen:
    """A row as it was read: `due_in` is the number of seconds until it may run, when it waits."""

    state: str
    reason: str
    due_in: float

    @property
    def final(self) -> bool:
        return self.state in TERMINAL


MISSING = Seen("", "", float("inf"))  # pruned, or never there


@dataclass(eq=False)
class Call:
    """One waiting call, however many ids it waits for. `wake` is called once, from the listener's thread."""

    ids: tuple[int, ...]
    seconds: float
    wake: Callable[[], None]
    seen: dict[int, Seen] = field(default_factory=dict)
    deadline: float = 0.0

    def __post_init__(self) -> None:
        self.deadline = time.monotonic() + self.seconds

    @property
    def decided(self) -> bool:
        """Every task is final, or one of them cannot become final in time."""
        return all(id in self.seen and self.seen[id].final for id in self.ids) or any(
            not seen.final and seen.state != State.RUNNING and seen.due_in > self.deadline - time.monotonic()
            for seen in self.seen.values()
        )


class Listener(threading.Thread):
    def __init__(self, tally: Tally) -> None:
        super().__init__(name="standmeet-listener", daemon=True)
        self.tally = tally
        self.calls: dict[Call, None] = {}
        self.lock = threading.Lock()
        self.awake, self.waker = socket.socketpair()
        self.waker.setblocking(False)
        self.fresh: list[Call] = []
        self.told: set[int] = set()
        self.closing = False
        self.connected = False  # False while this process waits by polling
        self.down_since: datetime | None = timezone.now()

    @contextmanager
    def registered(self, call: Call) -> Iterator[None]:
        """From before the row is first read until the call ends."""
        with self.lock:
            self.calls[call] = None
            self.fresh.append(call)
        self.poke()
        try:
            yield
        finally:
            with self.lock:
                self.calls.pop(call, None)

    def poke(self) -> None:
        with contextlib.suppress(OSError):  # full of reasons to wake up already, or closed
            self.waker.send(b".")

    def close(self) -> None:
        self.closing = True
        self.poke()
        self.join(10)
        self.waker.close()
        self.awake.close()

    def run(self) -> None:
        while not self.closing:
            try:
                with connect("listener") as conn:
                    conn.add_notify_handler(lambda note: self.tell(note.payload))
                    self.check(conn, self.everyone())  # before LISTEN, in case that is not to be had
                    conn.execute(f"LISTEN {FINAL_CHANNEL}")
                    self.connected, self.down_since = True, None
                    self.check(conn, self.everyone())
                    self.listen(conn)
            except psycopg.Error as error:
                log.warning("waiting by polling: the LISTEN connection is lost (%s)", str(error).strip())
            finally:
                self.connected, self.down_since = False, self.down_since or timezone.now()
            if not self.closing:
                self.rest(0.2 if self.calls else SAFETY_POLL)

    def rest(self, seconds: float) -> None:
        if select.select([self.awake], [], [], seconds)[0]:
            self.awake.recv(4096)

    def listen(self, conn: psycopg.Connection[Any]) -> None:
        poller = select.poll()
        poller.register(conn.fileno(), select.POLLIN)
        poller.register(self.awake, select.POLLIN)
        next_look = time.monotonic() + SAFETY_POLL
        while not self.closing:
            if not (self.told or self.fresh):
                left = max(0.0, next_look - time.monotonic())
                for fd, _ in poller.poll(left * 1000 if self.calls or self.tally.waits else None):
                    if fd == self.awake.fileno():
                        self.awake.recv(4096)
                self.hear(conn)
            if time.monotonic() >= next_look:
                next_look = time.monotonic() + SAFETY_POLL
                self.check(conn, self.everyone())
                self.write_down(conn)
            else:
                self.check(conn, self.concerned())
        self.write_down(conn)

    def write_down(self, conn: psycopg.Connection[Any]) -> None:
        """How waits went, at leisure. What cannot be written must not keep anybody waiting."""
        try:
            self.tally.write(conn)
        except psycopg.Error as error:
            if conn.broken:
                raise
            log.warning("how waits went could not be written down (%s)", str(error).strip())

    def hear(self, conn: psycopg.Connection[Any]) -> None:
        conn.pgconn.consume_input()
        if conn.pgconn.status != psycopg.pq.ConnStatus.OK:
            raise psycopg.OperationalError("the connection was lost")
        while note := conn.pgconn.notifies():
            self.tell(note.extra.decode())

    def tell(self, payload: str) -> None:
        """A notification came. One that names no task may concern any."""
        self.told.add(int(payload) if payload.isascii() and payload.isdigit() else ANY)

    def everyone(self) -> list[Call]:
        with self.lock:
            self.fresh, self.told = [], set()
            return list(self.calls)

    def concerned(self) -> list[Call]:
        """Calls that have just come, and those for whose tasks a notification arrived."""
        with self.lock:
            fresh, self.fresh = self.fresh, []
            told, self.told = self.told, set()
            concerned = (call for call in self.calls if ANY in told or told.intersection(call.ids))
            return list(dict.fromkeys([*fresh, *concerned]))

    def check(self, conn: psycopg.Connection[Any], calls: list[Call]) -> None:
        """Read the rows and wake whoever can be answered. The payload decided nothing: the row does."""
        ids = {id for call in calls for id in call.ids if id not in call.seen or not call.seen[id].final}
        if not ids:
            return
        rows = conn.execute(statement("states_of"), {"ids": list(ids)}).fetchall()
        found = {id: Seen(state, reason, due_in) for id, state, reason, due_in in rows}
        for call in calls:
            call.seen |= {id: found.get(id, MISSING) for id in call.ids if id in ids}
            if call.decided:
                call.wake()
