"""One operation on many jobs. Each stands for itself: one that is refused holds up no other."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib import messages
from django.http import HttpRequest

from tasks.declare import Caller, Operation
from tasks.errors import Refused
from tasks.panel.results import Job
from tasks.perform import perform

NAMED = 3  # refusals that are given in full


@dataclass(frozen=True)
class Outcome:
    done: list[Job] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)


def each(op: Operation, by: Caller, ids: Iterable[int]) -> Outcome:
    """Perform the operation on each job, in a transaction of its own."""
    outcome = Outcome()
    for id in ids:
        try:
            outcome.done.append(perform(op, by, id=id))
        except Refused as refused:
            outcome.refusals.append(str(refused))
    return outcome


def tell(request: HttpRequest, op: Operation, outcome: Outcome) -> None:
    """Say in toasts what was done and what was refused."""
    done, refusals = len(outcome.done), outcome.refusals
    acted = sum(job.may_have_acted for job in outcome.done)
    if not done and not refusals:
        messages.warning(request, "No job is ticked.")
    if done:
        said = f"{done} job{'s' * (done != 1)} {'queued again' if op.name == 'tasks.retry' else 'cancelled'}."
        if acted:
            said += f" Of these {acted} may have had their effect all the same."
        messages.success(request, said)
    if refusals:
        more = f" And {len(refusals) - NAMED} more were refused." if len(refusals) > NAMED else ""
        messages.error(request, " ".join(refusals[:NAMED]) + more)
