"""Two people, or two tabs, press at the same moment."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection, transaction

from tasks import registry
from tasks.declare import Caller
from tasks.errors import Refused
from tasks.events.models import Delivery
from tasks.events.record import record
from tasks.perform import perform
from tasks.queue.models import Task, TaskAction
from tasks.queue.states import State
from tests.probe.kinds import BY_HAND, NOTICED, Noticed
from tests.probe.rows import in_state

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def at_once(by: Caller) -> Callable[..., list[str]]:
    """Perform operations on one row at the same moment; each one's answer, or the code of its refusal."""

    def press(*names: str, id: Any) -> list[str]:
        start = Barrier(len(names))

        def one(name: str) -> str:
            try:
                start.wait(10)
                perform(registry.operations()[name], by, id=str(id))
            except Refused as refused:
                return refused.code
            finally:
                connection.close()
            return "done"

        with ThreadPoolExecutor(len(names)) as pool:
            return sorted(pool.map(one, names))

    return press


def test_of_many_retries_at_once_one_is_done(at_once: Any) -> None:
    task = in_state(State.DISCARDED)

    answers = at_once(*["tasks.retry"] * 5, id=task.pk)

    assert answers == ["done"] + ["wrong_state"] * 4
    assert Task.objects.get().max_attempts == 1 + BY_HAND.attempts
    assert TaskAction.objects.count() == 1


def test_of_many_cancellations_at_once_one_is_done(at_once: Any) -> None:
    task = in_state(State.RUNNING)

    assert at_once(*["tasks.cancel"] * 5, id=task.pk) == ["done"] + ["wrong_state"] * 4
    assert TaskAction.objects.count() == 1


def test_a_retry_and_a_cancellation_at_once_leave_a_lawful_job(at_once: Any) -> None:
    task = in_state(State.DISCARDED)

    answers = at_once("tasks.retry", "tasks.cancel", id=task.pk)

    task.refresh_from_db()
    expected = State.CANCELLED if answers == ["done", "done"] else State.PENDING
    assert (task.state, TaskAction.objects.count()) == (expected, answers.count("done"))


def test_an_event_that_is_requeued_twice_at_once_is_sent_once(at_once: Any, by: Caller) -> None:
    with transaction.atomic():
        event = record(NOTICED, Noticed("a bird"), by, owner=by.user, subject="thing/a bird")
    Delivery.objects.all().delete()
    Task.objects.all().delete()

    assert at_once(*["events.requeue"] * 3, id=event.pk) == ["done", "wrong_state", "wrong_state"]
    assert Delivery.objects.count() == Task.objects.count() == 1
