"""Rows of the task table as tests need them."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.utils import timezone

from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, Worker
from tasks.queue.states import TERMINAL, State
from tests.probe.kinds import BY_HAND, QUICK, Probe
from tests.probe.models import Effect
from tests.processes import until

DIED = "Its worker process died."
CUT_OFF = "Its lease ran out: the worker was frozen or cut off from the database."
OVER = "It ran longer than its limit of 1 s and was stopped."


SOMEONE_ELSE = 2**40


def someone_else() -> int:
    """The row of a worker on another machine, of whom nothing is known here but its row."""
    return Worker.objects.get_or_create(
        pk=SOMEONE_ELSE,
        defaults={
            "machine": "another machine",
            "group": uuid4(),
            "host": "another",
            "pid": 1,
            "started": 1,
            "queue": BY_HAND.queue,
        },
    )[0].pk


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
        row |= {"worker_id": someone_else(), "lease_until": now + timedelta(seconds=60)}
    if state in TERMINAL:
        row |= {"finalized_at": now, "created_at": given.get("finalized_at", now)}
    return Task.objects.create(**row | given)


def hold_of(task: Task) -> dict[str, Any]:
    """What names the present claim of a running task to a statement."""
    now = Task.objects.get(pk=task.pk)
    return {"id": now.pk, "claim": now.claim, "worker": now.worker_id}


def hand_of(*tasks: Task) -> dict[str, Any]:
    """The same of several tasks of one worker."""
    holds = [hold_of(task) for task in tasks]
    named = {"ids": [hold["id"] for hold in holds], "claims": [hold["claim"] for hold in holds]}
    return {**named, "worker": holds[0]["worker"]}


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


def begun(name: str, *, but: int = 0) -> Effect:
    """Its handler runs, in another process than that one."""
    until(lambda: Effect.objects.filter(name=name).exclude(pid=but).exists(), what=f"{name} has begun")
    return Effect.objects.filter(name=name).exclude(pid=but).latest("at")


def completed(name: str) -> Task:
    """One more task, run to its end."""
    task = ended(enqueue(QUICK, Probe(name)))
    assert task.state == State.COMPLETED
    return task
