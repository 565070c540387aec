"""Rows of the task table as tests need them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from tasks.queue.models import Task
from tasks.queue.states import TERMINAL, State
from tests.probe.kinds import BY_HAND
from tests.processes import until

NO_WORKER = 2**40  # an id that no worker's row ever has


def in_state(state: str, **given: Any) -> Task:
    """A lawful row in that state, on a queue that nobody works on."""
    now = timezone.now()
    row: dict[str, Any] = {
        "kind": BY_HAND.name,
        "queue": BY_HAND.queue,
        "args": {},
        "state": state,
        "max_attempts": 3,
        "scheduled_at": now - timedelta(seconds=1),
    }
    if state != State.PENDING:
        row |= {"attempt": 1, "claim": 1, "claimed_at": now}
    if state == State.RUNNING:
        row |= {"worker_id": NO_WORKER, "lease_until": now + timedelta(seconds=60)}
    if state in TERMINAL:
        row |= {"finalized_at": now}
    return Task.objects.create(**row | given)


def ended(task_id: int, *, seconds: float = 15) -> Task:
    """The row, as soon as it is final."""
    until(
        lambda: Task.objects.filter(pk=task_id, state__in=TERMINAL).exists(),
        seconds=seconds,
        what=f"task {task_id} is final: {Task.objects.filter(pk=task_id).values()}",
    )
    return Task.objects.get(pk=task_id)


def as_told(task: Task) -> list[tuple[int, str]]:
    """The failed attempts: number and message."""
    return [(error["attempt"], error["error"]) for error in task.errors]
