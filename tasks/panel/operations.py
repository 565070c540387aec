from django.db import transaction

from tasks.declare import Caller
from tasks.events import requeue as again
from tasks.panel import queries, stream
from tasks.panel.results import Acknowledged, Events, EventSeen, Job, Jobs, Overview, Requeued
from tasks.queue import control, sql


@transaction.atomic(durable=True)
def overview(by: Caller, *, kind: str | None = None) -> Overview:
    """How the queue is: counts by state, how late it is, workers, table sizes and alerts."""
    return queries.overview(kind)


@transaction.atomic(durable=True)
def list_jobs(by: Caller, *, kind: str | None = None, state: str | None = None, limit: int = 50) -> Jobs:
    """The newest jobs first. Each error is cut at 500 characters; `tasks.get` has them whole."""
    tasks = queries.newest(kind=kind, state=state, limit=queries.within(limit))
    return Jobs([queries.shown(task, longest=queries.LISTED_ERROR) for task in tasks])


@transaction.atomic(durable=True)
def get(by: Caller, *, id: int) -> Job:
    """One job with its arguments, its state and the error of each failed attempt."""
    return queries.shown(queries.reached(id))


@transaction.atomic(durable=True)
def retry(by: Caller, *, id: int) -> Job:
    """Run a discarded or cancelled job again, or one that waits for its next try now."""
    control.retry(id, by)
    return queries.shown(queries.reached(id))


@transaction.atomic(durable=True)
def cancel(by: Caller, *, id: int) -> Job:
    """End a job that has not ended. One that is running may have its effect all the same."""
    control.cancel(id, by)
    return queries.shown(queries.reached(id))


@transaction.atomic(durable=True)
def acknowledge(by: Caller) -> Acknowledged:
    """Put the discarded jobs of now to rest, so that they are no alert any more."""
    [(jobs,)] = sql.run("acknowledge", by=getattr(by.user, "pk", None), via=by.via, at=by.at)
    return Acknowledged(jobs)


@transaction.atomic(durable=True)
def list_events(by: Caller, *, type: str | None = None, subject: str | None = None, limit: int = 50) -> Events:
    """The newest events first, with the state of each subscriber's job."""
    return Events(stream.seen(stream.newest_events(type=type, subject=subject, limit=queries.within(limit))))


@transaction.atomic(durable=True)
def get_event(by: Caller, *, id: str) -> EventSeen:
    """One event with its subscribers and the state of each one's job."""
    return stream.seen([stream.reached_event(id)])[0]


@transaction.atomic(durable=True)
def requeue_event(by: Caller, *, id: str) -> Requeued:
    """Send an event again to its subscribers whose job is not completed."""
    event = stream.reached_event(id, lock=True)
    job_ids = again.requeue(event, by)
    return Requeued(stream.seen([event])[0], job_ids)
