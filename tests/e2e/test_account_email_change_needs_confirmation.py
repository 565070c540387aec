import re

import pytest
from playwright.sync_api import expect

from accounts.models import Owner, PendingEmail
from tests.conftest import PASSWORD
from tests.e2e.account import ask_for, open_account, signs_in

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_new_address_signs_in_only_when_its_link_was_confirmed(
    worker, supplier, smtp, signed_in, visitor_page, site
) -> None:
    open_account(signed_in, site)
    expect(signed_in.get_by_test_id("account-email-block")).to_contain_text("must be confirmed")

    ask_for(signed_in, "new@example.org")

    expect(signed_in.get_by_test_id("toast-success")).to_contain_text("queued")
    pending = signed_in.get_by_test_id("account-email-pending")
    expect(pending).to_contain_text("new@example.org")
    chip = signed_in.get_by_test_id("account-email-pending-mail")
    expect(chip).to_have_attribute("data-state", re.compile("sending|sent"))
    expect(chip).to_have_attribute("data-state", "sent", timeout=30_000)
    assert signs_in("olga@example.org", PASSWORD)
    assert not signs_in("new@example.org", PASSWORD)

    [mail] = smtp.mails
    assert mail.envelope_to == ["new@example.org"]
    link = re.search(r"http\S+/email/\S+", mail.get_content())[0]
    for _ in range(2):
        visitor_page.goto(link)
    expect(visitor_page.locator("main")).to_contain_text("new@example.org")
    assert PendingEmail.objects.exists()
    visitor_page.get_by_test_id("email-confirm").click()
    expect(visitor_page.get_by_test_id("email-confirmed")).to_be_visible()
    assert signs_in("new@example.org", PASSWORD)
    assert not signs_in("olga@example.org", PASSWORD)

    visitor_page.goto(link)
    expect(visitor_page.get_by_test_id("email-confirm-invalid")).to_be_visible()
    signed_in.reload()
    expect(signed_in.get_by_test_id("account-email-present")).to_have_text("new@example.org")
    smtp.wait_for(2)
    notice = smtp.mails[1]
    assert notice.envelope_to == ["olga@example.org"]
    assert "n***@example.org" in notice.get_content()
    assert "new@example.org" not in notice.get_content()
    assert "restore_email --address olga@example.org" in notice.get_content()
    assert Owner.objects.get().email == "new@example.org"
