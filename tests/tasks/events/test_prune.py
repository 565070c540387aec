"""How long events are kept: their time, and for as long as one of their tasks has not ended."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tasks.events.models import Delivery, Event
from tasks.events.prune import prune
from tests.probe.rows import in_state

pytestmark = pytest.mark.django_db(transaction=True)
BLINK = timedelta(seconds=30)


@pytest.fixture
def event(owner: Any, settings: Any) -> Any:
    """An event of that age, whose tasks are in these states; "gone": its row was deleted."""

    def make(age: timedelta, *states: str) -> Event:
        at = timezone.now() - age
        event = Event.objects.create(type="probe.noticed", owner=owner, subject="thing/1", occurred_at=at, data={})
        for number, state in enumerate(states):
            task_id = 10**9 if state == "gone" else in_state(state).pk
            Delivery.objects.create(event=event, kind=f"k{number}", task_id=task_id)
        return event

    return make


def left() -> set[Any]:
    return set(Event.objects.values_list("pk", flat=True))


def test_an_event_is_kept_for_90_days_and_no_longer(event, settings) -> None:
    assert settings.EVENTS_KEPT_DAYS == 90
    event(timedelta(days=90) + BLINK)
    kept = event(timedelta(days=90) - BLINK)

    assert prune() == 1
    assert left() == {kept.pk}


def test_the_setting_says_how_long(event, settings) -> None:
    settings.EVENTS_KEPT_DAYS = 10
    event(timedelta(days=11))
    kept = event(timedelta(days=9))

    prune()

    assert left() == {kept.pk}


@pytest.mark.parametrize("state", ["pending", "running", "retryable"])
def test_an_old_event_stays_while_one_of_its_tasks_has_not_ended(event, state: str) -> None:
    kept = event(timedelta(days=400), "completed", state)

    assert prune() == 0
    assert left() == {kept.pk}


@pytest.mark.parametrize("state", ["completed", "discarded", "cancelled", "gone"])
def test_an_old_event_goes_with_its_deliveries_when_all_of_them_have(event, state: str) -> None:
    event(timedelta(days=400), state, "completed")
    kept = event(timedelta(days=1), "completed")

    assert prune() == 1
    assert left() == {kept.pk}
    assert Delivery.objects.count() == 1


def test_many_go_in_batches_until_none_is_left(event) -> None:
    for _ in range(7):
        event(timedelta(days=400), "gone")

    assert prune(batch=3) == 7
    assert not Event.objects.exists()
