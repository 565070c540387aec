"""The owner sees what the queue does, and retries and cancels in the Tasks panel."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import expect

from tasks.events.record import record
from tasks.queue.control import retry
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, TaskAction
from tasks.queue.states import State
from tests.e2e.panel import JOBS, row
from tests.probe.kinds import ENGINE, HEARS, IGNORED, NOTICED, QUICK, Noticed, Probe
from tests.probe.models import Effect
from tests.probe.rows import begun, completed, ended, in_state
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """The engine is up when this file is there."""
    return tmp_path / "engine"


@pytest.fixture
def failing(worker: Any, engine: Path) -> list[int]:
    """Three jobs whose engine is down, each after its first attempt."""
    ids = [enqueue(ENGINE, Probe(f"note {n}", text=str(engine))) for n in range(3)]
    until(lambda: Task.objects.filter(state=State.RETRYABLE).count() == 3, what="all have failed once")
    return ids


def test_the_overview_and_the_filters_show_what_fails(failing: list[int], signed_in: Any, site: str) -> None:
    in_state(State.PENDING, scheduled_at=timezone.now() - timedelta(seconds=90))
    done = completed("other").pk

    signed_in.goto(site + JOBS)

    expect(signed_in.get_by_test_id("tasks-count-retryable")).to_have_text("3")
    expect(signed_in.get_by_test_id("tasks-count-completed")).to_have_text("1")
    expect(signed_in.get_by_test_id("tasks-oldest-pending")).to_contain_text("1 min 3")
    expect(row(signed_in, done)).to_be_visible()
    signed_in.get_by_label("Kind", exact=True).select_option(ENGINE.name)
    signed_in.get_by_label("State", exact=True).select_option("retryable")
    signed_in.get_by_test_id("tasks-filter").click()
    rows = signed_in.get_by_test_id("tasks-row")
    expect(rows).to_have_count(3)
    assert {r.get_attribute("data-kind") for r in rows.all()} == {ENGINE.name}
    expect(signed_in.get_by_test_id("tasks-count-completed")).to_have_text("0")
    expect(signed_in.get_by_test_id("tasks-oldest-pending")).to_contain_text("none; next in ")
    signed_in.get_by_test_id("tasks-count-completed").click()
    expect(signed_in.get_by_test_id("tasks-empty")).to_contain_text("No job is like that now")


def test_the_detail_shows_the_error_of_each_attempt_and_the_next_try(
    failing: list[int], signed_in: Any, site: str
) -> None:
    retry(failing[0])
    until(lambda: len(Task.objects.get(pk=failing[0]).errors) == 2, what="it has failed again")
    signed_in.goto(site + JOBS)

    row(signed_in, failing[0]).get_by_test_id("task-link").click()

    detail = signed_in.get_by_test_id("task-detail")
    expect(detail.get_by_test_id("task-state")).to_have_attribute("data-state", "retryable")
    errors = detail.get_by_test_id("task-attempt-error")
    expect(errors).to_have_count(2)
    expect(errors.first).to_contain_text("Attempt 2")
    expect(errors.first).to_contain_text("the engine does not answer")
    expected = Task.objects.get(pk=failing[0]).scheduled_at.isoformat(timespec="seconds")
    assert detail.get_by_test_id("task-next-retry").get_attribute("datetime").startswith(expected[:19])


def test_a_cancelled_job_never_has_its_effect_and_a_retried_one_has(
    failing: list[int], engine: Path, signed_in: Any, site: str, owner: Any
) -> None:
    signed_in.goto(f"{site}{JOBS}?kind={ENGINE.name}")
    cancelled, retried, left = failing

    row(signed_in, cancelled).get_by_test_id("task-cancel").click()
    expect(row(signed_in, cancelled)).to_have_attribute("data-state", "cancelled")
    engine.touch()
    row(signed_in, retried).get_by_test_id("task-retry").click()

    expect(row(signed_in, retried)).to_have_attribute("data-state", "completed", timeout=15_000)
    expect(row(signed_in, left)).to_have_attribute("data-state", "retryable")
    expect(signed_in.get_by_test_id("tasks-count-cancelled")).to_have_text("1")
    expect(signed_in.get_by_test_id("tasks-count-completed")).to_have_text("1")
    completed("sentinel")
    assert set(Effect.objects.values_list("name", flat=True)) == {"note 1", "sentinel"}
    row(signed_in, retried).get_by_test_id("task-link").click()
    expect(signed_in.get_by_test_id("task-action")).to_contain_text(f"Retried by {owner}")


def test_a_discarded_job_is_retried_from_its_page_and_followed_to_its_end(
    worker: Any, engine: Path, signed_in: Any, site: str
) -> None:
    errors = [{"at": timezone.now().isoformat(), "attempt": 1, "error": "no " * 4000}]
    args = {"name": "late", "text": str(engine), "do": "", "seconds": 0.0, "times": 0}
    task = in_state(State.DISCARDED, kind=ENGINE.name, queue="index", errors=errors, args=args)
    signed_in.goto(f"{site}{JOBS}{task.pk}/change/")
    engine.touch()

    signed_in.get_by_test_id("task-retry").focus()
    signed_in.keyboard.press("Enter")

    expect(signed_in.get_by_test_id("toast-success")).to_contain_text(f"Job {task.pk} is queued")
    expect(signed_in.get_by_test_id("task-state")).to_have_attribute("data-state", "completed", timeout=15_000)
    expect(signed_in.get_by_test_id("task-retry")).to_have_count(0)
    expect(signed_in.get_by_test_id("task-attempt-error")).to_have_count(1)
    assert Effect.objects.get().name == "late"


def test_a_job_cancelled_while_it_runs_says_that_its_effect_may_have_happened(
    worker: Any, tmp_path: Path, signed_in: Any, site: str
) -> None:
    gate = tmp_path / "gate"
    id = enqueue(QUICK, Probe("running", "until", str(gate)))
    begun("running")
    signed_in.goto(f"{site}{JOBS}{id}/change/")
    expect(signed_in.get_by_test_id("task-state")).to_have_attribute("data-state", "running")

    signed_in.get_by_test_id("task-cancel").click()

    expect(signed_in.get_by_test_id("toast-success")).to_contain_text("its effect may have happened")
    expect(signed_in.get_by_test_id("task-may-have-acted")).to_be_visible()
    gate.touch()
    until(lambda: f"task {id} was ended or taken over" in worker.log.read_text(), what="its handler has ended")
    assert ended(id).state == State.CANCELLED


def test_in_two_tabs_the_second_press_is_told_what_became_of_the_job(signed_in: Any, site: str) -> None:
    task = in_state(State.DISCARDED)
    other = signed_in.context.new_page()
    for tab in (signed_in, other):
        tab.goto(site + JOBS)
    other.evaluate("document.getElementById('rows-poll').remove()")

    row(signed_in, task.pk).get_by_test_id("task-retry").click()
    expect(signed_in.get_by_test_id("toast-success")).to_be_visible()
    row(other, task.pk).get_by_test_id("task-retry").click()

    expect(other.get_by_test_id("toast-error")).to_contain_text("is pending and due")
    expect(row(other, task.pk)).to_have_attribute("data-state", "pending")
    assert TaskAction.objects.count() == 1
    other.close()


def test_ticked_jobs_are_retried_together_and_by_key(signed_in: Any, site: str) -> None:
    ids = [in_state(State.DISCARDED).pk for _ in range(3)]
    signed_in.goto(site + JOBS)
    signed_in.get_by_label("All on this page").focus()
    signed_in.keyboard.press("Space")
    row_of_first = signed_in.locator(f"#task-row-{ids[0]}")
    row_of_first.get_by_role("checkbox").uncheck()

    signed_in.get_by_test_id("tasks-bulk-retry").focus()
    signed_in.keyboard.press("Enter")

    expect(signed_in.get_by_test_id("toast-success")).to_have_text("2 jobs queued again.")
    expect(signed_in.get_by_test_id("tasks-count-pending")).to_have_text("2")
    expect(row(signed_in, ids[0])).to_have_attribute("data-state", "discarded")
    for id in ids[1:]:
        expect(row(signed_in, id)).to_have_attribute("data-state", "pending")


def test_the_event_of_a_change_appears_with_its_subscriber_and_its_jobs_state(
    worker: Any, signed_in: Any, site: str, by: Any
) -> None:
    with transaction.atomic():
        event = record(NOTICED, Noticed("a bird"), by, owner=by.user, subject="thing/a bird")
        record(IGNORED, Noticed("a bee"), by, owner=by.user, subject="thing/a bee")

    signed_in.goto(f"{site}/admin/tasks/event/")

    shown = signed_in.locator(f'[data-testid="event-row"][data-event-id="{event.pk}"]')
    fanout = shown.get_by_test_id("event-fanout")
    expect(fanout).to_contain_text(HEARS.name)
    expect(fanout.locator("li")).to_have_attribute("data-state", "completed", timeout=15_000)
    fanout.get_by_role("link").click()
    expect(signed_in.get_by_test_id("task-detail")).to_have_attribute("data-kind", HEARS.name)
    signed_in.get_by_test_id("task-event").click()
    expect(signed_in.get_by_test_id("event-row")).to_have_attribute("data-event-id", str(event.pk))


def test_an_event_whose_job_failed_is_requeued(worker: Any, signed_in: Any, site: str, by: Any) -> None:
    with transaction.atomic():
        event = record(NOTICED, Noticed("a bird"), by, owner=by.user, subject="thing/a bird")
    job = Task.objects.get(kind=HEARS.name).pk
    ended(job)
    Task.objects.filter(pk=job).update(state=State.DISCARDED)
    Effect.objects.all().delete()
    signed_in.goto(f"{site}/admin/tasks/event/{event.pk}/change/")

    signed_in.get_by_test_id("event-requeue").click()

    fanout = signed_in.get_by_test_id("event-fanout").locator("li")
    expect(fanout).to_have_attribute("data-state", "completed", timeout=15_000)
    assert Effect.objects.get().name == str(event.pk)
