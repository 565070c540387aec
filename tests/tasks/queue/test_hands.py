"""Quick tasks are taken several at a time in a backlog, and nobody waits behind a slow one, nor pays for a dead one."""

import os
import signal
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from django.db import transaction
from django.utils import timezone

from tasks.queue import housekeeper, sql
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.hands import Hands
from tasks.queue.models import Task
from tasks.queue.states import TERMINAL, State
from tasks.queue.transitions import change
from tests.probe.kinds import NOOP, QUICK, TOGETHER, Probe
from tests.probe.models import Effect
from tests.probe.rows import DIED, as_told, begun
from tests.processes import until
from tests.tasks.queue.groups import Start

NEXT = {"ids": [], "claims": [], "queue": "index", "lease": 60, "quick": [TOGETHER.name]}


def backlog(*probes: Probe, before: int = 40, after: int = 40) -> list[int]:
    """These among others that only have an effect, in one commit; the ids of the others, then of these."""
    with transaction.atomic():
        others = [enqueue(TOGETHER, Probe(f"before {n}")) for n in range(before)]
        special = [enqueue(TOGETHER, probe) for probe in probes]
        others += [enqueue(TOGETHER, Probe(f"after {n}")) for n in range(after)]
    return [*others, *special]


def all_final(ids: list[int]) -> bool:
    return Task.objects.filter(pk__in=ids, state__in=TERMINAL).count() == len(ids)


def taken(most: int, worker: int = 7) -> list[int]:
    rows = change("complete_and_claim_hand", **NEXT, worker=worker, most=most)
    return [row[0] for row in sorted(rows, key=lambda row: row[8])]


@pytest.mark.django_db
def test_a_hand_holds_the_next_tasks_in_their_order() -> None:
    tasks = [enqueue(TOGETHER, Probe()) for n in range(5)]

    assert taken(3) == tasks[:3]
    assert taken(3) == tasks[3:]
    assert taken(3) == []


@pytest.mark.django_db
def test_a_task_that_is_not_quick_is_taken_alone_and_in_its_turn() -> None:
    tasks = [enqueue(kind, Probe()) for kind in (TOGETHER, QUICK, TOGETHER, TOGETHER)]

    assert [taken(9) for _ in range(3)] == [tasks[:1], tasks[1:2], tasks[2:]]


@pytest.mark.django_db
def test_a_task_that_was_begun_before_is_taken_alone() -> None:
    tasks = [enqueue(TOGETHER, Probe()) for n in range(4)]
    Task.objects.filter(pk=tasks[1]).update(claim=1, attempt=1)

    assert [taken(9) for _ in range(3)] == [tasks[:1], tasks[1:2], tasks[2:]]


@pytest.mark.django_db(transaction=True)
def test_a_backlog_runs_in_its_order_each_task_once_and_several_in_a_commit(start: Start) -> None:
    start("index=1")
    with transaction.atomic():
        ids = [enqueue(NOOP, Probe()) for n in range(200)]

    until(lambda: all_final(ids), what="all are final")

    tasks = list(Task.objects.filter(pk__in=ids).order_by("claimed_at", "pk"))
    assert [task.pk for task in tasks] == ids
    assert {(task.state, task.attempt, task.claim) for task in tasks} == {(State.COMPLETED, 1, 1)}
    assert len({task.finalized_at for task in tasks}) < len(tasks) / 2


@pytest.mark.django_db(transaction=True)
def test_nothing_waits_for_a_slow_task_that_was_taken_together_with_it(start: Start, tmp_path: Path) -> None:
    start("index=2")
    gate = tmp_path / "gate"

    *others, slow = backlog(Probe("slow", "until", str(gate)))
    until(lambda: all_final(others), what="the others are final")

    assert Task.objects.get(pk=slow).state == State.RUNNING
    gate.touch()
    until(lambda: all_final([slow]), what="the slow one is final")
    assert set(Task.objects.values_list("state", "attempt")) == {(State.COMPLETED, 1)}
    assert Effect.objects.count() == len({*Effect.objects.values_list("name", flat=True)}) == len(others) + 1


@pytest.mark.django_db(transaction=True)
def test_a_hand_that_is_late_is_completed_as_far_as_it_was_done_and_the_rest_is_free() -> None:
    ids = [enqueue(TOGETHER, Probe()) for n in range(4)]
    hands = Hands(1)
    me = {"group": uuid4(), "machine": "test", "host": "test", "pid": 1, "started": 0, "queue": "index"}
    [(worker,)] = sql.run("enroll", **me)
    rows = change("complete_and_claim_hand", **NEXT, worker=worker, most=4)
    hands.deal(0, worker, sorted((row[0], row[4]) for row in rows))
    assert hands.begin(0, 0)
    assert hands.begin(0, 1)

    with connect("bell") as bell:
        bell.execute("LISTEN standmeet_job_new")
        until(lambda: housekeeper.relieve(hands) or not hands.any, what="the hand is late")
        rung = [note.payload for note in bell.notifies(timeout=0.2)]

    states = dict(Task.objects.values_list("pk", "state"))
    assert [states[id] for id in ids] == ["completed", "running", "pending", "pending"]
    assert list(Task.objects.filter(state="pending").values_list("attempt", flat=True)) == [0, 0]
    assert rung
    assert set(rung) == {"index"}
    assert not hands.begin(0, 2)
    assert not hands.end(0)


@pytest.mark.parametrize("frozen", [False, True])
def test_a_worker_that_looks_at_its_hand_is_not_disturbed_even_when_it_is_frozen(frozen: bool) -> None:
    hands = Hands(1)
    hands.deal(0, 7, [(1, 1), (2, 1), (3, 1)])
    hands.begin(0, 0)
    ready, child = os.pipe()
    pid = os.fork()
    if pid == 0:
        with hands.locked(0, wait=True):
            os.write(child, b".")
            signal.pause()
        os._exit(0)
    try:
        os.read(ready, 1)
        if frozen:
            os.kill(pid, signal.SIGSTOP)
            until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, what="it is frozen")

        meanwhile = hands.late(-1)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        [late] = hands.late(-1)
    finally:
        os.close(ready)
        os.close(child)

    assert meanwhile == []
    assert (late.done, late.unbegun) == ((), ((2, 1), (3, 1)))


@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_costs_only_the_task_it_was_at_an_attempt(start: Start, tmp_path: Path) -> None:
    group = start("index=1")
    gate = tmp_path / "gate"
    *others, slow = backlog(Probe("slow", "until", str(gate)))
    first = begun("slow")
    until(lambda: not Task.objects.exclude(pk=slow).filter(state="running").exists(), what="the rest is free")

    os.kill(first.pid, signal.SIGKILL)
    begun("slow", but=first.pid)
    gate.touch()
    until(lambda: all_final([*others, slow]), what="all are final")

    assert set(Task.objects.filter(pk__in=others).values_list("state", "attempt")) == {(State.COMPLETED, 1)}
    assert as_told(Task.objects.get(pk=slow)) == [(1, DIED)]
    group.until_whole()


@pytest.mark.django_db(transaction=True)
def test_a_task_that_kills_every_worker_takes_no_other_with_it(start: Start) -> None:
    start("index=2")

    *others, poison = backlog(Probe("poison", "die"))
    until(lambda: all_final([*others, poison]), seconds=30, what="all are final")

    assert set(Task.objects.filter(pk__in=others).values_list("state", flat=True)) == {State.COMPLETED}
    assert as_told(Task.objects.get(pk=poison)) == [(1, DIED), (2, DIED), (3, DIED)]


@pytest.mark.django_db(transaction=True)
def test_whatever_one_says_the_others_of_its_hand_complete(start: Start) -> None:
    start("index=1")
    probes = [
        Probe("fails", "fail", "no", times=1),
        Probe("discards", "discard", "never"),
        Probe("snoozes", "snooze", seconds=0.1, times=1),
        Probe("leaves a transaction open", "leave atomic", times=1),
        Probe("loses its session", "cut", times=1),
    ]

    ids = backlog(*probes)
    until(lambda: all_final(ids), what="all are final")

    states = [Task.objects.get(pk=id).state for id in ids]
    assert states[:80] == ["completed"] * 80
    assert states[80:] == ["completed", "discarded", "completed", "completed", "completed"]
    assert set(Task.objects.filter(pk__in=ids[:80]).values_list("attempt", flat=True)) == {1}


@pytest.mark.django_db(transaction=True)
def test_a_stop_gives_back_what_was_not_begun_with_no_attempt_spent(start: Start) -> None:
    group = start("index=1")
    backlog(Probe("slow", "sleep", seconds=1))
    begun("slow")

    assert group.stop() == 0

    assert set(Task.objects.values_list("state", "attempt")) == {("completed", 1), ("pending", 0)}
    assert Task.objects.get(args__name="slow").state == State.COMPLETED
    assert Task.objects.filter(state="pending").count() == 40
    assert not Task.objects.filter(finalized_at__gt=timezone.now()).exists()
