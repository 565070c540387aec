"""The process that keeps time for a worker group: limits, leases, heartbeats, and the tasks of workers that died."""

import contextlib
import logging
import os
import signal
import time
from typing import Any
from uuid import UUID

from django.db import connection

from tasks import registry
from tasks.queue import periodic, sql
from tasks.queue.execution import backoff
from tasks.queue.forever import forever
from tasks.queue.hands import Hands
from tasks.queue.models import Task, Worker
from tasks.queue.processes import alive, machine, stopped
from tasks.queue.receivers import SettleFailed
from tasks.queue.runner import LEASE
from tasks.queue.slots import Flag, Held, Slots
from tasks.queue.transitions import change

log = logging.getLogger("standmeet.tasks")
HOUSEKEEPER = 1
TICK = 0.1
PATIENCE = 0.03  # seconds that tasks wait behind another in a worker's hand
RESCUE_BATCH = 100


class Every:
    """True once per period, and at first."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.next = seconds, 0.0

    def __bool__(self) -> bool:
        now = time.monotonic()
        if now < self.next:
            return False
        self.next = now + self.seconds
        return True


def kill_overdue(slots: Slots) -> None:
    """End workers whose task ran over its limit, and count that as a failed attempt.

    The process is frozen, then the row is written, then the process is killed: were it killed first, another group's
    housekeeper could find it dead and say so before the reason is written.
    """
    for held in slots.held():
        if time.monotonic() < held.deadline:
            continue
        log.error("task %s ran over its limit: killing worker process %s", held.task_id, held.pid)
        with contextlib.suppress(ProcessLookupError):
            os.kill(held.pid, signal.SIGSTOP)
        if slots.deadline(held.slot) != held.deadline:  # it has just ended
            with contextlib.suppress(ProcessLookupError):
                os.kill(held.pid, signal.SIGCONT)
            continue
        try:
            fail_overdue(held)
        finally:
            slots.clear(held.slot)
            with contextlib.suppress(ProcessLookupError):
                os.kill(held.pid, signal.SIGKILL)


def fail_overdue(held: Held) -> None:
    task = Task.objects.filter(pk=held.task_id).first()
    kind = registry.kinds().get(task.kind) if task else None
    if task and kind:
        delay = backoff(kind, task.attempt, task.max_attempts)
        error = f"It ran longer than its limit of {kind.limit.total_seconds():g} s and was stopped."
        settled("fail", id=held.task_id, claim=held.claim, worker=held.worker, error=error, delay=delay)


def settled(name: str, **params: Any) -> list[sql.Row]:
    """Make the change; where a kind's settle fails, make it without, since nobody is left to try again."""
    try:
        return change(name, **params)
    except SettleFailed:
        log.critical("%s %s is done without being settled", name, params, exc_info=True)
        return change(name, unsettled=True, **params)


def rescue(dead: list[int]) -> int:
    """Free what dead workers held and what nobody renewed. Returns how many tasks that were."""
    freed = 0
    while True:
        try:
            rows = change("rescue", dead=dead, limit=RESCUE_BATCH)
        except SettleFailed:  # one by one, so that it holds up no other
            rows = settled("rescue", dead=dead, limit=1)
        if not rows:
            return freed
        for row in rows:
            log.warning("task %s (%s) was rescued and is %s", row[0], row[1], row[3])
        freed += len(rows)


def bury_dead(buried: dict[int, float]) -> None:
    """Look for worker processes of this machine that are gone, of whatever group, and for leases that have passed.

    `buried` remembers the dead for as long as a lease: Postgres may commit a claim after its worker's death.
    """
    rows = sql.run("machine_workers", machine=machine(), buried=list(buried))
    dead = [id for id, pid, began, _ in rows if id is not None and not alive(pid, began)]
    now = time.monotonic()
    buried |= dict.fromkeys(dead, now)
    if dead or rows[0][3]:
        rescue(list(buried))
        sql.do("forget_workers", gone=dead, machine=machine())
    for id in [id for id, at in buried.items() if now > at + LEASE]:
        del buried[id]


def beat(group: UUID, slots: Slots) -> None:
    """Say that the group is alive. A worker whose row is gone (other machines forgot us, who slept) makes room."""
    enrolled = slots.enrolled()
    known = {id for (id,) in sql.run("heartbeat", group=group)}
    for worker in enrolled.keys() - known:
        log.warning("worker process %s is not known any more: another takes its place", enrolled[worker])
        with contextlib.suppress(ProcessLookupError):
            os.kill(enrolled[worker], signal.SIGTERM)


def renew(slots: Slots) -> None:
    """Prolong the leases of what is being worked on, unless the worker is frozen."""
    held = [h for h in slots.held() if not stopped(h.pid)]
    if held:
        ids, claims, workers = zip(*((h.task_id, h.claim, h.worker) for h in held), strict=True)
        sql.do("renew", ids=list(ids), claims=list(claims), workers=list(workers), lease=LEASE)


def give_back(group: UUID) -> None:
    """At the end, when the group's workers are gone: nothing stays running, and no attempt is spent by the stop."""
    workers = list(Worker.objects.filter(group=group).values_list("pk", flat=True))
    change("release", workers=workers, except_for=[])
    sql.do("forget_workers", gone=workers, machine=machine())


def relieve(hands: Hands) -> None:
    """Where a worker is long at one task of its hand, or dead, complete those it did and free those it did not."""
    for late in hands.late(PATIENCE):
        for name, pairs in (("complete", late.done), ("hand_back", late.unbegun)):
            if pairs:
                change(name, ids=[id for id, _ in pairs], claims=[claim for _, claim in pairs], worker=late.worker)
        hands.seen_to(late)


def keep(group: UUID, slots: Slots, hands: Hands, last: Flag) -> None:
    buried: dict[int, float] = {}
    burying, renewing, beating = Every(1), Every(LEASE / 4), Every(10)
    ticking = Every(periodic.LOOK)
    while not last.is_set():
        slots.tick(HOUSEKEEPER)
        kill_overdue(slots)
        relieve(hands)
        if burying:
            bury_dead(buried)
        if renewing:
            renew(slots)
        if beating:
            beat(group, slots)
        if ticking:
            periodic.tick()
        time.sleep(PATIENCE if hands.any else TICK)
    give_back(group)


def run(group: UUID, slots: Slots, hands: Hands, last: Flag) -> None:
    # SIGTERM to the whole group must not end it before the workers: `last` does.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    forever(lambda: keep(group, slots, hands, last))
    connection.close()
