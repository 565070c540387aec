"""The benchmarks' own database, beside the one of DATABASE_URL or on the embedded Postgres."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import quote, unquote, urlsplit

import psycopg
from psycopg import sql

from standmeet import localpg

LOCK = 0x62656E6368  # any number; of several runs on one server only one may hold it


class Unusable(Exception):
    """There is no database to measure on, in a sentence."""


def embedded() -> bool:
    return not os.environ.get("DATABASE_URL", "").strip()


def home_url() -> str:
    """Where the database is created from."""
    if not embedded():
        return os.environ["DATABASE_URL"].strip()
    localpg.ensure_running()  # this process stays a user of it until it ends
    params = localpg.params()
    return f"postgresql://{params['user']}@/{params['dbname']}?host={quote(params['host'], safe='/')}"


def beside(url: str) -> tuple[str, str]:
    """The bench database's name and URL."""
    parts = urlsplit(url)
    path = f"{parts.path.rstrip('/')}_bench"
    return unquote(path[1:]), f"{parts.scheme}://{parts.netloc}{path}" + (f"?{parts.query}" if parts.query else "")


@contextmanager
def bench_database() -> Iterator[str]:
    """Made anew, for one run at a time, and dropped at the end; yields its URL."""
    home = home_url()
    name, url = beside(home)
    drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    try:
        lock = psycopg.connect(home, autocommit=True, application_name="standmeet bench")
    except psycopg.OperationalError as error:
        raise Unusable(f"DATABASE_URL does not answer: {error}") from error
    with lock:
        if not lock.execute("SELECT pg_try_advisory_lock(%s)", [LOCK]).fetchone()[0]:  # type: ignore[index]
            raise Unusable(f"Another run of the benchmarks uses the database {name}: wait for its end.")
        try:
            lock.execute(drop)
            lock.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise Unusable(f"The database {name} cannot be made: {error}") from error
        try:
            yield url
        finally:
            with psycopg.connect(home, autocommit=True) as conn:  # the first may be lost
                conn.execute(drop)
