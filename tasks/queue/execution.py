"""One run of a task: its handler is called, and what that said is written down."""

import json
import logging
import os
import random
import traceback
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connection, connections
from psycopg.pq import TransactionStatus

from tasks import registry
from tasks.declare import TaskKind
from tasks.queue import sql
from tasks.queue.context import current_task
from tasks.queue.outcomes import Discard, Snooze
from tasks.queue.receivers import SettleFailed
from tasks.queue.transitions import change

log = logging.getLogger("standmeet.tasks")
UNKNOWN_KIND = timedelta(minutes=1)
LONGEST = 10 * 365 * 86400.0


@dataclass(frozen=True, slots=True)
class Claimed:
    id: int
    kind: str
    worker: int
    claim: int
    attempt: int
    max_attempts: int
    args: dict[str, Any]

    @classmethod
    def of(cls, row: sql.Row, worker: int) -> "Claimed":
        id, kind, _, _, claim, attempt, max_attempts, args = row[:8]
        return cls(id, kind, worker, claim, attempt, max_attempts, json.loads(args) if isinstance(args, str) else args)


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
    held: dict[str, Any] = {"id": task.id, "claim": task.claim, "worker": task.worker}
    match outcome:
        case None:
            made = change("complete", **named([task]))
        case Snooze():
            made = change("snooze", **held, delay=within(outcome.delay.total_seconds()))
        case Discard():
            made = change("discard", **held, error=message(outcome))
        case _:
            delay = backoff(kind, task.attempt, task.max_attempts) if kind else UNKNOWN_KIND.total_seconds()
            made = change("fail", **held, error=message(outcome), delay=delay)
    return bool(made)


def named(tasks: list[Claimed]) -> dict[str, Any]:
    """What names these tasks of one worker to a statement."""
    return {"ids": [t.id for t in tasks], "claims": [t.claim for t in tasks], "worker": tasks[0].worker}


def call(task: Claimed, kind: TaskKind) -> None:
    """Call the handler. A process that it forked, and that comes out here, must not go on as a second worker."""
    worker = os.getpid()
    try:
        registry.resolve(kind.handler)(kind.args(**task.args))
    finally:
        if os.getpid() != worker:
            os._exit(1)


def execute(task: Claimed, kind: TaskKind | None) -> BaseException | None:
    """Run the handler; what it raised, or None."""
    if kind is None:  # another version of the code declared it: leave it to a worker that knows it
        return Snooze(UNKNOWN_KIND, f"{task.kind} is not known to this version")
    token = current_task.set(task.id)
    try:
        call(task, kind)
    except (Snooze, Discard) as outcome:
        return outcome
    except BaseException as error:  # whatever it is (SystemExit, CancelledError), it is the handler's and not ours
        said = message(error)
        log.warning("task %s (%s), attempt %s: %s\n%s", task.id, task.kind, task.attempt, said, trace(error))
        return error
    finally:
        current_task.reset(token)
    return None


def finish(task: Claimed, kind: TaskKind | None, outcome: BaseException | None) -> bool:
    """`conclude`, whatever the kind's settle does."""
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
        held = {"id": task.id, "claim": task.claim, "worker": task.worker}
        return bool(change("discard", unsettled=True, **held, error=message(error)))
