from dataclasses import asdict
from typing import Any

from django.db import connection

from tasks import registry
from tasks.declare import Caller, EventType, Happened, TaskKind
from tasks.events.models import Delivery, Event
from tasks.queue.enqueue import enqueue


class UnknownEvent(LookupError):
    pass


def record(event: EventType, data: Any, by: Caller, *, owner: Any, subject: str) -> Event:
    """Write down that something happened, in the caller's transaction, and enqueue what its subscribers are to do.

    `data` is an instance of `event.data` (thin: ids and plain words). Each subscription's task exists, with its id in
    a Delivery, when this returns. Raises UnknownEvent for a type that the catalog does not declare, TypeError for
    other data, RuntimeError outside a transaction. contract.md, section 3.
    """
    if registry.event_types().get(event.name) is not event:
        raise UnknownEvent(f"{event.name} is not in the catalog")
    if type(data) is not event.data:
        raise TypeError(f"{event.name} carries {event.data.__name__}, not {type(data).__name__}")
    if not connection.in_atomic_block:
        raise RuntimeError("an event is recorded in the transaction of the change it tells of")
    written = Event.objects.create(type=event.name, owner=owner, subject=subject, occurred_at=by.at, data=asdict(data))
    for kind in registry.subscribers(event.name):
        send(written, kind)
    return written


def send(event: Event, kind: TaskKind) -> int:
    """Enqueue what one subscriber is to do about an event, keep the link, and return the task's id."""
    key = f"{event.pk}" if kind.unique else None
    task_id = enqueue(kind, Happened(str(event.pk)), key=key)
    Delivery.objects.create(event=event, kind=kind.name, task_id=task_id)
    return task_id
