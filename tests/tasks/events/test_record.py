"""An event is written in the transaction of the change it tells of, with what its subscribers are to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from tasks import registry
from tasks.checks import catalog_is_sound
from tasks.declare import Caller, Catalog, EventType, Subscription
from tasks.events.models import Delivery, Event
from tasks.events.record import UnknownEvent, record
from tasks.queue.direct import connect
from tasks.queue.models import Task
from tests.probe.kinds import HEARS, IGNORED, NOTICED, ONCE, QUICK, Noticed
from tests.probe.models import Effect

pytestmark = pytest.mark.django_db


@dataclass(frozen=True)
class Unrelated:
    thing: str


def notice(by: Caller, thing: str = "a bird", event: EventType = NOTICED) -> Event:
    return record(event, Noticed(thing), by, owner=by.user, subject=f"thing/{thing}")


def test_an_event_tells_what_happened_to_what_and_when(by: Caller) -> None:
    with transaction.atomic():
        event = notice(by, event=IGNORED)

    event = Event.objects.get(pk=event.pk)
    assert (event.type, event.owner, event.subject) == ("probe.ignored", by.user, "thing/a bird")
    assert event.occurred_at == by.at <= timezone.now()
    assert event.data == {"thing": "a bird"}


def test_an_event_of_an_undeclared_type_is_refused(by: Caller) -> None:
    stranger = EventType("probe.stranger", Noticed, "Nobody declares this")
    namesake = EventType(NOTICED.name, Noticed, "Another one of the same name")

    for event in (stranger, namesake):
        with transaction.atomic(), pytest.raises(UnknownEvent, match=f"{event.name} is not in the catalog"):
            notice(by, event=event)

    assert not Event.objects.exists()


def test_data_of_another_type_is_refused(by: Caller) -> None:
    for data in (Unrelated("a bird"), {"thing": "a bird"}, None):
        with transaction.atomic(), pytest.raises(TypeError, match="probe.noticed carries Noticed, not"):
            record(NOTICED, data, by, owner=by.user, subject="thing/1")

    assert not Event.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_event_outside_any_transaction_is_refused(by: Caller) -> None:
    with pytest.raises(RuntimeError, match="in the transaction of the change"):
        notice(by)

    assert not Event.objects.exists()


def test_each_subscribers_task_exists_with_its_id_when_record_returns(by: Caller) -> None:
    with transaction.atomic():
        event = notice(by)
        [delivery] = event.deliveries.all()
        task = Task.objects.get(pk=delivery.task_id)

    assert (delivery.kind, task.kind, task.queue) == (HEARS.name, HEARS.name, HEARS.queue)
    assert task.args == {"event_id": str(event.pk)}


def test_an_event_without_subscribers_leads_to_no_task(by: Caller) -> None:
    with transaction.atomic():
        notice(by, event=IGNORED)

    assert not Delivery.objects.exists()
    assert not Task.objects.exists()


def test_a_subscribers_handler_receives_the_events_id(by: Caller, work: Callable[[], list[str]]) -> None:
    with transaction.atomic():
        event = notice(by)

    assert work() == ["probe.hears"]

    assert Effect.objects.get().name == str(event.pk)


def test_two_events_are_two_deliveries(by: Caller, work: Callable[[], list[str]]) -> None:
    with transaction.atomic():
        events = [notice(by, "a bird"), notice(by, "a bird")]

    assert work() == ["probe.hears"] * 2

    assert {effect.name for effect in Effect.objects.all()} == {str(event.pk) for event in events}


def test_event_delivery_and_task_vanish_together_when_the_change_is_rolled_back(by: Caller) -> None:
    with transaction.atomic():
        notice(by)
        transaction.set_rollback(True)
    transaction.set_rollback(False)

    assert [model.objects.count() for model in (Event, Delivery, Task)] == [0, 0, 0]


@pytest.mark.django_db(transaction=True)
def test_nobody_else_sees_the_event_or_its_task_before_the_change_is_committed(by: Caller) -> None:
    tables = "SELECT (SELECT count(*) FROM tasks_event), (SELECT count(*) FROM tasks_task)"
    with connect("other") as other:
        with transaction.atomic():
            notice(by)
            before = other.execute(tables).fetchone()
        after = other.execute(tables).fetchone()

    assert (before, after) == ((0, 0), (1, 1))


def test_the_link_outlives_the_task(by: Caller) -> None:
    with transaction.atomic():
        event = notice(by)
    task_id = event.deliveries.get().task_id

    Task.objects.all().delete()

    assert event.deliveries.get().task_id == task_id


@pytest.fixture
def catalog(settings: Any) -> Any:
    """Declare something else for this test."""

    def declare(**given: Any) -> None:
        global declared
        declared = Catalog(**given)
        settings.CATALOG = f"{__name__}.declared"
        registry.forget()

    yield declare
    settings.CATALOG = "tests.catalog.CATALOG"
    registry.forget()


declared = Catalog()


def complaints() -> list[str]:
    return [message.msg for message in catalog_is_sound(None)]


def test_a_sound_catalog_starts(catalog: Any) -> None:
    catalog(events=(NOTICED,), kinds=(HEARS,), subscriptions=(Subscription(NOTICED, HEARS),))

    assert complaints() == []


def test_a_subscription_to_an_undeclared_type_refuses_to_start(catalog: Any) -> None:
    catalog(kinds=(HEARS,), subscriptions=(Subscription(NOTICED, HEARS),))

    assert complaints() == ["There is a subscription to 'probe.noticed', an event that nobody declares."]


def test_a_subscription_of_an_undeclared_kind_refuses_to_start(catalog: Any) -> None:
    catalog(events=(NOTICED,), subscriptions=(Subscription(NOTICED, HEARS),))

    assert complaints() == ["A subscription runs 'probe.hears', a kind that nobody declares."]


def test_a_subscribers_argument_must_be_the_events_id(catalog: Any) -> None:
    catalog(events=(NOTICED,), kinds=(QUICK,), subscriptions=(Subscription(NOTICED, QUICK),))

    assert complaints() == ["The kind 'probe.quick' subscribes to 'probe.noticed', so its argument must be Happened."]


def test_a_type_leaves_the_machine_only_if_it_says_so() -> None:
    assert not NOTICED.public
    assert EventType("probe.public", Noticed, "Told to anybody", public=True).public


@pytest.mark.parametrize("kind", [QUICK, ONCE])
def test_several_kinds_may_subscribe_to_one_event(kind: Any, catalog: Any, by: Caller) -> None:
    from dataclasses import replace

    from tasks.declare import Happened

    also = replace(kind, name="probe.hears_too", args=Happened, handler=HEARS.handler)
    catalog(
        events=(NOTICED,),
        kinds=(HEARS, also),
        subscriptions=(Subscription(NOTICED, HEARS), Subscription(NOTICED, also)),
    )

    with transaction.atomic():
        event = notice(by)

    assert sorted(event.deliveries.values_list("kind", flat=True)) == ["probe.hears", "probe.hears_too"]
    assert Task.objects.count() == 2
