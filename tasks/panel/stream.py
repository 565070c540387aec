"""What the panel reads of the event stream."""

import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet

from tasks import registry
from tasks.errors import BadInput, NotFound
from tasks.events.models import Event
from tasks.panel.queries import chosen
from tasks.panel.results import EventSeen, Subscriber
from tasks.queue.models import Task

GONE, NONE = "gone", "none"


def known_types() -> list[str]:
    """Every declared type of event."""
    return sorted(registry.event_types())


def newest_events(
    *,
    type: str | None = None,
    subject: str | None = None,
    before: tuple[datetime, uuid.UUID] | None = None,
    limit: int,
) -> list[Event]:
    """The newest events, newest first; `before` is the time and id that a former page ended with.

    The subject is compared whole. Raises BadInput for a type that is not declared.
    """
    chosen("type", type, known_types())
    events: QuerySet[Event] = Event.objects.order_by("-occurred_at", "-pk")
    if type:
        events = events.filter(type=type)
    if subject:
        events = events.filter(subject=subject)
    if before:
        # A row comparison, which an index on its first column serves (Postgres, "Row-wise Comparison").
        events = events.extra(where=["(occurred_at, id) < (%s, %s)"], params=list(before))
    return list(events.prefetch_related("deliveries")[:limit])


def reached_event(event_id: str, *, lock: bool = False) -> Event:
    """The event, locked where asked. Raises BadInput for what is not a UUID, NotFound for what is not there."""
    try:
        key = uuid.UUID(event_id.strip())
    except ValueError:
        raise BadInput(f"{event_id!r} is not an event's id, which is a UUID.", {"id": "must be a UUID"}) from None
    events = Event.objects.select_for_update() if lock else Event.objects.all()
    event = events.filter(pk=key).first()
    if event is None:
        raise NotFound(f"There is no event {key}.")
    return event


def seen(events: Iterable[Event]) -> list[EventSeen]:
    """The events with their subscribers, and the state of each one's job."""
    events = list(events)
    links = {event.pk: {link.kind: link.task_id for link in event.deliveries.all()} for event in events}
    ids = [id for each in links.values() for id in each.values()]
    states = dict(Task.objects.filter(pk__in=ids).values_list("pk", "state"))
    found = []
    for event in events:
        had = links[event.pk]
        kinds = [*had, *(k.name for k in registry.subscribers(event.type) if k.name not in had)]
        subscribers = [Subscriber(k, had.get(k), states.get(had[k], GONE) if k in had else NONE) for k in kinds]
        found.append(
            EventSeen(
                str(event.pk), event.type, event.owner_id, event.subject, event.occurred_at, event.data, subscribers
            )
        )
    return found
