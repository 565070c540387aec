from dataclasses import dataclass
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections, transaction

from tasks.queue import sql
from tasks.queue import wire as hot
from tasks.queue.models import Task
from tasks.queue.signals import post_transition
from tasks.queue.states import COMBINED, TERMINAL, TRANSITIONS

LAWFUL: dict[str, set[tuple[str, str]]] = {
    name: {
        (str(before), str(after)) for part in parts for before in TRANSITIONS[part][0] for after in TRANSITIONS[part][1]
    }
    for name, parts in {**{name: (name,) for name in TRANSITIONS}, **COMBINED}.items()
}


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
    db = connections[DEFAULT_DB_ALIAS]
    wire = None if db.in_atomic_block else hot.current(db)
    with transaction.atomic(), db.wrap_database_errors:
        if wire:
            with wire.transaction(name, params) as rows:
                announce(name, rows, unsettled)
        else:
            rows = sql.run(name, **params)
            announce(name, rows, unsettled)
    return rows


def announce(name: str, rows: list[sql.Row], unsettled: bool) -> None:
    if rows:
        transitions = [Transition(*row[:4]) for row in rows]
        assert all((t.before, t.after) in LAWFUL[name] for t in transitions), f"{name} made {transitions}"
        post_transition.send(sender=Task, transitions=transitions, unsettled=unsettled)
