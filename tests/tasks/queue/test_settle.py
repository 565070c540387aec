"""What a terminal state means to the row of business, written in the transaction that makes it terminal."""

from pathlib import Path

import pytest
from django.db import transaction

from tasks.queue import sql
from tasks.queue.control import cancel
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.housekeeper import rescue
from tasks.queue.models import Task
from tasks.queue.receivers import SettleFailed
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import BY_HAND, SETTLED, SETTLED_LIMITED, SETTLED_ONE, TaskKind
from tests.probe.kinds import Probe as P
from tests.probe.models import Effect, Settled
from tests.probe.rows import SOMEONE_ELSE, as_told, ended, hand_of, hold_of, in_state
from tests.processes import WorkerProcess
from tests.tasks.queue.groups import Ear, Start

pytestmark = pytest.mark.django_db(transaction=True)


def told() -> list[tuple[str, str, str]]:
    return list(Settled.objects.order_by("name").values_list("name", "state", "reason"))


def held(name: str, text: str = "", *, kind: TaskKind = SETTLED, **given: object) -> Task:
    return in_state(State.RUNNING, kind=kind.name, args={"name": name, "text": text}, **given)


def test_completed_discarded_and_spent_tasks_are_settled_with_their_state_and_reason(worker: WorkerProcess) -> None:
    ids = [
        enqueue(SETTLED, P("a completed")),
        enqueue(SETTLED, P("b discarded", "discard", "no such address")),
        enqueue(SETTLED, P("c spent", "fail", "not today")),
        enqueue(SETTLED, P("d late success", "fail", "not yet", times=2)),
    ]

    for task_id in ids:
        ended(task_id)

    assert told() == [
        ("a completed", "completed", ""),
        ("b discarded", "discarded", "no such address"),
        ("c spent", "discarded", "not today"),
        ("d late success", "completed", ""),
    ]


def test_a_task_that_ran_over_its_limit_is_settled(worker: WorkerProcess) -> None:
    task = ended(enqueue(SETTLED_LIMITED, P("slow", "sleep", seconds=60)))

    assert task.state == State.DISCARDED
    assert told() == [("slow", "discarded", "It ran longer than its limit of 1 s and was stopped.")]


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYABLE, State.RUNNING])
def test_a_cancelled_task_is_settled(state: str) -> None:
    errors = [{"at": "", "attempt": 1, "error": "busy"}] if state == State.RETRYABLE else []
    task = in_state(state, kind=SETTLED.name, args={"name": "cancelled"}, errors=errors)

    cancel(task.pk)

    assert told() == [("cancelled", "cancelled", "busy" if errors else "")]


def test_a_task_whose_worker_died_in_its_last_attempt_is_settled() -> None:
    held("gone", attempt=3)
    held("again", attempt=2)

    rescue([SOMEONE_ELSE])

    assert told() == [("gone", "discarded", "Its worker process died.")]


def test_a_task_whose_lease_ran_out_in_its_last_attempt_is_settled() -> None:
    held("frozen", attempt=3, lease_until="2020-01-01T00:00:00Z")

    rescue([])

    assert told() == [("frozen", "discarded", "Its lease ran out: the worker was frozen or cut off from the database.")]


def test_changes_that_are_not_terminal_settle_nothing() -> None:
    snoozed, failed, released = held("snoozed"), held("failed"), held("released", worker_id=8)

    change("snooze", **hold_of(snoozed), delay=1)
    change("fail", **hold_of(failed), error="no", delay=1)
    change("release", workers=[8], except_for=[])

    assert told() == []
    assert Task.objects.get(pk=released.pk).state == State.PENDING


def test_a_kind_that_declares_no_settle_has_none() -> None:
    task = in_state(State.RUNNING, kind=BY_HAND.name)

    change("complete", **hand_of(task))

    assert told() == []


def test_the_row_of_business_and_the_task_change_in_one_transaction_with_the_notification(ear: Ear) -> None:
    task = held("together")
    ear.listen("standmeet_job_final")

    def seen() -> tuple[object, ...]:
        [[state]] = ear.conn.execute("SELECT state FROM tasks_task").fetchall()
        [[settled]] = ear.conn.execute("SELECT count(*) FROM probe_settled").fetchall()
        return state, settled, ear.heard()

    with transaction.atomic():
        change("complete", **hand_of(task))
        before = seen()
    after = seen()

    assert before == ("running", 0, [])
    assert after == ("completed", 1, [str(task.pk)])


def test_a_settle_that_fails_rolls_the_transition_back(ear: Ear) -> None:
    task, other = held("poison", "cannot settle"), held("other")
    ear.listen("standmeet_job_final")

    with pytest.raises(SettleFailed, match=f"tests.probe.handlers.ended failed for task {task.pk}: no such row"):
        change("cancel", ids=[task.pk, other.pk])

    assert set(Task.objects.values_list("state", flat=True)) == {State.RUNNING}
    assert (told(), ear.heard()) == ([], [])


POISON = pytest.mark.parametrize("text", ["cannot settle", "cannot settle in SQL", "cannot settle in time"])


@POISON
def test_a_task_that_cannot_be_settled_is_tried_again_and_at_last_discarded_unsettled(text: str, start: Start) -> None:
    start("index=1")
    poison, other = enqueue(SETTLED, P("poison", text=text)), enqueue(SETTLED, P("other"))

    task = ended(poison)

    assert (task.state, task.attempt) == (State.DISCARDED, 3)
    assert [n for n, error in as_told(task) if "tests.probe.handlers.ended failed" in error] == [1, 2, 3]
    assert ended(other).state == State.COMPLETED
    assert told() == [("other", "completed", "")]
    assert Effect.objects.filter(name="poison").count() == 3
    assert len(set(Effect.objects.values_list("pid", flat=True))) == 1


def test_a_discard_that_cannot_be_settled_is_at_last_discarded_unsettled(worker: WorkerProcess) -> None:
    task = ended(enqueue(SETTLED_ONE, P("poison", "discard", "cannot settle")))

    assert (task.state, task.attempt) == (State.DISCARDED, 1)
    assert told() == []


@POISON
def test_a_settle_that_fails_holds_up_the_rescue_of_no_other(text: str) -> None:
    for n in range(3):
        held(f"{n} fine", attempt=3)
        held(f"{n} poison", text, attempt=3)
        held(f"{n} again", attempt=1)

    freed = rescue([SOMEONE_ELSE])

    assert freed == 9
    assert not Task.objects.filter(state=State.RUNNING).exists()
    assert [name for name, _, _ in told()] == ["0 fine", "1 fine", "2 fine"]
    assert Task.objects.filter(state=State.DISCARDED).count() == 6


def test_a_database_session_lost_while_settling_is_no_failed_attempt(worker: WorkerProcess, tmp_path: Path) -> None:
    task = ended(enqueue(SETTLED_ONE, P("cut", text=f"cut {tmp_path / 'once'}")))

    assert (tmp_path / "once").exists()
    assert told() == [("cut", "completed", "")]
    assert (task.state, task.attempt, task.errors) == (State.COMPLETED, 1, [])


def test_a_task_that_another_took_over_settles_nothing_when_it_ends_late() -> None:
    task = held("taken", claim=2)

    with connect("late") as late:
        rows = late.execute(sql.statement("complete"), {**hand_of(task), "claims": [1]}).fetchall()
    changed = change("complete", **{**hand_of(task), "claims": [1]})

    assert (rows, changed, told()) == ([], [], [])
