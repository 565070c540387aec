"""The panel as a page: it keeps itself up to date, works without JavaScript, and holds long words."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from playwright.sync_api import expect

from tasks.events.record import record
from tasks.queue.alerts import Alert
from tasks.queue.models import Task
from tasks.queue.states import State
from tests.conftest import PASSWORD
from tests.e2e.panel import JOBS, row
from tests.probe.kinds import NOTICED, Noticed
from tests.probe.rows import in_state

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)


def test_the_list_stays_as_it_is_and_offers_newer_jobs(signed_in: Any, site: str) -> None:
    first = in_state(State.COMPLETED)
    signed_in.goto(site + JOBS)
    expect(row(signed_in, first.pk)).to_be_visible()

    second = in_state(State.COMPLETED)

    expect(signed_in.get_by_test_id("tasks-count-completed")).to_have_text("2")
    expect(row(signed_in, second.pk)).to_have_count(0)
    signed_in.get_by_test_id("tasks-newer").click()
    expect(row(signed_in, second.pk)).to_be_visible()


def test_a_hidden_page_asks_seldom_and_at_once_when_it_is_seen_again(signed_in: Any, site: str) -> None:
    polls: list[Any] = []
    signed_in.on("request", lambda request: polls.append(request) if "/rows/" in request.url else None)
    with signed_in.expect_request(lambda request: "/rows/" in request.url):
        signed_in.goto(site + JOBS)

    signed_in.evaluate("Object.defineProperty(document, 'hidden', {configurable: true, get: () => true})")
    asked = len(polls)
    signed_in.wait_for_timeout(5000)  # longer than two of its intervals
    hidden = len(polls) - asked
    with signed_in.expect_request(lambda request: "/rows/" in request.url, timeout=1500):
        signed_in.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")

    assert hidden == 0


def test_a_page_that_cannot_ask_says_so_until_it_can_again(signed_in: Any, site: str) -> None:
    signed_in.goto(site + JOBS)
    signed_in.route("**/rows/**", lambda route: route.abort())

    expect(signed_in.locator("#stale")).to_be_visible()
    signed_in.unroute("**/rows/**")

    expect(signed_in.locator("#stale")).to_be_hidden()
    signed_in.said.clear()  # Chromium notes the failed requests


def test_discarded_jobs_are_put_to_rest_from_their_alert(signed_in: Any, site: str, monkeypatch: Any) -> None:
    def alerts() -> list[Alert]:
        waiting = Task.objects.filter(state=State.DISCARDED, acknowledged_at=None).count()
        return [Alert("jobs_discarded", f"{waiting} jobs were discarded.", None)] if waiting else []

    monkeypatch.setattr("tasks.panel.queries.alerts", alerts)
    in_state(State.DISCARDED)
    signed_in.goto(site + JOBS)

    signed_in.get_by_test_id("tasks-acknowledge").click()

    expect(signed_in.get_by_test_id("toast-success")).to_have_text("1 discarded job is put to rest.")
    expect(signed_in.get_by_test_id("tasks-alert")).to_have_count(0)


def test_without_javascript_every_button_works(browser: Any, owner: Any, site: str) -> None:
    over, waiting = in_state(State.DISCARDED), in_state(State.RETRYABLE, scheduled_at=timezone.now() + HOUR)
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + JOBS)
    page.get_by_label("E-mail").fill(owner.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()

    row(page, over.pk).get_by_test_id("task-retry").click()
    expect(row(page, over.pk)).to_have_attribute("data-state", "pending")
    page.locator(f"#task-row-{waiting.pk}").get_by_role("checkbox").check()
    page.get_by_test_id("tasks-bulk-cancel").click()

    expect(row(page, waiting.pk)).to_have_attribute("data-state", "cancelled")
    context.close()


def test_a_row_leads_to_its_job_wherever_it_is_pressed(signed_in: Any, site: str) -> None:
    task = in_state(State.DISCARDED, args={"name": "x"})
    signed_in.goto(site + JOBS)

    row(signed_in, task.pk).click()

    expect(signed_in.get_by_test_id("task-detail")).to_have_attribute("data-job-id", str(task.pk))


@pytest.mark.parametrize("width", [390, 820, 1280])
def test_long_words_push_nothing_off_the_page(signed_in: Any, site: str, by: Any, width: int) -> None:
    errors = [{"at": timezone.now().isoformat(), "attempt": n, "error": "x" * 10_000} for n in (1, 2)]
    task = in_state(State.DISCARDED, kind="probe." + "k" * 90, args={"path": "y" * 5000}, errors=errors)
    with transaction.atomic():
        event = record(NOTICED, Noticed("z" * 3000), by, owner=by.user, subject="s" * 500)
    signed_in.set_viewport_size({"width": width, "height": 900})

    for path in (JOBS, f"{JOBS}{task.pk}/change/", "/admin/tasks/event/", f"/admin/tasks/event/{event.pk}/change/"):
        signed_in.goto(site + path)
        size = signed_in.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert size[0] <= size[1], path
