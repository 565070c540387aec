"""A worker process: claim, run, finish and claim the next, and wait for the bell when nothing is due."""

import json
import logging
import os
import random
import signal
import socket
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connection, connections, reset_queries
from psycopg.pq import TransactionStatus

from tasks import registry
from tasks.declare import TaskKind
from tasks.queue import sql, wire
from tasks.queue.context import current_task
from tasks.queue.forever import NO_DATABASE
from tasks.queue.outcomes import Discard, Snooze
from tasks.queue.processes import machine, started
from tasks.queue.receivers import SettleFailed
from tasks.queue.slots import Slots
from tasks.queue.transitions import change

log = logging.getLogger("standmeet.tasks")
LEASE = 60.0  # seconds; the housekeeper renews it every quarter of it
UNKNOWN_KIND = timedelta(minutes=1)
LONGEST = 10 * 365 * 86400.0


class Stop(BaseException):
    """SIGTERM arrived while nothing was held."""


@dataclass(frozen=True, slots=True)
class Claimed:
    id: int
    kind: str
    claim: int
    attempt: int
    max_attempts: int
    args: dict[str, Any]

    @classmethod
    def of(cls, row: sql.Row) -> "Claimed":
        id, kind, _, _, claim, attempt, max_attempts, args = row
        return cls(id, kind, claim, attempt, max_attempts, json.loads(args) if isinstance(args, str) else args)


def message(error: BaseException) -> str:
    """What an exception says, as Postgres can store it."""
    try:
        said = str(error)
    except Exception:  # it cannot even say what it is
        said = ""
    if not said or isinstance(error, KeyError):
        said = f"{type(error).__name__}: {said}".removesuffix(": ")
    return said.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def trace(error: BaseException) -> str:
    return "".join(traceback.format_tb(error.__traceback__)).rstrip()


def backoff(kind: TaskKind, attempt: int, max_attempts: int) -> float:
    """Seconds until the next attempt, with 10 % of jitter either way. It begins anew with the owner's retry."""
    before = max_attempts - kind.attempts  # attempts before the retry
    return within(kind.backoff.delay(max(1, attempt - max(0, before))) * random.uniform(0.9, 1.1))


def within(seconds: float) -> float:
    """A delay that Postgres can add to its clock."""
    return min(max(0.0, seconds), LONGEST)


def is_clean() -> bool:
    """Whether a handler left the connection outside of any transaction."""
    raw = connection.connection
    if connection.in_atomic_block:
        return False
    return raw is None or (raw.autocommit and raw.info.transaction_status == TransactionStatus.IDLE)


def drop_connection() -> None:
    """Close it whatever state it is in, Django's own idea of a transaction included."""
    if connection.connection is not None:
        connection.connection.close()
    del connections[DEFAULT_DB_ALIAS]


def conclude(task: Claimed, kind: TaskKind | None, outcome: BaseException | None) -> bool:
    """Write down what the handler said. False where this claim no longer held the task."""
    held: dict[str, Any] = {"id": task.id, "claim": task.claim}
    match outcome:
        case None:
            made = change("complete", **held)
        case Snooze():
            made = change("snooze", **held, delay=within(outcome.delay.total_seconds()))
        case Discard():
            made = change("discard", **held, error=message(outcome))
        case _:
            delay = backoff(kind, task.attempt, task.max_attempts) if kind else UNKNOWN_KIND.total_seconds()
            made = change("fail", **held, error=message(outcome), delay=delay)
    return bool(made)


def execute(task: Claimed, kind: TaskKind | None) -> BaseException | None:
    """Run the handler; what it raised, or None."""
    if kind is None:  # another version of the code declared it: leave it to a worker that knows it
        return Snooze(UNKNOWN_KIND, f"{task.kind} is not known to this version")
    token = current_task.set(task.id)
    try:
        registry.resolve(kind.handler)(kind.args(**task.args))
    except (Snooze, Discard) as outcome:
        return outcome
    except BaseException as error:  # whatever it is (SystemExit, CancelledError), it is the handler's and not ours
        said = message(error)
        log.warning("task %s (%s), attempt %s: %s\n%s", task.id, task.kind, task.attempt, said, trace(error))
        return error
    finally:
        current_task.reset(token)
    return None


class Runner:
    """Works on one queue, one task at a time, in the main thread of a process of its own."""

    def __init__(self, queue: str, group: UUID, slot: int, slots: Slots, bell: int) -> None:
        self.queue, self.group, self.slot, self.slots, self.bell = queue, group, slot, slots, bell
        self.worker: int | None = None
        self.holding = 0  # the id of the task in hand
        self.stopping = self.idle = False

    def run(self) -> None:
        signal.signal(signal.SIGTERM, self.stop)
        self.slots.clear(self.slot)
        try:
            while not self.stopping:
                self.until_it_works(self.session)
        except Stop:
            pass
        self.until_it_works(lambda: sql.do("forget_workers", gone=[self.worker], machine=machine()), tries=3)

    def stop(self, *_: Any) -> None:
        self.stopping = True
        if self.idle:
            self.idle = False  # a second signal finds us leaving
            raise Stop

    def until_it_works(self, do: Callable[[], Any], tries: int = 0) -> Any:
        """Repeat what fails for want of a database. What is repeated is guarded by its claim."""
        attempt = 0
        while True:
            try:
                if connection.connection is None:
                    self.connect()
                return do()
            except NO_DATABASE as error:
                attempt += 1
                log.warning("the database does not answer (%s): trying again", str(error).strip())
                connection.close()
                if tries and attempt >= tries:
                    return None
                if self.stopping and not self.holding and not tries:
                    raise Stop from None
            self.idle = not self.holding
            time.sleep(min(2.0, 0.1 * 2**attempt))
            self.idle = False

    def session(self) -> None:
        task = self.claim()
        while True:
            while task and not self.stopping:
                task = self.work(task)
            if self.stopping:
                if task:  # claimed together with the end of the last one
                    change("release", workers=[self.worker], except_for=0)
                return
            self.idle = True
            rung = b"" if self.stopping else os.read(self.bell, 1)  # it may have been told just before it was idle
            self.idle = False
            if not rung:  # nobody holds the other end: the group is gone
                self.stopping = True
                return
            task = self.claim()

    def connect(self) -> None:
        """Enrol, or after a lost connection give back what was claimed without our hearing of it."""
        connection.ensure_connection()
        wire.use()
        if self.worker is None:
            pid = os.getpid()
            [(self.worker,)] = sql.run(
                "enroll",
                group=self.group,
                machine=machine(),
                host=socket.gethostname(),
                pid=pid,
                started=started(pid),
                queue=self.queue,
            )
            assert self.worker is not None
            self.slots.enroll(self.slot, pid, self.worker)
        else:
            change("release", workers=[self.worker], except_for=self.holding)

    def claim(self) -> Claimed | None:
        if self.stopping:
            return None
        rows = change("claim", queue=self.queue, worker=self.worker, lease=LEASE)
        return Claimed.of(rows[0]) if rows else None

    def work(self, task: Claimed) -> Claimed | None:
        """Run one task to its end and return the next."""
        kind = registry.kinds().get(task.kind)
        self.holding = task.id
        self.slots.hold(self.slot, task.id, task.claim, kind.limit.total_seconds() if kind else 30)
        outcome = execute(task, kind)
        if not is_clean():
            drop_connection()
        chained = outcome is None and kind is not None and not kind.settle and not self.stopping
        if chained:
            held, following = self.until_it_works(lambda: self.complete_and_claim(task))
        else:
            held = self.until_it_works(lambda: self.finish(task, kind, outcome))
        if not held:
            log.warning("task %s was ended or taken over meanwhile: what this run said is dropped", task.id)
        self.slots.clear(self.slot)
        self.holding = 0
        reset_queries()
        return following if chained else self.claim()

    def complete_and_claim(self, task: Claimed) -> tuple[bool, Claimed | None]:
        rows = change(
            "complete_and_claim", id=task.id, claim=task.claim, queue=self.queue, worker=self.worker, lease=LEASE
        )
        held = bool(rows) and rows[0][0] == task.id and rows[0][3] == "completed"
        claimed = [row for row in rows if row[3] == "running"]
        return held, Claimed.of(claimed[0]) if claimed else None

    def finish(self, task: Claimed, kind: TaskKind | None, outcome: BaseException | None) -> bool:
        try:
            return conclude(task, kind, outcome)
        except SettleFailed as error:
            log.exception("task %s could not be settled", task.id)
            return conclude_unsettled(task, kind, error)


def conclude_unsettled(task: Claimed, kind: TaskKind | None, error: SettleFailed) -> bool:
    """The row of business could not be told: another attempt may do it; after the last one it is left out."""
    try:
        return conclude(task, kind, error)
    except SettleFailed:
        log.critical("task %s is discarded without being settled", task.id)
        return bool(change("discard", unsettled=True, id=task.id, claim=task.claim, error=message(error)))
