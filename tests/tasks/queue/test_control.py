"""What the owner may do to a task: cancel one that has not ended, retry one that was discarded or cancelled."""

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.db import transaction
from django.utils import timezone

from tasks.errors import NotFound, WrongState
from tasks.queue.control import cancel, retry
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.states import TERMINAL, State
from tasks.queue.transitions import change
from tests.probe.kinds import BY_HAND, QUICK, SLOW_BACKOFF, Probe
from tests.probe.models import Effect
from tests.probe.rows import as_told, ended, in_state
from tests.processes import WorkerProcess, until

CLAIM = {"queue": BY_HAND.queue, "worker": 7, "lease": 60}
OPEN = sorted(set(State.values) - TERMINAL)
ENDED_BADLY = [State.DISCARDED, State.CANCELLED]


@pytest.mark.django_db
@pytest.mark.parametrize("state", OPEN)
def test_a_task_that_is_not_final_can_be_cancelled(state: str) -> None:
    task = in_state(state)

    cancel(task.pk)

    task.refresh_from_db()
    assert (task.state, task.finalized_at is not None, task.lease_until) == (State.CANCELLED, True, None)
    assert change("claim", **CLAIM) == []


@pytest.mark.django_db
@pytest.mark.parametrize("state", sorted(TERMINAL))
def test_a_task_that_has_ended_cannot_be_cancelled_and_the_refusal_says_why(state: str) -> None:
    task = in_state(state)

    with pytest.raises(WrongState, match=f"Job {task.pk} is {state}"):
        cancel(task.pk)

    assert Task.objects.get() == task


@pytest.mark.django_db
@pytest.mark.parametrize("state", ENDED_BADLY)
def test_a_discarded_or_cancelled_task_can_be_retried_and_is_due_now(state: str) -> None:
    task = in_state(state, attempt=3, errors=[{"at": "", "attempt": 3, "error": "no"}])

    retry(task.pk)

    task.refresh_from_db()
    assert (task.state, task.finalized_at) == (State.PENDING, None)
    assert (task.attempt, task.max_attempts) == (3, 3 + BY_HAND.attempts)
    assert as_told(task) == [(3, "no")]
    assert [row[5] for row in change("claim", **CLAIM)] == [4]


@pytest.mark.django_db
@pytest.mark.parametrize("state", sorted(set(State.values) - set(ENDED_BADLY)))
def test_no_other_task_can_be_retried_and_the_refusal_says_why(state: str) -> None:
    task = in_state(state)

    with pytest.raises(WrongState, match=f"Job {task.pk} is {state}"):
        retry(task.pk)

    assert Task.objects.get().state == state


@pytest.mark.django_db
@pytest.mark.parametrize("act", [cancel, retry])
def test_an_unknown_id_is_not_found(act: object) -> None:
    with pytest.raises(NotFound, match="There is no job 1234567"):
        act(1234567)


@pytest.mark.django_db
def test_a_task_of_a_kind_that_is_no_longer_declared_cannot_be_retried() -> None:
    task = in_state(State.DISCARDED, kind="probe.of_yesterday")

    with pytest.raises(WrongState, match=r"of the kind probe\.of_yesterday, which this version does not know"):
        retry(task.pk)


@pytest.mark.django_db
def test_a_cancellation_and_a_retry_join_the_callers_transaction() -> None:
    waiting, over = in_state(State.PENDING), in_state(State.DISCARDED)

    with transaction.atomic():
        cancel(waiting.pk)
        retry(over.pk)
        transaction.set_rollback(True)
    transaction.set_rollback(False)

    assert [t.state for t in Task.objects.order_by("pk")] == [State.PENDING, State.DISCARDED]


@pytest.mark.django_db
def test_a_task_that_is_retried_twice_at_once_is_retried_once() -> None:
    task = in_state(State.DISCARDED)
    retry(task.pk)

    with pytest.raises(WrongState, match="is pending"):
        retry(task.pk)

    assert Task.objects.get().max_attempts == 1 + BY_HAND.attempts


def test_a_retried_task_has_its_kinds_attempts_again_and_the_numbering_goes_on(worker: WorkerProcess) -> None:
    task_id = enqueue(QUICK, Probe("hard", "fail", "no", times=4))
    ended(task_id)

    retry(task_id)

    task = ended(task_id)
    assert (task.state, task.attempt, task.max_attempts) == (State.COMPLETED, 5, 6)
    assert as_told(task) == [(n, "no") for n in (1, 2, 3, 4)]


def test_a_retried_task_that_spends_its_attempts_again_is_discarded_again(worker: WorkerProcess) -> None:
    task_id = enqueue(QUICK, Probe("hopeless", "fail", "no"))
    ended(task_id)

    retry(task_id)

    task = ended(task_id)
    assert (task.state, task.attempt) == (State.DISCARDED, 6)
    assert [n for n, _ in as_told(task)] == [1, 2, 3, 4, 5, 6]


def test_a_retried_task_begins_its_kinds_backoff_anew(worker: WorkerProcess) -> None:
    args = {"name": "again", "do": "fail", "text": "no"}
    task = in_state(State.DISCARDED, kind=SLOW_BACKOFF.name, queue="index", attempt=3, args=args)

    retry(task.pk)

    until(lambda: Task.objects.filter(state=State.RETRYABLE).exists(), what="it has failed again")
    task.refresh_from_db()
    delay = task.scheduled_at - datetime.fromisoformat(task.errors[-1]["at"])
    assert timedelta(seconds=3600 * 0.9) <= delay <= timedelta(seconds=3600 * 1.1)


def test_a_cancelled_task_that_was_running_may_have_its_effect_and_stays_cancelled(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    task_id = enqueue(QUICK, Probe("running", "until", str(tmp_path / "gate")))
    until(lambda: Effect.objects.exists(), what="it has begun")

    cancel(task_id)
    (tmp_path / "gate").touch()
    until(lambda: f"task {task_id} was ended or taken over" in worker.log.read_text(), what="its handler has ended")

    task = Task.objects.get(pk=task_id)
    assert (task.state, task.attempt, task.errors) == (State.CANCELLED, 1, [])
    assert Effect.objects.count() == 1


def test_a_run_from_before_a_cancellation_cannot_end_the_task_that_was_retried(
    worker: WorkerProcess, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    task_id = enqueue(QUICK, Probe("twice", "until mine", str(gate)))
    until(lambda: Effect.objects.count() == 1, what="it has begun")
    old = Effect.objects.get().pid

    cancel(task_id)
    retry(task_id)
    until(lambda: Effect.objects.count() == 2, what="it has begun again")
    Path(f"{gate}.{old}").touch()
    until(lambda: f"task {task_id} was ended or taken over" in worker.log.read_text(), what="the old run has ended")

    assert Task.objects.get(pk=task_id).state == State.RUNNING
    new = Effect.objects.latest("at").pid
    Path(f"{gate}.{new}").touch()
    task = ended(task_id)
    assert (task.state, task.attempt, new != old != os.getpid()) == (State.COMPLETED, 2, True)
    assert task.finalized_at <= timezone.now()
