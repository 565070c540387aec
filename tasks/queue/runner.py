"""A worker process: claim, run, finish and claim the next, and wait for the bell when nothing is due."""

import logging
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import connection, reset_queries

from tasks import registry
from tasks.declare import TaskKind
from tasks.queue import sql, wire
from tasks.queue.execution import Claimed, drop_connection, execute, finish, is_clean, named
from tasks.queue.forever import NO_DATABASE
from tasks.queue.hands import MOST, Hands
from tasks.queue.processes import machine, started
from tasks.queue.slots import Slots
from tasks.queue.transitions import change

log = logging.getLogger("standmeet.tasks")
LEASE = 60.0  # seconds; the housekeeper renews it every quarter of it
BRISK = 0.01  # seconds for a hand


class Stop(BaseException):
    """SIGTERM arrived while nothing was held."""


class Runner:
    """Works on one queue, one task at a time, in the main thread of a process of its own.

    It takes one task, and completes it together with taking the next. While that goes briskly, of quick kinds and in a
    backlog, it takes more at a time, up to a hand of MOST.
    """

    def __init__(self, queue: str, group: UUID, slot: int, slots: Slots, hands: Hands, bell: int) -> None:
        self.queue, self.group, self.slot, self.slots, self.hands, self.bell = queue, group, slot, slots, hands, bell
        self.worker = 0
        self.holding: list[int] = []  # the ids of the tasks that were begun and are not concluded
        self.most = 0
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
        hand = self.claim()
        while True:
            while hand and not self.stopping:
                hand = self.work(hand)
            if self.stopping:
                if hand:  # claimed together with the end of the last one
                    change("release", workers=[self.worker], except_for=[])
                return
            self.idle = True
            rung = b"" if self.stopping else os.read(self.bell, 1)  # it may have been told just before it was idle
            self.idle = False
            if not rung:  # nobody holds the other end: the group is gone
                self.stopping = True
                return
            hand = self.claim()

    def connect(self) -> None:
        """Enrol, or after a lost connection give back what was claimed without our hearing of it."""
        connection.ensure_connection()
        wire.use()
        if not self.worker:
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
            self.slots.enroll(self.slot, pid, self.worker)
        else:
            change("release", workers=[self.worker], except_for=self.holding)

    def claim(self) -> list[Claimed]:
        self.most = 0  # whether there is a backlog will be seen
        if self.stopping:
            return []
        rows = change("claim", queue=self.queue, worker=self.worker, lease=LEASE)
        return [Claimed.of(row, self.worker) for row in rows]

    def work(self, hand: list[Claimed]) -> list[Claimed]:
        """Run a hand and return the next."""
        began = time.monotonic()
        outcome, ours = self.run_hand(hand)
        begun, unbegun = hand[: len(self.holding)], hand[len(self.holding) :]
        kind = registry.kinds().get(begun[-1].kind) if begun else None
        following: list[Claimed] | None = None
        if outcome is None and kind and not kind.settle and not unbegun and not self.stopping:
            self.most = self.adapted(len(hand), kind, time.monotonic() - began)
            ended, following = self.until_it_works(lambda: self.complete_and_claim(begun))
        else:
            ended = self.conclude_each(begun, kind, outcome)
            if unbegun:
                self.until_it_works(lambda: change("hand_back", **named(unbegun)))
        if ours and ended < len(begun):
            ids = ", ".join(map(str, self.holding))
            log.warning("task %s was ended or taken over meanwhile: what this run said is dropped", ids)
        self.slots.clear(self.slot)
        self.holding = []
        reset_queries()
        return self.claim() if following is None else following

    def run_hand(self, hand: list[Claimed]) -> tuple[BaseException | None, bool]:
        """Run its tasks until one does not simply return. What that one raised; and whether the hand is still ours."""
        together = len(hand) > 1
        if together:
            self.hands.deal(self.slot, self.worker, [(task.id, task.claim) for task in hand])
        outcome: BaseException | None = None
        clean = True
        for n, task in enumerate(hand):
            if (n and self.stopping) or (together and not self.hands.begin(self.slot, n)):
                break
            kind = registry.kinds().get(task.kind)
            self.holding.append(task.id)
            self.slots.hold(self.slot, task.id, task.claim, kind.limit.total_seconds() if kind else 30)
            outcome = execute(task, kind)
            clean = is_clean()
            if outcome or not clean:
                break
        ours = not together or self.hands.end(self.slot)
        if not clean:
            drop_connection()
        return outcome, ours

    def adapted(self, size: int, kind: TaskKind, seconds: float) -> int:
        """How many to take next: 1 after a single claim, then twice as many each time, while it goes well."""
        if not kind.quick or size < self.most:
            return 1
        return min(MOST, max(1, 2 * self.most)) if seconds < BRISK else max(1, self.most // 2)

    def complete_and_claim(self, hand: list[Claimed]) -> tuple[int, list[Claimed]]:
        """How many of the hand were completed, and the next one, in the order in which it was queued."""
        following: dict[str, Any] = {"queue": self.queue, "worker": self.worker, "lease": LEASE}
        if self.most == len(hand) == 1:
            rows = change("complete_and_claim", id=hand[0].id, claim=hand[0].claim, **following)
        else:
            quick = registry.quick_kinds()
            rows = change("complete_and_claim_hand", **named(hand) | following, most=self.most, quick=quick)
            rows.sort(key=lambda row: int(row[8] or 0))
        claimed = [Claimed.of(row, self.worker) for row in rows if row[3] == "running"]
        return len(rows) - len(claimed), claimed

    def conclude_each(self, begun: list[Claimed], kind: TaskKind | None, outcome: BaseException | None) -> int:
        """Conclude the last one by its outcome and complete the others. How many were still ours."""
        ended = 0
        if others := begun[:-1]:
            ended += len(self.until_it_works(lambda: change("complete", **named(others))))
        if begun:
            ended += self.until_it_works(lambda: finish(begun[-1], kind, outcome))
        return ended
