"""tasks.* and events.*: the same operations for the panel and for the owner's AI client."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import connection, transaction
from django.utils import timezone

from tasks import registry
from tasks.declare import Caller
from tasks.errors import BadInput, NotAllowed, NotFound, WrongState
from tasks.events.models import Delivery, Event
from tasks.events.record import record
from tasks.panel.results import Acknowledged, Job, JobError, Overview
from tasks.perform import perform
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, TaskAction, Worker
from tasks.queue.prune import prune
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import BY_HAND, HEARS, IGNORED, NOTICED, QUICK, Noticed, Probe
from tests.probe.rows import in_state, someone_else

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def do(by: Caller) -> Any:
    def do(name: str, caller: Caller = by, **given: Any) -> Any:
        return perform(registry.operations()[name], caller, **given)

    return do


@pytest.fixture
def noticed(by: Caller) -> Event:
    with transaction.atomic():
        return record(NOTICED, Noticed("a bird"), by, owner=by.user, subject="thing/a bird")


def failed(**given: Any) -> Task:
    errors = [{"at": "2026-11-30T04:00:00+00:00", "attempt": 1, "error": "no " * 1000}]
    return in_state(State.RETRYABLE, scheduled_at=timezone.now() + HOUR, errors=errors, **given)


def test_a_job_has_the_shape_that_the_contract_names(do: Any) -> None:
    task = failed(args={"note": 7})

    job = do("tasks.get", id=str(task.pk))

    assert list(Job.__dataclass_fields__) == (
        [
            "id",
            "kind",
            "queue",
            "state",
            "args",
            "errors",
            "attempt",
            "max_attempts",
            "created_at",
            "scheduled_at",
            "finalized_at",
        ]
    )
    assert list(JobError.__dataclass_fields__) == ["at", "error", "attempt"]
    assert (job.id, job.kind, job.queue, job.state, job.args) == (
        task.pk,
        BY_HAND.name,
        BY_HAND.queue,
        "retryable",
        {"note": 7},
    )
    assert [(e.error, e.attempt) for e in job.errors] == [("no " * 1000, 1)]
    assert job.errors[0].at.isoformat() == "2026-11-30T04:00:00+00:00"
    assert (job.attempt, job.max_attempts, job.finalized_at) == (1, 3, None)


def test_a_list_is_newest_first_and_cuts_long_errors(do: Any) -> None:
    first, second = failed(), in_state(State.COMPLETED)

    jobs = do("tasks.list").jobs

    assert [job.id for job in jobs] == [second.pk, first.pk]
    assert len(jobs[1].errors[0].error) == 500


@pytest.mark.parametrize("state", State.values)
def test_a_list_narrows_by_kind_and_state_together(do: Any, state: str) -> None:
    wanted = [in_state(state, kind=QUICK.name, queue="index").pk for _ in range(3)]
    for other in State.values:
        in_state(other)
    for other in set(State.values) - {state}:
        in_state(other, kind=QUICK.name, queue="index")

    both = do("tasks.list", kind=QUICK.name, state=state).jobs
    only_kind = do("tasks.list", kind=QUICK.name).jobs
    only_state = do("tasks.list", state=state).jobs

    assert [job.id for job in both] == wanted[::-1]
    assert {job.kind for job in only_kind} == {QUICK.name}
    assert len(only_kind) == 3 + 5
    assert {job.state for job in only_state} == {state}
    assert len(only_state) == 3 + 1


def test_a_list_ends_at_its_limit(do: Any) -> None:
    newest = [in_state(State.COMPLETED).pk for _ in range(4)][:1:-1]

    assert [job.id for job in do("tasks.list", limit="2").jobs] == newest
    assert [job.id for job in do("tasks.list", limit="2", state="completed").jobs] == newest
    for wrong in (0, -1, 501):
        with pytest.raises(BadInput, match="limit must be between 1 and 500"):
            do("tasks.list", limit=wrong)


def test_an_unknown_kind_or_state_is_refused_and_what_exists_is_named(do: Any) -> None:
    with pytest.raises(BadInput, match=r"no kind 'nothing'\. There are: .*owner\.notify.*probe\.quick"):
        do("tasks.list", kind="nothing")
    with pytest.raises(BadInput, match="no state 'odd'. There are: pending, running, retryable, completed"):
        do("tasks.list", state="odd")
    with pytest.raises(BadInput, match="no kind 'nothing'"):
        do("tasks.overview", kind="nothing")
    with pytest.raises(BadInput, match=r"no type 'nothing'\. There are: .*probe\.noticed"):
        do("events.list", type="nothing")


def test_a_kind_that_only_the_table_still_holds_can_be_asked_for(do: Any) -> None:
    old = in_state(State.COMPLETED, kind="probe.of_yesterday")
    running = in_state(State.RUNNING, kind="probe.of_the_day_before")

    assert [job.id for job in do("tasks.list", kind="probe.of_yesterday").jobs] == [old.pk]
    assert [job.id for job in do("tasks.list", kind="probe.of_the_day_before").jobs] == [running.pk]


@pytest.mark.parametrize("name", ["tasks.get", "tasks.retry", "tasks.cancel"])
def test_an_unknown_job_is_not_found(do: Any, name: str) -> None:
    with pytest.raises(NotFound, match="There is no job 12345678"):
        do(name, id=12345678)


def test_the_overview_counts_each_state_and_follows_the_kind(do: Any) -> None:
    for state in State.values:
        in_state(state)
    enqueue(QUICK, Probe(), delay=HOUR)

    everything, quick = do("tasks.overview"), do("tasks.overview", kind=QUICK.name)

    assert everything.counts == {**dict.fromkeys(State.values, 1), "pending": 2}
    assert quick.counts == {**dict.fromkeys(State.values, 0), "pending": 1}
    assert everything.more == []


def test_the_overview_stops_counting_at_ten_thousand_and_says_so(do: Any) -> None:
    Task.objects.bulk_create(
        Task(kind=QUICK.name, queue="index", args={}, max_attempts=3, scheduled_at=timezone.now() + HOUR)
        for _ in range(10_001)
    )

    overview = do("tasks.overview")

    assert (overview.counts["pending"], overview.more) == (10_000, ["pending"])


def test_the_overview_tells_how_long_the_oldest_due_job_has_waited(do: Any) -> None:
    in_state(State.PENDING, scheduled_at=timezone.now() - timedelta(seconds=90))
    in_state(State.PENDING, kind=QUICK.name, queue="index", scheduled_at=timezone.now() - timedelta(seconds=30))

    everything, quick, none = (
        do("tasks.overview"),
        do("tasks.overview", kind=QUICK.name),
        do("tasks.overview", kind="owner.notify"),
    )

    assert 90 <= everything.oldest_due_seconds < 100
    assert 30 <= quick.oldest_due_seconds < 40
    assert (none.oldest_due_seconds, none.next_due_at) == (None, None)


def test_where_nothing_is_due_the_overview_tells_when_the_next_job_is(do: Any) -> None:
    task = failed()

    overview = do("tasks.overview")

    assert (overview.oldest_due_seconds, overview.next_due_at) == (None, task.scheduled_at)


def test_the_overview_counts_the_workers_seen_in_the_last_minute_and_knows_its_tables(do: Any) -> None:
    someone_else()
    gone = Worker.objects.create(machine="m", group=uuid.uuid4(), host="h", pid=2, started=1, queue="index")
    Worker.objects.filter(pk=gone.pk).update(seen_at=timezone.now() - timedelta(seconds=61))

    overview: Overview = do("tasks.overview")

    assert overview.workers == 1
    assert [table.name for table in overview.tables] == ["tasks_task", "tasks_event", "tasks_delivery"]
    assert all(table.bytes > 0 for table in overview.tables)


def test_rows_that_nobody_counted_are_not_said_to_be_none(do: Any) -> None:
    def rows() -> int | None:
        return next(table.rows for table in do("tasks.overview").tables if table.name == "tasks_task")

    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE tasks_task CASCADE")
        in_state("completed")
        assert rows() is None

        cursor.execute("ANALYZE tasks_task")
        assert rows() == 1


def test_retry_and_cancel_answer_with_the_job_and_keep_who_did_it(do: Any, by: Caller) -> None:
    over, waiting = in_state(State.DISCARDED), in_state(State.RUNNING)

    retried = do("tasks.retry", id=over.pk)
    cancelled = do("tasks.cancel", id=f" {waiting.pk} ")

    assert (retried.state, cancelled.state) == ("pending", "cancelled")
    kept = TaskAction.objects.order_by("pk").values_list("task_id", "action", "before", "by", "via", "at")
    assert list(kept) == [
        (over.pk, "retry", "discarded", by.user.pk, "test", by.at),
        (waiting.pk, "cancel", "running", by.user.pk, "test", by.at),
    ]


def test_a_job_that_waits_for_its_next_try_is_due_at_once_after_retry_and_spends_nothing(do: Any) -> None:
    task = failed()

    job = do("tasks.retry", id=task.pk)

    assert (job.state, job.attempt, job.max_attempts) == ("retryable", 1, 3)
    assert job.scheduled_at <= timezone.now()
    assert TaskAction.objects.get().before == "retryable"
    with pytest.raises(WrongState, match="is retryable and due: it runs as soon as"):
        do("tasks.retry", id=task.pk)


@pytest.mark.parametrize(
    ("name", "state", "said"),
    [
        ("tasks.retry", State.COMPLETED, "is completed: only a discarded, cancelled or waiting job can be retried"),
        ("tasks.retry", State.RUNNING, "is running: only a discarded, cancelled or waiting job can be retried"),
        ("tasks.retry", State.PENDING, "is pending and due: it runs as soon as a worker of its queue is free"),
        ("tasks.cancel", State.COMPLETED, "is completed: only a job that has not ended can be cancelled"),
        ("tasks.cancel", State.CANCELLED, "is cancelled: only a job that has not ended can be cancelled"),
    ],
)
def test_what_a_job_cannot_become_is_refused_and_leaves_no_trace(do: Any, name: str, state: str, said: str) -> None:
    task = in_state(state)

    with pytest.raises(WrongState, match=f"Job {task.pk} {said}"):
        do(name, id=task.pk)

    assert Task.objects.get() == task
    assert not TaskAction.objects.exists()


def test_what_was_done_to_a_job_is_kept_as_long_as_its_row(do: Any) -> None:
    kept, pruned = in_state(State.PENDING), in_state(State.PENDING)
    for task in (kept, pruned):
        do("tasks.cancel", id=task.pk)
    Task.objects.filter(pk=pruned.pk).update(finalized_at=timezone.now() - timedelta(days=2))

    prune()

    assert [action.task_id for action in TaskAction.objects.all()] == [kept.pk]


def test_discarded_jobs_are_put_to_rest_until_they_are_discarded_again(do: Any) -> None:
    old = in_state(State.DISCARDED)
    in_state(State.COMPLETED)

    assert do("tasks.acknowledge") == Acknowledged(1)
    assert do("tasks.acknowledge") == Acknowledged(0)

    assert Task.objects.filter(acknowledged_at__isnull=False).get() == old
    assert TaskAction.objects.get().action == "acknowledge"
    do("tasks.retry", id=old.pk)
    assert Task.objects.get(pk=old.pk).acknowledged_at is None


@pytest.mark.parametrize("name", ["tasks.retry", "tasks.cancel", "tasks.acknowledge", "events.requeue"])
def test_who_may_only_look_cannot_change_anything(do: Any, name: str) -> None:
    reader = get_user_model().objects.create_user("reader@example.org", "a long password", full_name="R")
    reader.user_permissions.add(Permission.objects.get(codename="view_task", content_type__app_label="tasks"))
    given = {} if name == "tasks.acknowledge" else {"id": "1"}

    with pytest.raises(NotAllowed):
        do(name, Caller(reader, timezone.now(), "mcp"), **given)
    with pytest.raises(NotAllowed):
        do("tasks.list", Caller(None, timezone.now(), "mcp"))

    assert do("tasks.list", Caller(reader, timezone.now(), "mcp")).jobs == []


def test_an_event_is_listed_with_its_subscribers_and_the_state_of_their_jobs(
    do: Any, noticed: Event, by: Caller
) -> None:
    [event] = do("events.list").events

    job = Task.objects.get()
    assert (event.id, event.type, event.owner, event.subject) == (
        str(noticed.pk),
        "probe.noticed",
        by.user.pk,
        "thing/a bird",
    )
    assert (event.occurred_at, event.data) == (by.at, {"thing": "a bird"})
    assert [(s.kind, s.job_id, s.state) for s in event.subscribers] == [(HEARS.name, job.pk, "pending")]
    assert do("events.get", id=str(noticed.pk)) == event


def test_events_narrow_by_type_and_subject_newest_first(do: Any, by: Caller) -> None:
    with transaction.atomic():
        for n, (type, thing) in enumerate(((NOTICED, "a"), (IGNORED, "a"), (NOTICED, "b"), (NOTICED, "a"))):
            caller = Caller(by.user, by.at + timedelta(seconds=n), "test")
            record(type, Noticed(f"{thing}{n}"), caller, owner=by.user, subject=f"thing/{thing}")

    def things(**given: Any) -> list[str]:
        return [event.data["thing"] for event in do("events.list", **given).events]

    assert things() == ["a3", "b2", "a1", "a0"]
    assert things(type="probe.noticed") == ["a3", "b2", "a0"]
    assert things(subject="thing/a") == ["a3", "a1", "a0"]
    assert things(type="probe.noticed", subject="thing/a", limit=1) == ["a3"]


@pytest.mark.parametrize("name", ["events.get", "events.requeue"])
def test_an_unknown_event_is_not_found_and_a_wrong_id_is_bad_input(do: Any, name: str) -> None:
    with pytest.raises(NotFound, match="There is no event"):
        do(name, id=str(uuid.uuid4()))
    with pytest.raises(BadInput, match="is not an event's id"):
        do(name, id="41")


def test_an_event_whose_job_failed_is_sent_again_by_the_same_job(do: Any, noticed: Event) -> None:
    job = Task.objects.get()
    change("cancel", ids=[job.pk])

    sent = do("events.requeue", id=str(noticed.pk))

    assert sent.job_ids == [job.pk]
    assert sent.event.subscribers[0].state == "pending"
    assert TaskAction.objects.get().action == "retry"


def test_a_subscriber_that_never_had_a_job_gets_one(do: Any, noticed: Event) -> None:
    Delivery.objects.all().delete()
    Task.objects.all().delete()

    [job_id] = do("events.requeue", id=str(noticed.pk)).job_ids

    assert Delivery.objects.get(event=noticed).task_id == job_id == Task.objects.get().pk


@pytest.mark.parametrize("state", ["completed", "pending", "gone"])
def test_an_event_is_not_sent_to_who_has_it_or_is_about_to(do: Any, noticed: Event, state: str) -> None:
    if state == "completed":
        Task.objects.update(state=state, finalized_at=timezone.now())
    if state == "gone":
        Task.objects.all().delete()

    with pytest.raises(WrongState, match="Nothing was sent"):
        do("events.requeue", id=str(noticed.pk))

    assert do("events.get", id=str(noticed.pk)).subscribers[0].state == state
