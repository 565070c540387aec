"""What is wrong with the queue now, in sentences that the owner can act on."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from tasks.declare import Nothing
from tasks.queue import completion, sql
from tasks.queue.timetable import overdue

log = logging.getLogger("standmeet.tasks")
NAMES = ("jobs_discarded", "queue_late", "periodic_overdue", "no_worker", "listener_down")
LATE = timedelta(seconds=60)
SILENT = timedelta(seconds=60)
CONNECTING = timedelta(seconds=2)  # that a LISTEN connection may take to come up
COUNTED = 1000


@dataclass(frozen=True)
class Alert:
    """Something about the queue that the owner should know. `since` is None where nothing tells since when."""

    name: str
    sentence: str
    since: datetime | None


@dataclass(frozen=True)
class QueueAge:
    """`oldest` is since when the oldest due task of the queue has waited; `seen` when a worker of it was last seen."""

    queue: str
    oldest: datetime | None
    seen: datetime | None
    now: datetime

    @property
    def waited(self) -> timedelta:
        return self.now - self.oldest if self.oldest else timedelta()

    @property
    def worked(self) -> bool:
        return self.seen is not None and self.now - self.seen <= SILENT


def queue_ages() -> list[QueueAge]:
    """Of every queue that has workers by the settings, by the database's clock; one statement, by index."""
    queues = [queue for queue, size in settings.QUEUES.items() if size]
    return [QueueAge(*row) for row in sql.run("oldest_due", queues=queues)]


def alerts() -> list[Alert]:
    """What is wrong now, at most one alert a name; empty when all is well.

    Three statements by index, a few milliseconds whatever the size of the tables. `listener_down` is about the process
    that asks. contract.md, section 9.
    """
    ages = queue_ages()
    return [*discarded(), *late(ages), *periods(), *workers(ages), *listener()]


def discarded() -> Iterator[Alert]:
    [(count, since)] = sql.run("unacknowledged", limit=COUNTED)
    if count:
        many = f"{COUNTED} jobs or more" if count >= COUNTED else "1 job" if count == 1 else f"{count} jobs"
        text = f"{many} failed for good in the last 7 days. Look at why, and retry or acknowledge what you have seen."
        yield Alert("jobs_discarded", text, since)


def late(ages: list[QueueAge]) -> Iterator[Alert]:
    found = [age for age in ages if age.waited > LATE]
    if found:
        waits = ", ".join(f"{age.queue} for {span(age.waited)}" for age in found)
        idle = [age.queue for age in found if not age.worked]
        what = (
            f"No worker works on {' or '.join(idle)}: start one with ./run worker."
            if idle
            else "The workers are busy or stuck: look at what runs, or start more processes "
            f"({', '.join('WORKER_' + age.queue.upper() for age in found)})."
        )
        since = min(age.oldest for age in found if age.oldest)
        yield Alert("queue_late", f"Jobs that are due wait on {waits}. {what}", since)


def periods() -> Iterator[Alert]:
    found = overdue()
    if found:
        names = ", ".join(name for name, _ in found)
        text = (
            f"Periodic work has not run for two periods: {names}. See that a worker runs, with the queue maintenance."
        )
        yield Alert("periodic_overdue", text, found[0][1])


def workers(ages: list[QueueAge]) -> Iterator[Alert]:
    if not any(age.worked for age in ages):
        seen = max((age.seen for age in ages if age.seen), default=None)
        when = f"for {span(ages[0].now - seen)}" if seen else "in the last minute"
        text = f"No worker was seen {when}, so that every job waits. Start one with ./run worker, or look at its log."
        yield Alert("no_worker", text, seen)


def listener() -> Iterator[Alert]:
    ours = completion.waits().listener
    if ours and ours.down_since and timezone.now() - ours.down_since > CONNECTING:
        text = (
            "This web process has no connection on which to hear that jobs have ended, and looks every second instead. "
            "It tries again by itself; if this stays, see that Postgres has connections left (max_connections) and "
            "that DATABASE_URL reaches it without a pooler that forbids LISTEN."
        )
        yield Alert("listener_down", text, ours.down_since)


def span(time: timedelta) -> str:
    """A length of time in its largest unit: 90 s, 5 min, 3 h, 4 days."""
    seconds = time.total_seconds()
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def log_alerts(_: Nothing) -> None:
    """The check that runs by the clock: what is wrong is in the log too, for whoever watches that."""
    for alert in alerts():
        log.warning("alert %s: %s", alert.name, alert.sentence)
