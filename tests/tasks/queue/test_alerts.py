"""What the owner is told is wrong with the queue, and that nothing is said when all is well."""

import logging
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from tasks.declare import Nothing
from tasks.queue import completion
from tasks.queue.alerts import Alert, alerts, log_alerts, span
from tasks.queue.listener import Listener
from tasks.queue.models import Task, Worker
from tasks.queue.periodic import tick
from tasks.queue.periods import Period, Run
from tests.probe.rows import in_state

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


@pytest.fixture
def workers() -> None:
    """A worker of every queue was seen just now."""
    for queue, size in settings.QUEUES.items():
        if size:
            Worker.objects.create(group=uuid4(), machine="here", host="here", pid=1, started=1, queue=queue)


@pytest.fixture
def well(workers: None) -> None:
    """Nothing is wrong."""
    assert alerts() == []


def one() -> Alert:
    [alert] = alerts()
    return alert


def test_all_is_well_with_workers_and_work_that_goes_on(workers: None) -> None:
    for state in ("pending", "running", "retryable", "completed", "cancelled"):
        in_state(state, queue="notify")

    assert alerts() == []


def test_discarded_jobs_are_told_until_somebody_acknowledges_them(well: None) -> None:
    first = in_state("discarded", finalized_at=timezone.now() - 3 * DAY)
    in_state("discarded")

    alert = one()

    assert (alert.name, alert.since) == ("jobs_discarded", first.finalized_at)
    assert alert.sentence.startswith("2 jobs failed for good")
    Task.objects.update(acknowledged_at=timezone.now())
    assert alerts() == []


def test_a_job_that_was_discarded_more_than_a_week_ago_is_not_told(well: None) -> None:
    in_state("discarded", finalized_at=timezone.now() - 7 * DAY - SECOND)

    assert alerts() == []


@pytest.mark.parametrize("state", ["pending", "retryable"])
def test_a_due_job_that_waits_for_over_a_minute_is_told(well: None, state: str) -> None:
    late = in_state(state, queue="notify", scheduled_at=timezone.now() - 61 * SECOND)
    in_state(state, queue="index", scheduled_at=timezone.now() - 55 * SECOND)
    in_state(state, queue="index", scheduled_at=timezone.now() + DAY)

    alert = one()

    assert (alert.name, alert.since) == ("queue_late", late.scheduled_at)
    assert "notify for 61 s" in alert.sentence
    assert "WORKER_NOTIFY" in alert.sentence
    assert "index" not in alert.sentence


def test_of_a_late_queue_without_a_worker_it_says_to_start_one(well: None) -> None:
    in_state("pending", queue="notify", scheduled_at=timezone.now() - timedelta(hours=3))
    Worker.objects.filter(queue="notify").delete()

    assert "notify for 3 h. No worker works on notify: start one" in one().sentence


def test_a_queue_of_size_0_is_never_late(well: None) -> None:
    assert settings.QUEUES["webhook"] == 0
    in_state("pending", queue="webhook", scheduled_at=timezone.now() - DAY)

    assert alerts() == []


def test_no_worker_for_a_minute_is_told_with_since_when(workers: None) -> None:
    Worker.objects.update(seen_at=timezone.now() - 61 * SECOND)

    alert = one()

    assert alert.name == "no_worker"
    assert alert.since == Worker.objects.first().seen_at  # type: ignore[union-attr]
    assert "for 61 s" in alert.sentence


def test_no_worker_at_all_is_told() -> None:
    assert (one().name, one().since) == ("no_worker", None)


def test_one_worker_that_was_seen_is_enough(workers: None) -> None:
    Worker.objects.exclude(queue="fetch").delete()

    assert alerts() == []


@pytest.mark.usefixtures("by_the_clock")
def test_periodic_work_that_did_not_run_for_two_periods_is_told(workers: None) -> None:
    tick()
    Task.objects.all().delete()
    Run.objects.all().delete()
    Period.objects.update(since=timezone.now() - timedelta(hours=2, seconds=1))

    alert = one()

    assert (alert.name, alert.sentence.partition(". ")[0]) == (
        "periodic_overdue",
        "Periodic work has not run for two periods: probe.tick",
    )
    assert alert.since == Period.objects.get(name="probe.tick").since + timedelta(hours=1)


def test_a_process_that_waits_by_polling_says_so(well: None) -> None:
    lost = completion.waits().listener = Listener(completion.waits().tally)
    assert alerts() == []  # it has just begun to connect

    lost.down_since = timezone.now() - 3 * SECOND

    assert (one().name, one().since) == ("listener_down", lost.down_since)
    completion.waits().listener = None
    lost.waker.close()
    lost.awake.close()


def test_a_process_that_listens_or_never_waited_does_not_say_so(well: None) -> None:
    task = in_state("completed")

    completion.wait([task.pk], 5)

    assert alerts() == []


def test_the_check_writes_them_to_the_log(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING):
        log_alerts(Nothing())

    assert "alert no_worker: No worker was seen in the last minute" in caplog.text


@pytest.mark.parametrize(
    ("seconds", "said"), [(59.6, "60 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (4 * 86400, "4 days")]
)
def test_lengths_of_time_are_said_in_their_largest_unit(seconds: float, said: str) -> None:
    assert span(timedelta(seconds=seconds)) == said


def test_each_look_at_the_tasks_goes_by_an_index(well: None) -> None:
    from tasks.queue.sql import statement

    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tasks_task (kind, queue, state, args, attempt, max_attempts, claim, errors, created_at,"
            " scheduled_at, finalized_at) SELECT 'k', 'notify', 'completed', '{}', 1, 1, 1, '[]', now(), now(), now()"
            " FROM generate_series(1, 20000)"
        )
        cursor.execute("ANALYZE tasks_task")
        plans = []
        for name, params in (("unacknowledged", {"limit": 1000}), ("oldest_due", {"queues": ["notify", "index"]})):
            cursor.execute("EXPLAIN " + statement(name), params)
            plans += [line for (line,) in cursor.fetchall()]

    scans = [line for line in plans if "tasks_task" in line]
    assert len(scans) == 2
    assert all("Index" in line for line in scans), plans
