from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction

from tasks.queue import sql
from tasks.queue import wire as hot
from tasks.queue.models import Task
from tasks.queue.signals import post_transition
from tasks.queue.states import COMBINED, TERMINAL, TRANSITIONS, State


@dataclass(frozen=True, slots=True)
class Transition:
    task_id: int
    kind: str
    before: str
    after: str

    @property
    def final(self) -> bool:
        return self.after in TERMINAL


def change(name: str, *, unsettled: bool = False, **params: Any) -> list[sql.Row]:
    """Run one guarded UPDATE of states and announce what it changed, in one transaction (the caller's, or its own).

    Returns the statement's rows, of which the first four columns are id, kind, state before and state after; none
    where the guard did not hold. Whatever a receiver of `post_transition` raises comes out of here, and nothing is
    changed. `unsettled` leaves out the kinds' `settle`, for a task whose settle keeps failing.
    house.md, "A task changes state in one place".
    """
    wire = None if connection.in_atomic_block else hot.current()
    with transaction.atomic(), connection.wrap_database_errors:
        rows = wire.begin(name, params) if wire else sql.run(name, **params)
        if rows:
            transitions = [Transition(*row[:4]) for row in rows]
            assert all(lawful(name, t) for t in transitions), f"{name} made {transitions}"
            post_transition.send(sender=Task, transitions=transitions, unsettled=unsettled)
        if wire:
            wire.commit()
    return rows


def lawful(name: str, made: Transition) -> bool:
    """Whether TRANSITIONS allows what the statement did."""
    return any(
        State(made.before) in sources and State(made.after) in targets
        for sources, targets in (TRANSITIONS[part] for part in COMBINED.get(name, (name,)))
    )
