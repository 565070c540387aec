"""A worker's hot path on the wire: BEGIN goes out with the statement, and the notification with COMMIT.

libpq's pipeline mode (Postgres, "Pipeline Mode") halves the round trips of a task. It is used inside Django's atomic(),
which finds the transaction begun, and committed, by the time it would do so: receivers may use the ORM as anywhere.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq

from tasks.queue import sql
from tasks.queue.sql import Row, statement

INTEGERS = {20, 21, 23}  # int8, int2, int4 (pg_type.dat)
Sent = tuple[bytes, list[bytes | None], bool]  # a name or a text, its parameters, and whether it is a name
BEGIN: Sent = (b"wire_begin", [], True)
COMMIT: Sent = (b"wire_commit", [], True)
QUOTED = re.compile(rb'[\\"]')
PARAMETER = re.compile(r"%\((\w+)\)s")


@cache
def numbered(name: str) -> tuple[bytes, tuple[str, ...]]:
    """The statement with $1, $2, … and which parameters these are."""
    names = tuple(dict.fromkeys(PARAMETER.findall(statement(name))))
    text = PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", statement(name))
    return text.encode(), names


def encode(value: Any) -> bytes | None:
    """As Postgres reads it: plain values, and lists of whole numbers or of names."""
    if value is None:
        return None
    if isinstance(value, list):
        return b"{%s}" % b",".join(b'"%s"' % QUOTED.sub(rb"\\\g<0>", str(item).encode()) for item in value)
    return str(value).encode()


class Wire:
    def __init__(self, raw: psycopg.Connection[Any]) -> None:
        self.raw, self.pg = raw, raw.pgconn
        self.prepared: set[str] = set()
        for (name, *_), command in ((BEGIN, b"BEGIN"), (COMMIT, b"COMMIT")):
            self.checked(self.pg.prepare(name, command))
        self.deferred: list[tuple[str, dict[str, Any]]] | None = None  # a list while a transaction is open

    def bound(self, name: str, params: dict[str, Any]) -> Sent:
        """The statement, prepared in this session, with its parameters as they are sent."""
        text, parameters = numbered(name)
        values = [encode(params[parameter]) for parameter in parameters]
        if name in sql.UNPREPARED:
            return text, values, False
        prepared = f"wire_{name}".encode()
        if name not in self.prepared:
            self.checked(self.pg.prepare(prepared, text))
            self.prepared.add(name)
        return prepared, values, True

    @contextmanager
    def transaction(self, name: str, params: dict[str, Any]) -> Iterator[list[Row]]:
        """Begin with this statement, give its rows, and commit with what was deferred meanwhile."""
        rows = self.begin(name, params)
        self.deferred = []
        try:
            yield rows
            deferred = self.deferred
        finally:
            self.deferred = None
        self.commit(deferred)

    def begin(self, name: str, params: dict[str, Any]) -> list[Row]:
        """The statement's rows: whole numbers, and anything else as text."""
        _, result = self.together([BEGIN, self.bound(name, params)])
        whole = [result.ftype(column) in INTEGERS for column in range(result.nfields)]
        return [
            tuple(decode(result.get_value(row, column), whole[column]) for column in range(result.nfields))
            for row in range(result.ntuples)
        ]

    def commit(self, deferred: list[tuple[str, dict[str, Any]]]) -> None:
        """Raises what any of it raised, with nothing committed."""
        self.together([*(self.bound(name, params) for name, params in deferred), COMMIT])

    def together(self, sent: list[Sent]) -> list[pq.abc.PGresult]:
        """Send these in one go; their results."""
        self.pg.enter_pipeline_mode()
        try:
            for statement, values, is_name in sent:
                (self.pg.send_query_prepared if is_name else self.pg.send_query_params)(statement, values)
            self.pg.pipeline_sync()
            return self.results(len(sent))
        finally:
            if self.pg.status == pq.ConnStatus.OK:
                self.pg.exit_pipeline_mode()

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
            self.checked(result)
        assert len(found) == count
        return found

    def checked(self, result: pq.abc.PGresult) -> pq.abc.PGresult:
        if self.pg.status != pq.ConnStatus.OK:
            raise psycopg.OperationalError(f"the connection was lost: {self.pg.get_error_message()}")
        if result.status not in (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK):
            raise psycopg.errors.error_from_result(result)
        return result


_wire: Wire | None = None


def use() -> None:
    """From now on, this process's transactions of the queue go over Django's present connection in this way."""
    global _wire
    _wire = Wire(connection.connection)


def current(db: BaseDatabaseWrapper) -> Wire | None:
    """The wire, where Django's connection is still the one it was made for."""
    return _wire if _wire and _wire.raw is db.connection else None


def do(name: str, **params: Any) -> None:
    """Run a statement whose rows are of no interest: with the commit in a transaction of the wire, else at once."""
    if _wire and _wire.deferred is not None:
        _wire.deferred.append((name, params))
    else:
        sql.do(name, **params)


def decode(value: bytes | None, whole: bool) -> int | str | None:
    if value is None:
        return None
    return int(value) if whole else value.decode()
