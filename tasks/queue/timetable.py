"""What the panel, the tools and the alerts know of periodic work."""

from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.contrib.auth import get_user_model

from tasks import registry
from tasks.queue import sql
from tasks.queue.states import TERMINAL, State

RUNS_SHOWN = 8


@dataclass(frozen=True)
class PeriodicRun:
    """One run. `state` is its job's, or "lost" where the job's row was deleted before it ended.

    `due_at` is None where somebody (`asked_by`) asked for it; `missed` is the number of whole periods that passed
    without a run before this one.
    """

    job_id: int
    state: str
    reason: str
    due_at: datetime | None
    missed: int
    asked_at: datetime
    asked_by: str
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def is_final(self) -> bool:
        return self.state in TERMINAL or self.state == "lost"

    @property
    def seconds(self) -> float | None:
        if not (self.started_at and self.finished_at):
            return None
        return max(0.0, (self.finished_at - self.started_at).total_seconds())


@dataclass(frozen=True)
class PeriodicWork:
    """Periodic work as it stands; `last_result` is empty, or completed, discarded, cancelled or lost."""

    name: str
    summary: str
    kind: str
    every_seconds: int
    last_run: datetime | None
    next_run: datetime | None
    last_result: str
    last_reason: str
    job_id: int | None
    overdue: bool
    runs: list[PeriodicRun]

    @property
    def is_live(self) -> bool:
        return any(not run.is_final for run in self.runs)


def timetable(names: list[str] | None = None) -> list[PeriodicWork]:
    """All declared periodic work in the order of its declaration, or that of these names, with its latest 8 runs.

    Two statements, whatever the number of runs and of tasks. `next_run` is None before a worker has first looked.
    contract.md, section 9.
    """
    works = registry.periodic()
    asked = [name for name in works if names is None or name in names]
    rows = sql.run("timetable", names=asked, runs=RUNS_SHOWN)
    people = names_of({row[6] for row in rows} - {None})
    late = {name for name, _ in overdue()}
    return [
        entry(name, [run(row, people) for row in found if row[2] is not None], found[0][1], name in late)
        for name, found in ((name, list(group)) for name, group in groupby(rows, key=lambda row: row[0]))
    ]


def overdue() -> list[tuple[str, datetime]]:
    """Declared periodic work that has not run to an end (done or failed) in two periods, and since when it is late."""
    works = registry.catalog().periodic
    everys = [work.every.total_seconds() for work in works]
    return [(name, since) for name, since in sql.run("overdue_periods", names=[w.name for w in works], everys=everys)]


def entry(name: str, runs: list[PeriodicRun], next_run: datetime | None, late: bool) -> PeriodicWork:
    work = registry.periodic()[name]
    ended = next((run for run in runs if run.is_final), None)
    return PeriodicWork(
        name=name,
        summary=work.summary,
        kind=work.kind.name,
        every_seconds=round(work.every.total_seconds()),
        last_run=next((run.started_at for run in runs if run.started_at), None),
        next_run=next_run,
        last_result=ended.state if ended else "",
        last_reason=ended.reason if ended else "",
        job_id=runs[0].job_id if runs else None,
        overdue=late,
        runs=runs,
    )


def run(row: sql.Row, people: dict[int, str]) -> PeriodicRun:
    _, _, job_id, due_at, missed, asked_at, asked_by, started_at, finished_at, state, reason = row
    if state == State.PENDING:
        started_at = None
    return PeriodicRun(
        job_id, state, reason, due_at, missed, asked_at, people.get(asked_by, ""), started_at, finished_at
    )


def names_of(ids: set[Any]) -> dict[int, str]:
    if not ids:
        return {}
    return {person.pk: str(person) for person in get_user_model()._default_manager.filter(pk__in=ids)}
