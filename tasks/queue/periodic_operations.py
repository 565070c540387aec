"""What a person or an agent may do with periodic work."""

from dataclasses import dataclass
from typing import Annotated

from django.db import transaction

from tasks import registry
from tasks.declare import Caller, Nothing
from tasks.errors import NotFound
from tasks.queue.enqueue import enqueue
from tasks.queue.periods import Run
from tasks.queue.timetable import PeriodicWork, timetable


@dataclass(frozen=True)
class Timetable:
    periodic: list[PeriodicWork]


@dataclass(frozen=True)
class Queued:
    """`already_pending`: a run was waiting, which this call did not double; `job_id` is its job."""

    name: str
    job_id: int
    already_pending: bool


@transaction.atomic(durable=True)
def periodic(by: Caller) -> Timetable:
    """All declared periodic work: how often, its last run and result, its next run. contract.md, section 9."""
    return Timetable(timetable())


@transaction.atomic(durable=True)
def run_periodic(by: Caller, *, name: Annotated[str, "from tasks.periodic"]) -> Queued:
    """Queue a run of this periodic work now, unless one is pending; its next time stays as it was.

    Raises NotFound for a name that no app declares.
    """
    work = registry.periodic().get(name)
    if work is None:
        known = ", ".join(registry.periodic()) or "none"
        raise NotFound(f"There is no periodic work {name}. There is: {known}.")
    job_id = enqueue(work.kind, Nothing(), key=name)
    _, new = Run.objects.get_or_create(job_id=job_id, defaults={"name": name, "asked_at": by.at, "asked_by": by.user})
    return Queued(name, job_id, already_pending=not new)
