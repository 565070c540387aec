from typing import Annotated

from django.db import transaction

from tasks.declare import Caller
from tasks.events import requeue as again
from tasks.panel import queries, stream
from tasks.panel.results import Acknowledged, Events, EventSeen, Job, Jobs, Overview, Requeued
from tasks.queue import control, sql

JobId = Annotated[int, "of the job, from tasks.list or from a receipt"]
EventId = Annotated[str, "of the event, from events.list"]
Kind = Annotated[str | None, "of one kind only, such as access_request.approval_mail"]
JobState = Annotated[str | None, "pending, running, retryable, completed, discarded or cancelled"]
Limit = Annotated[int, "1 to 500"]


@transaction.atomic(durable=True)
def overview(by: Caller, *, kind: Kind = None) -> Overview:
    """How the queue is: counts by state, how late it is, workers, table sizes and alerts."""
    return queries.overview(kind)


@transaction.atomic(durable=True)
def list_jobs(by: Caller, *, kind: Kind = None, state: JobState = None, limit: Limit = 50) -> Jobs:
    """The newest jobs first. Each error is cut at 500 characters; `tasks.get` has them whole."""
    tasks = queries.newest(kind=kind, state=state, limit=queries.within(limit))
    return Jobs([queries.shown(task, longest=queries.LISTED_ERROR) for task in tasks])


@transaction.atomic(durable=True)
def get(by: Caller, *, id: JobId) -> Job:
    """One job with its arguments, its state and the error of each failed attempt."""
    return queries.shown(queries.reached(id))


@transaction.atomic(durable=True)
def retry(by: Caller, *, id: JobId) -> Job:
    """Run a discarded or cancelled job again, or one that waits for its next try now."""
    control.retry(id, by)
    return queries.shown(queries.reached(id))


@transaction.atomic(durable=True)
def cancel(by: Caller, *, id: JobId) -> Job:
    """End a job that has not ended. One that is running may have its effect all the same."""
    control.cancel(id, by)
    return queries.shown(queries.reached(id))


@transaction.atomic(durable=True)
def acknowledge(by: Caller) -> Acknowledged:
    """Put the discarded jobs of now to rest, so that they are no alert any more."""
    [(jobs,)] = sql.run("acknowledge", by=getattr(by.user, "pk", None), via=by.via, at=by.at)
    return Acknowledged(jobs)


@transaction.atomic(durable=True)
def list_events(
    by: Caller,
    *,
    type: Annotated[str | None, "such as access_request.created"] = None,
    subject: Annotated[str | None, "such as access_request/41"] = None,
    limit: Limit = 50,
) -> Events:
    """The newest events first, with the state of each subscriber's job."""
    return Events(stream.seen(stream.newest_events(type=type, subject=subject, limit=queries.within(limit))))


@transaction.atomic(durable=True)
def get_event(by: Caller, *, id: EventId) -> EventSeen:
    """One event with its subscribers and the state of each one's job."""
    return stream.seen([stream.reached_event(id)])[0]


@transaction.atomic(durable=True)
def requeue_event(by: Caller, *, id: EventId) -> Requeued:
    """Send an event again to its subscribers whose job is not completed."""
    event = stream.reached_event(id, lock=True)
    job_ids = again.requeue(event, by)
    return Requeued(stream.seen([event])[0], job_ids)
