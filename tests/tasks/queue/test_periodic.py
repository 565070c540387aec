"""Periodic work: begun once a period whoever looks, in no burst after a pause, with what became of each run."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from tasks.declare import Nothing
from tasks.queue.control import cancel, retry
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.periodic import tick
from tasks.queue.periods import Period, Run
from tasks.queue.prune import RUNS_KEPT, prune, prune_tasks
from tasks.queue.timetable import timetable
from tasks.queue.transitions import change
from tests.probe.models import Effect
from tests.probe.periodic import HOUR, TICK

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("by_the_clock")]
NAMES = ["probe.fails", "probe.hangs", "probe.tick"]
SECOND = timedelta(seconds=1)


def pending() -> list[str]:
    return sorted(Task.objects.filter(state="pending").values_list("kind", flat=True))


def begun(ago: timedelta = timedelta(), **names: Any) -> None:
    """Everything has been begun, and is next due that long ago."""
    tick()
    Task.objects.all().delete()
    Period.objects.update(next_due=timezone.now() - ago)


def state_of(name: str) -> Any:
    return timetable([name])[0]


def test_everything_runs_soon_after_the_first_start() -> None:
    added = tick()

    assert len(added) == 3
    assert pending() == NAMES
    assert {round((p.next_due - p.since) / HOUR) for p in Period.objects.all()} == {1, 24}


def test_what_is_not_due_is_not_begun_again() -> None:
    tick()
    Task.objects.update(state="completed", finalized_at=timezone.now())

    assert tick() == []
    assert Run.objects.count() == 3


def test_a_period_that_is_due_is_begun_and_the_next_one_is_a_whole_period_after_it() -> None:
    begun(ago=SECOND)
    due_at = Period.objects.get(name="probe.tick").next_due

    tick()

    assert pending() == NAMES
    assert Period.objects.get(name="probe.tick").next_due == due_at + HOUR
    assert Run.objects.filter(name="probe.tick").latest("pk").due_at == due_at


def test_four_days_of_downtime_are_followed_by_one_run_and_then_by_the_next_period() -> None:
    begun(ago=timedelta(days=4, minutes=1))

    added = [tick(), tick(), tick()]

    assert [len(ids) for ids in added] == [3, 0, 0]
    again = Period.objects.get(name="probe.tick").next_due - timezone.now()
    assert HOUR - 10 * SECOND < again <= HOUR
    assert state_of("probe.tick").runs[0].missed == 96


def test_a_run_that_is_still_pending_is_not_doubled_by_the_next_period() -> None:
    tick()
    Period.objects.update(next_due=timezone.now() - SECOND)

    assert tick() == []
    assert pending() == NAMES
    assert Run.objects.count() == 3


def ticked_by(many: int) -> list[int]:
    """What so many threads added that looked at the same moment."""
    gate, added = threading.Barrier(many), list[int]()

    def look() -> None:
        gate.wait(10)
        added.extend(tick())
        connection.close()

    threads = [threading.Thread(target=look) for _ in range(many)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    return added


def test_many_who_look_at_once_begin_it_once() -> None:
    begun(ago=SECOND)

    added = ticked_by(8)

    assert len(added) == 3
    assert pending() == NAMES


def test_many_first_starts_at_once_begin_it_once() -> None:
    assert len(ticked_by(8)) == 3


def test_a_shortened_period_does_not_wait_for_the_old_one() -> None:
    begun()
    Period.objects.update(next_due=timezone.now() + timedelta(days=30))

    assert len(tick()) == 3
    assert state_of("probe.tick").next_run < timezone.now() + HOUR


def test_after_the_clock_was_put_back_a_run_that_is_still_pending_is_due_and_not_in_the_future() -> None:
    added = tick()
    Period.objects.update(next_due=timezone.now() + timedelta(days=4, hours=1))
    Task.objects.update(scheduled_at=timezone.now() + timedelta(days=4))

    assert tick() == []
    assert set(Task.objects.filter(scheduled_at__lte=timezone.now()).values_list("pk", flat=True)) == set(added)


def test_rows_of_what_nobody_declares_any_more_are_left_alone() -> None:
    tick()
    old = Period.objects.create(name="gone.work", since=timezone.now(), next_due=timezone.now() - HOUR)
    Run.objects.create(name="gone.work", job_id=1, asked_at=timezone.now(), state="completed")

    assert tick() == []
    old.refresh_from_db()
    assert [work.name for work in timetable()] == ["probe.tick", "probe.fails", "probe.hangs"]


def test_somebody_who_holds_a_period_for_long_holds_up_neither_us_nor_the_other_periods() -> None:
    begun(ago=SECOND)

    with connect("holder") as holder, holder.transaction():
        holder.execute("SELECT FROM tasks_period WHERE name = 'probe.tick' FOR UPDATE")
        first = tick()
    second = tick()

    assert (len(first), len(second)) == (2, 1)


def test_somebody_who_never_commits_the_same_task_holds_us_up_for_two_seconds_at_most(caplog: Any) -> None:
    begun(ago=SECOND)

    with connect("holder") as holder, holder.transaction():
        holder.execute(
            "INSERT INTO tasks_task (kind, queue, state, args, key, key_scope, attempt, max_attempts, claim, errors)"
            " VALUES ('probe.tick', 'maintenance', 'pending', '{}', 'probe.tick', 'while_pending', 0, 1, 0, '[]')"
        )
        first = tick()
    second = tick()

    assert (first, len(second)) == ([], 2)  # the holder's own is the third
    assert "could not be begun" in caplog.text
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == ("0",)


def test_a_run_that_is_done_is_shown_after_its_job_is_gone(work: Callable[[], list[str]]) -> None:
    enqueue_one()
    work()
    Task.objects.update(finalized_at=timezone.now() - timedelta(days=2))
    prune()

    shown = state_of("probe.tick")

    assert (shown.last_result, shown.last_reason) == ("completed", "")
    assert shown.runs[0].seconds is not None
    assert shown.last_run == shown.runs[0].started_at
    assert not Task.objects.exists()


def enqueue_one(name: str = "probe.tick") -> int:
    """Only this one is due."""
    tick()
    Task.objects.exclude(kind=name).delete()
    return Task.objects.get().pk


def test_a_run_that_failed_is_shown_with_its_reason(work: Callable[[], list[str]]) -> None:
    job_id = enqueue_one("probe.fails")

    work()

    shown = state_of("probe.fails")
    assert (shown.last_result, shown.last_reason, shown.job_id) == ("discarded", "the shelf is full", job_id)


def test_a_failed_run_that_the_owner_retries_is_shown_as_it_goes_on(work: Callable[[], list[str]]) -> None:
    job_id = enqueue_one("probe.fails")
    work()

    retry(job_id)

    waiting = state_of("probe.fails").runs[0]
    work()
    assert (waiting.job_id, waiting.state, waiting.reason) == (job_id, "pending", "")
    assert state_of("probe.fails").last_result == "discarded"
    assert Run.objects.filter(job_id=job_id).count() == 1


def test_a_run_that_was_cancelled_is_shown_as_such() -> None:
    cancel(enqueue_one())

    shown = state_of("probe.tick")

    assert (shown.last_result, shown.last_run) == ("cancelled", None)


def test_a_run_whose_job_was_deleted_is_shown_as_lost_and_not_as_running() -> None:
    tick()
    Task.objects.all().delete()

    shown = state_of("probe.tick")

    assert (shown.last_result, shown.is_live) == ("lost", False)


def test_a_run_is_shown_as_pending_and_as_running_while_it_is() -> None:
    job_id = enqueue_one()
    waiting = state_of("probe.tick").runs[0]
    [(worker,)] = enroll()
    change("claim", queue="maintenance", worker=worker, lease=60)

    running = state_of("probe.tick").runs[0]

    assert (waiting.job_id, waiting.state, waiting.started_at) == (job_id, "pending", None)
    assert (running.state, running.started_at is not None, running.finished_at) == ("running", True, None)


def enroll() -> list[Any]:
    from tasks.queue import sql

    group = "00000000-0000-0000-0000-000000000001"
    return sql.run("enroll", group=group, machine="test", host="test", pid=1, started=0, queue="maintenance")


def test_what_has_not_run_for_two_periods_is_overdue_and_what_has_is_not() -> None:
    begun()
    Run.objects.update(state="completed", finished_at=timezone.now() - 2 * HOUR - SECOND)

    assert [work.name for work in timetable() if work.overdue] == ["probe.tick"]
    Run.objects.update(state="completed", finished_at=timezone.now() - 2 * HOUR + 10 * SECOND)
    assert not [work.name for work in timetable() if work.overdue]


def test_what_never_ran_is_overdue_two_periods_after_it_was_first_seen() -> None:
    begun()
    Run.objects.all().delete()
    Period.objects.update(since=timezone.now() - 3 * HOUR)

    assert [work.name for work in timetable() if work.overdue] == ["probe.tick"]


def test_an_end_that_a_worker_of_another_version_wrote_is_kept_before_the_job_goes(
    work: Callable[[], list[str]],
) -> None:
    enqueue_one()
    Task.objects.update(state="completed", finalized_at=timezone.now() - timedelta(days=2))

    prune_tasks(Nothing())

    assert not Task.objects.exists()
    assert state_of("probe.tick").last_result == "completed"


def test_old_runs_go_and_the_latest_and_the_unended_stay() -> None:
    now = timezone.now()
    waiting = enqueue(TICK, Nothing(), key="probe.tick")
    first = Run.objects.create(name="probe.tick", job_id=waiting, asked_at=now)
    rows = [Run(name="probe.tick", job_id=-n, asked_at=now, state="completed") for n in range(1, RUNS_KEPT + 10)]
    Run.objects.bulk_create(rows)
    other = Run.objects.create(name="probe.fails", job_id=-1000, asked_at=now, state="discarded")

    prune_tasks(Nothing())

    left = set(Run.objects.values_list("pk", flat=True))
    assert left == {first.pk, other.pk, *(row.pk for row in rows[-RUNS_KEPT:])}
    assert Effect.objects.count() == 0
