"""The process that listens for new tasks and rings one idle worker of their queue through its pipe."""

import fcntl
import os
import select
import struct
import termios
import time
from collections import Counter
from dataclasses import dataclass

import psycopg

from tasks.queue.direct import connect
from tasks.queue.forever import forever
from tasks.queue.slots import Slots
from tasks.queue.sql import statement

NEW_CHANNEL = "standmeet_job_new"
POLL = 0.08  # seconds between looks at the table: a task whose notification was lost starts within 100 ms
BELL = 0


@dataclass(frozen=True)
class Pipe:
    """One byte in it wakes one worker. At most as many bytes wait as there are workers to wake."""

    read: int
    write: int
    workers: int

    @classmethod
    def of(cls, workers: int) -> "Pipe":
        read, write = os.pipe()
        return cls(read, write, workers)

    def ring(self, times: int) -> None:
        waiting = struct.unpack("i", fcntl.ioctl(self.read, termios.FIONREAD, bytes(4)))[0]
        if (n := min(times, self.workers - waiting)) > 0:
            os.write(self.write, b"." * n)


def listen(pipes: dict[str, Pipe], slots: Slots) -> None:
    """Ring for each notification, and every POLL seconds for what is due (retries, snoozed tasks, lost notifications).

    Returns never; raises psycopg.Error when the connection is lost.
    """
    params = {"queues": list(pipes), "sizes": [pipe.workers for pipe in pipes.values()]}
    heard: Counter[str] = Counter()
    with connect("bell") as conn:
        conn.add_notify_handler(lambda note: heard.update([note.payload]))  # those that come with an answer
        conn.execute(f"LISTEN {NEW_CHANNEL}")
        poller = select.poll()
        poller.register(conn.fileno(), select.POLLIN)
        next_look = time.monotonic()
        while True:
            slots.tick(BELL)
            left = next_look - time.monotonic()
            if left <= 0:
                next_look = time.monotonic() + POLL
                heard.update(dict(conn.execute(statement("due"), params).fetchall()))
            elif poller.poll(left * 1000):
                conn.pgconn.consume_input()
                if conn.pgconn.status != psycopg.pq.ConnStatus.OK:
                    raise psycopg.OperationalError("the connection was lost")
                while note := conn.pgconn.notifies():
                    heard.update([note.extra.decode()])
            for queue in heard.keys() & pipes.keys():
                pipes[queue].ring(heard[queue])
            heard.clear()


def run(pipes: dict[str, Pipe], slots: Slots) -> None:
    forever(lambda: listen(pipes, slots))
