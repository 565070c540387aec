"""How long the rows of ended tasks are kept: completed and cancelled a day, discarded a week."""

from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.prune import prune
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import ONCE, QUICK, SETTLED, Probe
from tests.probe.models import Settled
from tests.probe.rows import hand_of, in_state

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)
BLINK = timedelta(seconds=30)


def ended(state: str, ago: timedelta) -> int:
    return in_state(state, finalized_at=timezone.now() - ago).pk


@pytest.mark.parametrize(
    ("state", "kept"), [(State.COMPLETED, DAY), (State.CANCELLED, DAY), (State.DISCARDED, 7 * DAY)]
)
def test_an_ended_task_is_kept_for_its_time_and_no_longer(state: str, kept: timedelta) -> None:
    still, _ = ended(state, kept - BLINK), ended(state, kept + BLINK)

    deleted = prune()

    assert deleted == Counter({state: 1})
    assert list(Task.objects.values_list("pk", flat=True)) == [still]


@pytest.mark.parametrize("state", [State.PENDING, State.RETRYABLE, State.RUNNING])
def test_a_task_that_has_not_ended_is_kept_whatever_its_age(state: str) -> None:
    long_ago = timezone.now() - 400 * DAY
    lease = {"lease_until": timezone.now() + DAY} if state == State.RUNNING else {}
    in_state(state, created_at=long_ago, scheduled_at=long_ago, **lease)

    deleted = prune()

    assert not +deleted
    assert Task.objects.count() == 1


def test_the_time_counts_from_the_end_and_not_from_the_beginning() -> None:
    in_state(State.COMPLETED, created_at=timezone.now() - 30 * DAY)

    assert not +prune()


def test_many_rows_go_in_batches_until_none_is_left() -> None:
    for _ in range(7):
        ended(State.COMPLETED, 2 * DAY)

    deleted = prune(batch=3)

    assert deleted[State.COMPLETED] == 7
    assert not Task.objects.exists()


def test_old_jobs_that_ended_late_do_not_keep_the_next_ones() -> None:
    kept = [in_state(State.COMPLETED, created_at=timezone.now() - 9 * DAY, kind=QUICK.name).pk for _ in range(5)]
    for kind in (QUICK.name, "probe.of_yesterday", QUICK.name):
        in_state(State.COMPLETED, kind=kind, finalized_at=timezone.now() - 2 * DAY)
    young = [in_state(State.COMPLETED, kind=QUICK.name).pk for _ in range(50)]

    deleted = prune(batch=2)

    assert deleted[State.COMPLETED] == 3
    assert list(Task.objects.order_by("pk").values_list("pk", flat=True)) == kept + young


def test_a_row_that_somebody_holds_is_left_for_the_next_time_without_waiting() -> None:
    held, free = ended(State.DISCARDED, 8 * DAY), ended(State.DISCARDED, 8 * DAY)

    with connect("holder") as holder, holder.transaction():
        holder.execute("SELECT FROM tasks_task WHERE id = %s FOR UPDATE", [held])
        first = prune()
    second = prune()

    assert (+first, +second) == (Counter({State.DISCARDED: 1}), Counter({State.DISCARDED: 1}))
    assert not Task.objects.filter(pk=free).exists()


def test_what_the_row_of_business_says_outlives_the_task() -> None:
    task = in_state(State.RUNNING, kind=SETTLED.name, args={"name": "mail"})
    change("complete", **hand_of(task))
    Task.objects.update(finalized_at=timezone.now() - 2 * DAY)

    prune()

    assert not Task.objects.exists()
    assert Settled.objects.get(name="mail").state == "completed"


def test_a_once_key_is_free_again_when_its_row_is_gone() -> None:
    first = enqueue(ONCE, Probe(), key="k", delay=timedelta(hours=1))
    Task.objects.update(state="completed", finalized_at=timezone.now() - 2 * DAY)

    prune()
    second = enqueue(ONCE, Probe(), key="k", delay=timedelta(hours=1))

    assert second != first
