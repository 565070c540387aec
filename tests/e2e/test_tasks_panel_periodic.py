"""Periodic work in the admin: what runs when, Run now, and earlier runs that outlive restarts and jobs."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tasks.queue.models import Task, Worker
from tasks.queue.periodic import tick
from tasks.queue.periods import Period, Run
from tasks.queue.prune import prune
from tests.conftest import PASSWORD
from tests.processes import WorkerProcess, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("by_the_clock")]
SECOND = timedelta(seconds=1)


@pytest.fixture
def start(start_worker: Callable[..., WorkerProcess]) -> Callable[..., WorkerProcess]:
    def start(catalog: str = "ONE") -> WorkerProcess:
        worker = start_worker(
            "maintenance=1", settings="tests.periodic_settings", PROBE_CATALOG=catalog, PROBE_LOOK="0.5"
        )
        until(Worker.objects.exists, what="the worker is whole")
        return worker

    return start


@pytest.fixture
def panel(signed_in, site):
    signed_in.goto(f"{site}/admin/")
    signed_in.get_by_role("link", name="Periodic work").first.click()
    return signed_in


def row_of(page, name: str):
    return page.locator(f'[data-testid="periodic-row"][data-name="{name}"]')


def last_run(row) -> str:
    return row.get_by_test_id("periodic-last-run").inner_text()


def test_each_declared_work_is_listed_before_it_ever_ran(panel) -> None:
    expect(panel.get_by_test_id("periodic-row")).to_have_count(3)

    row = row_of(panel, "probe.fails")

    expect(row.get_by_test_id("periodic-every")).to_have_text("every day")
    expect(row.get_by_test_id("periodic-last-run")).to_contain_text("never")
    expect(row.get_by_test_id("periodic-result")).to_have_text("not yet run")


def test_run_now_says_queued_and_moves_the_last_run_and_earlier_runs_stay_after_a_restart(start, panel) -> None:
    worker = start()
    row = row_of(panel, "probe.tick")
    expect(row.get_by_test_id("periodic-result")).to_have_attribute("data-state", "completed", timeout=30_000)
    first = last_run(row)

    row.get_by_test_id("periodic-run-now").click()

    expect(panel.get_by_test_id("toast-success").last).to_contain_text("queued")
    expect(row.get_by_test_id("periodic-last-run")).not_to_have_text(first, timeout=30_000)
    row.get_by_text("Earlier runs").click()
    expect(row.get_by_test_id("periodic-run")).to_have_count(2)
    expect(row.get_by_test_id("periodic-run").first).to_contain_text("asked for by Olga Owner")

    worker.stop()
    Task.objects.update(finalized_at=timezone.now() - timedelta(days=2))
    prune()
    start()
    panel.reload()

    row.get_by_text("Earlier runs").click()
    expect(row.get_by_test_id("periodic-run")).to_have_count(2)
    for run in row.get_by_test_id("periodic-run").all():
        expect(run).to_have_attribute("data-state", "completed")


def test_without_a_worker_the_page_says_so(start, panel) -> None:
    expect(panel.get_by_test_id("periodic-hint")).to_contain_text("No worker was seen")

    start()
    panel.reload()

    expect(panel.get_by_test_id("periodic-hint")).to_have_count(0)


def test_run_now_twice_leaves_one_pending(panel) -> None:
    row = row_of(panel, "probe.tick")

    row.get_by_test_id("periodic-run-now").click()
    expect(panel.get_by_test_id("toast-success")).to_contain_text("is queued")
    row.get_by_test_id("periodic-run-now").click()

    expect(panel.get_by_test_id("toast-success").last).to_contain_text("was queued already")
    expect(row.get_by_test_id("periodic-result")).to_have_text("queued")
    assert Task.objects.count() == Run.objects.count() == 1


def test_a_failed_run_is_shown_with_its_reason_without_a_reload(start, panel) -> None:
    row = row_of(panel, "probe.fails")

    start("CATALOG")

    expect(row.get_by_test_id("periodic-result")).to_have_attribute("data-state", "discarded", timeout=30_000)
    expect(row.get_by_test_id("periodic-reason")).to_have_text("the shelf is full")


def test_a_missed_time_is_told(panel) -> None:
    tick()
    Task.objects.all().delete()
    Period.objects.update(next_due=timezone.now() - timedelta(days=4, minutes=1))
    tick()
    panel.reload()

    row = row_of(panel, "probe.tick")
    row.get_by_text("Earlier runs").click()

    expect(row.get_by_test_id("periodic-run").first).to_contain_text("after 96 missed periods")


def test_what_is_overdue_says_so(panel) -> None:
    tick()
    Period.objects.update(since=timezone.now() - timedelta(hours=3))
    panel.reload()

    expect(row_of(panel, "probe.tick").get_by_test_id("periodic-overdue")).to_be_visible()
    expect(row_of(panel, "probe.fails").get_by_test_id("periodic-overdue")).to_have_count(0)


def test_an_open_list_of_runs_stays_open_and_the_button_keeps_the_focus_when_something_changes(panel) -> None:
    tick()
    panel.reload()
    row = row_of(panel, "probe.tick")
    row.get_by_text("Earlier runs").click()
    row.get_by_test_id("periodic-run-now").focus()

    Task.objects.update(state="completed", finalized_at=timezone.now(), claimed_at=timezone.now())

    expect(row.get_by_test_id("periodic-result")).to_have_attribute("data-state", "completed")
    expect(row.get_by_test_id("periodic-run")).to_be_visible()
    expect(row.get_by_test_id("periodic-run-now")).to_be_focused()


def test_without_javascript_run_now_works_too(browser, owner, site) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/admin/tasks/period/")
    page.get_by_label("E-mail").fill(owner.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()

    row_of(page, "probe.tick").get_by_test_id("periodic-run-now").click()

    expect(page.get_by_test_id("toast-success")).to_contain_text("is queued")
    expect(row_of(page, "probe.tick").get_by_test_id("periodic-result")).to_have_text("queued")
    assert Task.objects.count() == 1
    context.close()


def test_somebody_who_may_not_see_jobs_sees_no_periodic_work(client, owner) -> None:
    owner.is_superuser = False
    owner.save()
    client.force_login(owner)

    assert client.get("/admin/tasks/period/").status_code == 403
    assert client.get("/admin/tasks/period/rows/").status_code == 286
    assert client.post("/admin/tasks/period/probe.tick/run/").status_code == 403
    assert "Periodic work" not in client.get("/admin/").text


def test_running_what_nobody_declares_is_a_404_with_a_sentence(client, owner) -> None:
    client.force_login(owner)

    answer = client.post("/admin/tasks/period/gone.work/run/")

    assert (answer.status_code, answer.text.partition(". ")[0]) == (404, "There is no periodic work gone.work")


def test_somebody_who_may_only_look_is_offered_no_run_now(client, owner) -> None:
    from django.contrib.auth.models import Permission

    owner.is_superuser = False
    owner.save()
    owner.user_permissions.add(Permission.objects.get(content_type__app_label="tasks", codename="view_task"))
    client.force_login(owner)

    page = client.get("/admin/tasks/period/")

    assert "periodic-row" in page.text
    assert "periodic-run-now" not in page.text
