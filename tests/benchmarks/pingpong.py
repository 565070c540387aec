"""The limit of a wake-up: two processes that answer each other's notifications, with an insert at each end."""

import multiprocessing
import os
import select
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from typing import Any

import psycopg

TABLE = "CREATE TABLE IF NOT EXISTS bench_ping (id bigserial PRIMARY KEY, x int)"
PING = "WITH added AS (INSERT INTO bench_ping (x) VALUES (1)) SELECT pg_notify('bench_ping', '')"
PONG = "WITH added AS (INSERT INTO bench_ping (x) VALUES (2)) SELECT pg_notify('bench_pong', '')"


def connect(channel: str = "") -> psycopg.Connection[Any]:
    conn = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, prepare_threshold=0)
    if channel:
        conn.execute(f"LISTEN {channel}")
    return conn


def heard(conn: psycopg.Connection[Any], seconds: float) -> bool:
    """Whether a notification came. Polled by hand: psycopg's own generator costs more than the answer."""
    if not select.select([conn], [], [], seconds)[0]:
        return False
    conn.pgconn.consume_input()
    return bool(list(iter(conn.pgconn.notifies, None)))


def echo(ready: Event, stop: Event) -> None:
    with connect("bench_ping") as conn:
        ready.set()
        while not stop.is_set():
            if heard(conn, 0.2):
                conn.execute(PONG)


class PingPong:
    def __init__(self, pinging: psycopg.Connection[Any], hearing: psycopg.Connection[Any]) -> None:
        self.pinging, self.hearing = pinging, hearing

    def sample(self) -> float:
        """Seconds from the commit of the first insert to the answer."""
        self.pinging.execute(PING)
        committed = time.perf_counter()
        while not heard(self.hearing, 5):
            assert time.perf_counter() < committed + 5, "the echo is silent"
        return time.perf_counter() - committed


@contextmanager
def pingpong() -> Iterator[PingPong]:
    context = multiprocessing.get_context("spawn")
    ready, stop = context.Event(), context.Event()
    with connect() as pinging, connect("bench_pong") as hearing:
        pinging.execute(TABLE)
        process = context.Process(target=echo, args=(ready, stop), daemon=True)
        process.start()
        try:
            assert ready.wait(20), "the echo did not start"
            yield PingPong(pinging, hearing)
        finally:
            stop.set()
            process.join(5)
            process.kill()
