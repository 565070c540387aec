"""Which row of business a task or an event is about, as its kind or type declares."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.urls import reverse

from tasks import registry
from tasks.declare import Happened, Serves
from tasks.events.models import Event
from tasks.queue.models import Task


@dataclass(frozen=True)
class Row:
    label: str
    url: str


def row(serves: Serves | None, carried: dict[str, Any]) -> Row | None:
    """The page that a declaration and what is carried lead to; None where there is none."""
    if serves is None:
        return None
    if not serves.field:
        return Row(serves.label, reverse(serves.page))
    id = carried.get(serves.field)
    return Row(f"{serves.label} {id}", reverse(serves.page, args=[id])) if id is not None else None


def of_event(event: Event) -> Row | None:
    """What the event is about, as its type declares."""
    type = registry.event_types().get(event.type)
    return row(type.serves if type else None, event.data)


def events_of(tasks: Iterable[Task]) -> dict[int, Event]:
    """By task, the event that it was enqueued for, in one query."""
    kinds = registry.kinds()
    hearing = {t.pk: t.args.get("event_id") for t in tasks if (k := kinds.get(t.kind)) and k.args is Happened}
    try:
        found = Event.objects.in_bulk([id for id in hearing.values() if id]) if hearing else {}
    except ValidationError:  # arguments that no version of ours wrote
        found = {}
    by_text = {str(key): event for key, event in found.items()}
    return {pk: by_text[id] for pk, id in hearing.items() if id in by_text}


def of_task(task: Task, event: Event | None) -> Row | None:
    """What the task serves, as its kind declares, or what the event is about that it was enqueued for."""
    kind = registry.kinds().get(task.kind)
    found = row(kind.serves if kind else None, task.args)
    return found or (of_event(event) if event else None)
