"""What a page says about a task, in its kind's three words."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from tasks import registry
from tasks.queue.models import Task
from tasks.queue.states import State


@dataclass(frozen=True)
class Chip:
    """`next_try` only while it waits after a failed attempt, or was put off; `reason` then and when it failed."""

    state: str
    final: bool
    reason: str = ""
    next_try: datetime | None = None
    job_id: int | None = None


def tasks_of(job_ids: Iterable[int | None]) -> dict[int, Task]:
    """The rows that are still there, in one query."""
    return Task.objects.in_bulk([id for id in job_ids if id is not None])


def chip(task: Task | None, *, kept: str, reason: str) -> Chip | None:
    """The chip of a task; of one whose row is gone, by what its `settle` kept. None where there never was a task."""
    if task is None:
        return Chip(kept, final=True, reason=reason) if kept else None
    kind = registry.kinds().get(task.kind)
    words = kind.words if kind else None
    match State(task.state):
        case State.COMPLETED:
            return Chip(words.done if words else "done", final=True, job_id=task.pk)
        case State.DISCARDED | State.CANCELLED:
            return Chip(
                words.failed if words else "failed", final=True, reason=reason or task.last_error, job_id=task.pk
            )
        case state:
            put_off = state != State.RUNNING and task.claim > 0 and task.scheduled_at > timezone.now()
            return Chip(
                words.doing if words else "queued",
                final=False,
                reason=task.last_error if put_off else "",
                next_try=task.scheduled_at if put_off else None,
                job_id=task.pk,
            )
