"""What is heard on the two channels, and when."""

from datetime import timedelta
from statistics import median

import pytest
from django.db import connection, transaction

from tasks.declare import TaskKind
from tasks.queue import bell
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.receivers import FINAL_CHANNEL
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import BY_HAND, NOTIFY, ONE, QUICK, WHILE_PENDING, Probe
from tests.probe.rows import ended, hand_of, hold_of, in_state
from tests.processes import WorkerProcess, until
from tests.tasks.queue.groups import Ear

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def final(ear: Ear) -> Ear:
    ear.listen("standmeet_job_final")
    return ear


@pytest.fixture
def new(ear: Ear) -> Ear:
    ear.listen("standmeet_job_new")
    return ear


def test_the_channel_has_its_name() -> None:
    assert FINAL_CHANNEL == "standmeet_job_final"


def test_each_terminal_state_is_told_once_by_the_tasks_id(final: Ear) -> None:
    completed, discarded, spent, cancelled, rescued = (in_state(State.RUNNING, attempt=3) for n in range(5))

    change("complete", **hand_of(completed))
    change("discard", **hold_of(discarded), error="no")
    change("fail", **hold_of(spent), error="no", delay=1)
    change("cancel", ids=[cancelled.pk])
    change("rescue", dead=[rescued.worker_id], limit=10)

    assert final.heard() == [str(t.pk) for t in (completed, discarded, spent, cancelled, rescued)]


def test_a_statement_that_ends_several_tasks_tells_each(final: Ear) -> None:
    tasks = [in_state(state) for state in (State.PENDING, State.RETRYABLE, State.RUNNING)]

    change("cancel", ids=[task.pk for task in tasks])

    assert sorted(final.heard()) == sorted(str(task.pk) for task in tasks)


def test_a_change_to_a_state_that_is_not_terminal_is_not_told(final: Ear) -> None:
    due = in_state(State.PENDING)
    snoozed, failed = in_state(State.RUNNING), in_state(State.RUNNING)
    released, rescued = in_state(State.RUNNING, worker_id=8), in_state(State.RUNNING, worker_id=9)

    change("claim", queue=due.queue, worker=7, lease=60)
    change("snooze", **hold_of(snoozed), delay=1)
    change("fail", **hold_of(failed), error="no", delay=1)
    change("release", workers=[8], except_for=[])
    change("rescue", dead=[9], limit=10)
    change("retry", id=in_state(State.DISCARDED).pk, attempts=3)

    assert final.heard() == []
    assert not Task.objects.filter(pk__in=[released.pk, rescued.pk], state=State.RUNNING).exists()


def test_a_change_that_was_refused_is_not_told(final: Ear) -> None:
    over = in_state(State.COMPLETED)

    change("complete", **hand_of(over))
    change("cancel", ids=[over.pk])

    assert final.heard() == []


def test_nothing_is_heard_before_the_commit_and_the_row_is_final_when_it_is(final: Ear) -> None:
    task = in_state(State.RUNNING)

    with transaction.atomic():
        change("complete", **hand_of(task))
        before = final.heard()
    after = final.heard()

    assert (before, after) == ([], [str(task.pk)])
    assert final.conn.execute("SELECT state FROM tasks_task").fetchall() == [("completed",)]


def test_nothing_is_heard_of_what_was_rolled_back(final: Ear) -> None:
    task = in_state(State.RUNNING)

    with transaction.atomic():
        change("complete", **hand_of(task))
        transaction.set_rollback(True)
    with transaction.atomic():
        sid = transaction.savepoint()
        change("cancel", ids=[task.pk])
        transaction.savepoint_rollback(sid)

    assert final.heard() == []
    assert Task.objects.get().state == State.RUNNING


def test_workers_tell_whatever_the_cause(final: Ear, worker: WorkerProcess) -> None:
    ids = [
        enqueue(QUICK, Probe("returns")),
        enqueue(QUICK, Probe("gives up", "discard", "no")),
        enqueue(ONE, Probe("fails", "fail", "no")),
    ]

    for task_id in ids:
        ended(task_id)

    assert sorted(final.heard(), key=int) == [str(task_id) for task_id in ids]


def test_a_new_task_rings_its_queue_when_its_enqueuer_commits(new: Ear) -> None:
    with transaction.atomic():
        enqueue(BY_HAND, Probe())
        before = new.heard()
    after = new.heard()

    assert (before, after) == ([], [BY_HAND.queue])


def test_a_task_that_was_rolled_back_rings_nothing(new: Ear) -> None:
    with transaction.atomic():
        enqueue(BY_HAND, Probe())
        transaction.set_rollback(True)

    assert new.heard() == []


def test_a_pending_task_kept_from_its_worker_by_an_enqueuer_is_rung_again_afterwards(new: Ear) -> None:
    in_state(State.PENDING, kind=WHILE_PENDING.name, key="k", key_scope="while_pending")

    with transaction.atomic():
        enqueue(WHILE_PENDING, Probe(), key="k")
        with connect("worker") as other:
            claim = "SELECT id FROM tasks_task FOR UPDATE SKIP LOCKED"
            claimed = other.execute(claim).fetchall()

    assert claimed == []
    assert new.heard() == [BY_HAND.queue]


@pytest.mark.parametrize("kind", [QUICK, NOTIFY], ids=["index", "notify"])
def test_a_task_whose_notification_was_lost_starts_within_100_ms(kind: TaskKind, worker: WorkerProcess) -> None:
    waits = []
    for _ in range(9):
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO tasks_task (kind, queue, state, args, attempt, max_attempts, claim, errors) "
                "VALUES (%s, %s, 'pending', '{}', 0, 3, 0, '[]') RETURNING id",
                [kind.name, kind.queue],
            )
            [(task_id,)] = cursor.fetchall()
        task = ended(task_id)
        waits.append(task.claimed_at - task.scheduled_at)

    # A look is due every POLL; the median leaves room for a busy machine, and none for a slower poll.
    assert bell.POLL < 0.1
    assert median(waits) < timedelta(milliseconds=100)


def test_with_its_notification_a_task_starts_sooner_than_any_look_at_the_table(worker: WorkerProcess) -> None:
    waits = []
    for n in range(15):
        task = ended(enqueue(QUICK, Probe(f"{n}")))
        waits.append(task.claimed_at - task.scheduled_at)

    assert median(waits) < timedelta(milliseconds=20)


def test_a_task_put_off_starts_when_it_is_due_though_nobody_tells_then(worker: WorkerProcess) -> None:
    task = ended(enqueue(QUICK, Probe("put off"), delay=timedelta(seconds=0.3)))

    until(lambda: task.state == State.COMPLETED)

    assert timedelta(0) <= task.claimed_at - task.scheduled_at < timedelta(seconds=2)
