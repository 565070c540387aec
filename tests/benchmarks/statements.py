"""Counts the statements that a database runs."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import sql

from standmeet import localpg
from tests.benchmarks.fleet import own_connection

EXECUTED = re.compile(rb"LOG:  (statement|execute [^:]+): ")
TRANSACTIONS = "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()"


def each_logged() -> bool:
    """Whether the server's log can be had: that of the embedded one."""
    with own_connection() as conn:
        return conn.info.host == str(localpg.place().sockets)


@contextmanager
def logged() -> Iterator[None]:
    """The bench database logs each statement that sessions begun in here execute."""
    with own_connection() as conn:
        database = sql.Identifier(conn.info.dbname)
        conn.execute(sql.SQL("ALTER DATABASE {} SET log_statement = 'all'").format(database))
        try:
            yield
        finally:
            conn.execute(sql.SQL("ALTER DATABASE {} RESET log_statement").format(database))


def per_second_by_log(seconds: float) -> float:
    """Exact: every execution is a line of the log."""
    log = localpg.place().log
    before, began = log.stat().st_size, time.monotonic()
    time.sleep(seconds)
    with log.open("rb") as file:
        file.seek(before)
        return len(EXECUTED.findall(file.read())) / (time.monotonic() - began)


def per_second_by_transaction(seconds: float) -> float:
    """Transactions, for a server whose log is elsewhere; idle, a worker's statements are one transaction each."""
    with own_connection() as conn:
        [before] = conn.execute(TRANSACTIONS).fetchone()  # type: ignore[misc]
        began = time.monotonic()
        time.sleep(seconds)
        [after] = conn.execute(TRANSACTIONS).fetchone()  # type: ignore[misc]
        return float((after - before - 1) / (time.monotonic() - began))
