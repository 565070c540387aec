"""A worker's hot path on the wire: BEGIN goes out with the statement, and the notification with COMMIT.

libpq's pipeline mode (Postgres, "Pipeline Mode") halves the round trips of a task. It is used inside Django's atomic(),
which finds the transaction begun, and committed, by the time it would do so: receivers may use the ORM as anywhere.
"""

import re
from functools import cache
from typing import Any

import psycopg
from django.db import connection
from psycopg import pq

from tasks.queue import sql
from tasks.queue.sql import Row, statement

INTEGERS = {20, 21, 23}  # int8, int2, int4 (pg_type.dat)
PARAMETER = re.compile(r"%\((\w+)\)s")


@cache
def numbered(name: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with $1, $2, … and which parameters these are."""
    names = tuple(dict.fromkeys(PARAMETER.findall(statement(name))))
    text = PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", statement(name))
    return text.encode(), names


def encode(value: Any) -> bytes | None:
    """As Postgres reads it: plain values and lists of whole numbers."""
    if value is None:
        return None
    if isinstance(value, list):
        return b"{%s}" % b",".join(str(int(item)).encode() for item in value)
    return str(value).encode()


class Wire:
    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw, self.pg = raw, raw.pgconn
        self.prepared: set[str] = set()
        self.deferred: list[tuple[str, dict[str, Any]]] = []
        self.open = False

    def prepare(self, name: str) -> None:
        if name not in self.prepared:
            checked(self.pg.prepare(f"wire_{name}".encode(), numbered(name)[0]))
            self.prepared.add(name)

    def send(self, name: str, params: dict[str, Any]) -> None:
        values = [encode(params[parameter]) for parameter in numbered(name)[1]]
        self.pg.send_query_prepared(f"wire_{name}".encode(), values)

    def begin(self, name: str, params: dict[str, Any]) -> list[Row]:
        """Begin a transaction with this statement; its rows: whole numbers, and anything else as text."""
        self.prepare(name)
        self.prepare("notify_final")
        self.deferred.clear()
        self.pg.enter_pipeline_mode()
        try:
            self.pg.send_query_params(b"BEGIN", None)
            self.send(name, params)
            self.pg.pipeline_sync()
            _, result = self.results(2)
        finally:
            self.leave()
        self.open = True
        whole = [result.ftype(column) in INTEGERS for column in range(result.nfields)]
        return [
            tuple(decode(result.get_value(row, column), whole[column]) for column in range(result.nfields))
            for row in range(result.ntuples)
        ]

    def defer(self, name: str, params: dict[str, Any]) -> None:
        """To be sent with the commit."""
        self.prepare(name)
        self.deferred.append((name, params))

    def commit(self) -> None:
        """Send what was deferred and COMMIT; raises what any of it raised, with nothing committed."""
        self.open = False
        self.pg.enter_pipeline_mode()
        try:
            for name, params in self.deferred:
                self.send(name, params)
            self.pg.send_query_params(b"COMMIT", None)
            self.pg.pipeline_sync()
            self.results(len(self.deferred) + 1)
        finally:
            self.leave()

    def results(self, count: int) -> list[pq.abc.PGresult]:
        """The results of what was sent, up to the sync; raises the first error among them."""
        self.pg.flush()
        found: list[pq.abc.PGresult] = []
        while True:
            result = self.pg.get_result()
            if result is None:
                if self.pg.status != pq.ConnStatus.OK:
                    raise psycopg.OperationalError("the connection was lost")
                continue  # it stands between two statements' results
            if result.status == pq.ExecStatus.PIPELINE_SYNC:
                break
            found.append(result)
        for result in found:
            checked(result)
        assert len(found) == count
        return found

    def leave(self) -> None:
        if self.pg.status == pq.ConnStatus.OK:
            self.pg.exit_pipeline_mode()


_wire: Wire | None = None


def use() -> None:
    """From now on, this process's transactions of the queue go over Django's present connection in this way."""
    global _wire
    _wire = Wire(connection.connection)


def current() -> Wire | None:
    """The wire, where Django's connection is still the one it was made for."""
    return _wire if _wire and _wire.raw is connection.connection else None


def do(name: str, **params: Any) -> None:
    """Run a statement whose rows are of no interest: with the commit in a transaction of the wire, else at once."""
    wire = current()
    if wire and wire.open:
        wire.defer(name, params)
    else:
        sql.do(name, **params)


def decode(value: bytes | None, whole: bool) -> int | str | None:
    if value is None:
        return None
    return int(value) if whole else value.decode()


def checked(result: pq.abc.PGresult) -> pq.abc.PGresult:
    if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
        raise psycopg.errors.error_from_result(result)
    return result
