from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import Owner, PendingEmail
from tasks.models import Task
from tests.conftest import PASSWORD
from tests.e2e.account import ask_for, link_in, open_account, signs_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def account(signed_in, site):
    open_account(signed_in, site)
    return signed_in


def test_while_a_change_is_pending_the_recovery_mail_goes_to_the_old_address(worker, supplier, smtp, account) -> None:
    ask_for(account, "new@example.org")
    smtp.wait_for(1)

    account.get_by_test_id("recovery-generate").click()

    expect(account.get_by_test_id("toast-success")).to_contain_text("sent to olga@example.org")
    assert [mail.envelope_to for mail in smtp.mails] == [["new@example.org"], ["olga@example.org"]]


def test_cancelling_hides_the_row_and_clears_it(worker, supplier, smtp, account, visitor_page) -> None:
    ask_for(account, "new@example.org")
    smtp.wait_for(1)

    account.get_by_test_id("account-email-pending-cancel").click()

    expect(account.get_by_test_id("toast-success")).to_contain_text("stays olga@example.org")
    expect(account.get_by_test_id("account-email-pending")).to_have_count(0)
    assert not PendingEmail.objects.exists()
    visitor_page.goto(link_in(smtp.mails[0]))
    expect(visitor_page.get_by_test_id("email-confirm-invalid")).to_be_visible()


def test_a_second_change_replaces_the_first(worker, supplier, smtp, account, visitor_page) -> None:
    ask_for(account, "first@example.org")
    smtp.wait_for(1)
    ask_for(account, "second@example.org")
    smtp.wait_for(2)

    expect(account.get_by_test_id("account-email-pending")).to_contain_text("second@example.org")
    visitor_page.goto(link_in(smtp.mails[0]))
    expect(visitor_page.get_by_test_id("email-confirm-invalid")).to_be_visible()
    visitor_page.goto(link_in(smtp.mails[1]))
    visitor_page.get_by_test_id("email-confirm").click()
    expect(visitor_page.get_by_test_id("email-confirmed")).to_contain_text("confirmed")
    assert Owner.objects.get().email == "second@example.org"


def test_every_mail_of_a_change_that_is_sent_again_confirms(worker, supplier, smtp, account, visitor_page) -> None:
    ask_for(account, "new@example.org")
    smtp.wait_for(1)
    expect(account.get_by_test_id("account-email-pending-mail")).to_have_attribute("data-state", "sent", timeout=30_000)
    account.get_by_test_id("account-email-pending-resend").click()
    expect(account.get_by_test_id("toast-success")).to_contain_text("queued")
    smtp.wait_for(2)

    visitor_page.goto(link_in(smtp.mails[1]))
    expect(visitor_page.get_by_test_id("email-confirm")).to_be_visible()
    visitor_page.goto(link_in(smtp.mails[0]))
    visitor_page.get_by_test_id("email-confirm").click()

    expect(visitor_page.get_by_test_id("email-confirmed")).to_be_visible()


def test_an_expired_link_says_so(worker, supplier, smtp, account, visitor_page) -> None:
    ask_for(account, "new@example.org")
    smtp.wait_for(1)
    visitor_page.goto(link_in(smtp.mails[0]))
    PendingEmail.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

    visitor_page.get_by_test_id("email-confirm").click()
    expect(visitor_page.get_by_test_id("email-confirm-expired")).to_be_visible()
    visitor_page.goto(link_in(smtp.mails[0]))
    expect(visitor_page.get_by_test_id("email-confirm-expired")).to_be_visible()
    assert Owner.objects.get().email == "olga@example.org"


@pytest.mark.parametrize("token", ["nonsense", "x" * 2000, "%00", "..%2f..", "'\"<script>"])
def test_nonsense_is_an_invalid_link_without_technical_text(owner, visitor_page, site, token) -> None:
    answer = visitor_page.goto(f"{site}/email/{token}/")

    assert answer.status == 404
    if "%2f" not in token:
        expect(visitor_page.get_by_test_id("email-confirm-invalid")).to_be_visible()
    assert "Traceback" not in visitor_page.content()


def test_a_pending_change_survives_a_change_of_the_password(worker, supplier, smtp, account) -> None:
    ask_for(account, "new@example.org")
    account.get_by_test_id("account-password-current").fill(PASSWORD)
    account.get_by_test_id("account-password-new").fill("another fine password")
    account.get_by_test_id("account-password-confirm").fill("another fine password")
    account.get_by_test_id("account-password-save").click()

    expect(account.get_by_test_id("toast-success")).to_contain_text("new password")
    expect(account.get_by_test_id("account-email-pending")).to_contain_text("new@example.org")
    assert signs_in("olga@example.org", "another fine password")
    assert not signs_in("olga@example.org", PASSWORD)


def test_a_stale_job_sends_nothing(supplier, smtp, account, work) -> None:
    ask_for(account, "new@example.org")
    account.get_by_test_id("account-email-pending").wait_for()
    account.get_by_test_id("account-email-pending-cancel").click()
    expect(account.get_by_test_id("account-email-pending")).to_have_count(0)

    assert work() == ["owner.email_confirmation"]

    assert smtp.mails == []
    assert Task.objects.get().state == "discarded"
