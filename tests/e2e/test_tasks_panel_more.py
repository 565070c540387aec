"""What a row says while its mail is on the way, and the link to its job. Parts (a), (b), (d); (c) is of listings."""

import pytest
from playwright.sync_api import expect

from requests_app.models import AccessRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def row(ask, signed_in, site):
    request = ask()
    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    return signed_in.get_by_test_id(f"request-row-{request.pk}")


def test_an_approved_row_says_sending_and_then_sent_without_a_reload(worker, supplier, smtp, row) -> None:
    smtp.hang(1, at="dot")

    row.get_by_test_id("request-approve").click()

    chip = row.get_by_test_id("request-mail-state")
    expect(chip).to_have_attribute("data-state", "sending")
    assert AccessRequest.objects.get().status == "open"
    expect(chip).to_have_attribute("data-state", "sent", timeout=30_000)
    expect(row.get_by_test_id("request-status")).to_have_attribute("data-status", "replied")
    assert AccessRequest.objects.get().status == "replied"


def test_the_page_stops_asking_when_every_chip_is_final(worker, supplier, row, signed_in) -> None:
    polls = []
    signed_in.on("request", lambda request: polls.append(request) if "/rows/" in request.url else None)

    with signed_in.expect_response(lambda answer: "/rows/" in answer.url and answer.status == 286, timeout=30_000):
        row.get_by_test_id("request-approve").click()

    expect(row.get_by_test_id("request-mail-state")).to_have_attribute("data-state", "sent")
    asked = len(polls)
    signed_in.wait_for_timeout(2500)  # longer than two of its intervals
    assert len(polls) == asked


def test_a_refused_mail_says_failed_with_its_reason_and_is_sent_by_retry(worker, supplier, smtp, row) -> None:
    smtp.fail(550, text="5.1.1 Mailbox unknown")

    row.get_by_test_id("request-approve").click()

    chip = row.get_by_test_id("request-mail-state")
    expect(chip).to_have_attribute("data-state", "failed", timeout=30_000)
    expect(row.get_by_test_id("request-mail-state-reason")).to_contain_text("Mailbox unknown")
    expect(row.get_by_test_id("request-status")).to_have_attribute("data-status", "open")
    smtp.heal()

    row.get_by_test_id("request-retry").click()

    expect(chip).to_have_attribute("data-state", "sent", timeout=30_000)
    expect(row.get_by_test_id("request-status")).to_have_attribute("data-status", "replied")
    assert AccessRequest.objects.get().status == "replied"


def test_a_mail_that_is_put_off_says_when_it_is_tried_next(worker, supplier, smtp, row) -> None:
    smtp.fail(451, text="4.3.0 busy")

    row.get_by_test_id("request-approve").click()

    expect(row).to_contain_text("next try at", timeout=30_000)
    expect(row.get_by_test_id("request-mail-state")).to_have_attribute("data-state", "sending")
    expect(row.get_by_test_id("request-mail-state-reason")).to_contain_text("busy")


def test_without_javascript_the_chip_shows_its_state_on_reload(
    worker, supplier, smtp, ask, browser, owner, site
) -> None:
    from tests.conftest import PASSWORD

    request = ask()
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{site}/admin/requests/accessrequest/?status=all")
    page.get_by_label("E-mail").fill(owner.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()

    page.get_by_test_id("request-approve").click()

    expect(page.get_by_test_id("toast-success")).to_contain_text("is issued")
    smtp.wait_for(1)
    chip = page.get_by_test_id(f"request-row-{request.pk}").get_by_test_id("request-mail-state")
    while chip.get_attribute("data-state") != "sent":
        page.reload()
    context.close()


def test_a_link_to_a_job_opens_its_detail_on_load(worker, supplier, smtp, row, signed_in, site) -> None:
    smtp.fail(550, text="5.1.1 Mailbox unknown")
    row.get_by_test_id("request-approve").click()
    expect(row.get_by_test_id("request-mail-state")).to_have_attribute("data-state", "failed", timeout=30_000)
    job = AccessRequest.objects.get().mail_job_id

    row.get_by_test_id("request-mail-state-job").click()

    detail = signed_in.get_by_test_id("task-detail")
    expect(detail).to_have_attribute("data-job-id", str(job))
    expect(detail.get_by_test_id("task-attempt-error")).to_contain_text("Mailbox unknown")
    signed_in.goto(f"{site}/admin/tasks/task/{job}/change/")
    expect(detail).to_have_attribute("data-state", "discarded")
    detail.get_by_test_id("task-serves").click()
    expect(row).to_be_visible()
    signed_in.goto(f"{site}/admin/tasks/task/{job + 1000}/change/")
    expect(signed_in.get_by_test_id("task-gone")).to_be_visible()
    signed_in.said.clear()  # Chromium notes the 404
