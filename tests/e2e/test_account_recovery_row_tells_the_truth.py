import re

import pytest
from playwright.sync_api import expect

from tasks.models import Event
from tests.e2e.account import open_account, signs_in

pytestmark = pytest.mark.django_db(transaction=True)


def phrase_in(mail) -> str:
    """26 base32 characters in groups of four, on a line of their own."""
    lines = mail.get_content().splitlines()
    return next(line for line in lines if re.fullmatch(r"[a-z2-7]{4}(-[a-z2-7]{4}){5}-[a-z2-7]{2}", line))


def test_the_phrase_is_mailed_at_once_and_signs_in_once(supplier, smtp, signed_in, visitor_page, site) -> None:
    open_account(signed_in, site)
    expect(signed_in.get_by_test_id("recovery-generate")).to_be_enabled()

    signed_in.get_by_test_id("recovery-generate").click()

    expect(signed_in.get_by_test_id("toast-success")).to_contain_text("sent to olga@example.org")
    [mail] = smtp.mails
    phrase = phrase_in(mail)
    for _ in range(2):
        visitor_page.goto(f"{site}/recover/")
        visitor_page.get_by_label("E-mail").fill("Olga@Example.org")
        visitor_page.get_by_label("Recovery phrase").fill(phrase.upper())
        visitor_page.get_by_test_id("recover").click()
        if "/admin/" in visitor_page.url:
            expect(visitor_page.get_by_test_id("recovery-row")).to_be_visible()
            visitor_page.context.clear_cookies()
    expect(visitor_page.get_by_test_id("refusal")).to_contain_text("A phrase works once")
    assert set(Event.objects.values_list("type", flat=True)) >= {"owner.recovery_requested", "owner.login"}


def test_who_signed_in_by_the_phrase_chooses_a_password_without_the_old_one(
    supplier, smtp, signed_in, visitor_page, site
) -> None:
    open_account(signed_in, site)
    signed_in.get_by_test_id("recovery-generate").click()
    signed_in.get_by_test_id("toast-success").wait_for()
    phrase = phrase_in(smtp.mails[0])
    visitor_page.goto(f"{site}/recover/")
    visitor_page.get_by_label("E-mail").fill("olga@example.org")
    visitor_page.get_by_label("Recovery phrase").fill(phrase)
    visitor_page.get_by_test_id("recover").click()

    expect(visitor_page.get_by_test_id("account-password-current")).to_have_count(0)
    visitor_page.get_by_test_id("account-password-new").fill("another fine password")
    visitor_page.get_by_test_id("account-password-confirm").fill("another fine password")
    visitor_page.get_by_test_id("account-password-save").click()

    expect(visitor_page.get_by_test_id("toast-success")).to_contain_text("new password")
    expect(visitor_page.get_by_test_id("account-password-current")).to_be_visible()
    assert signs_in("olga@example.org", "another fine password")


def test_a_refused_mail_is_told_at_once(supplier, smtp, signed_in, site) -> None:
    smtp.fail(550, text="5.7.1 not today")
    open_account(signed_in, site)

    signed_in.get_by_test_id("recovery-generate").click()

    expect(signed_in.get_by_test_id("toast-error")).to_contain_text("was not sent")
    expect(signed_in.get_by_test_id("toast-error")).to_contain_text("not today")
    signed_in.said.clear()  # Chromium notes the page's status as an error


def test_without_a_supplier_the_button_is_disabled_and_says_why(signed_in, site) -> None:
    open_account(signed_in, site)

    expect(signed_in.get_by_test_id("recovery-generate")).to_be_disabled()
    expect(signed_in.get_by_test_id("recovery-why")).to_contain_text("connect and verify a mail supplier")


def test_a_wrong_phrase_and_an_unknown_address_are_answered_alike(owner, client) -> None:
    wrong = client.post("/recover/", {"email": owner.email, "phrase": "aaaa-bbbb"})
    unknown = client.post("/recover/", {"email": "nobody@example.org", "phrase": "aaaa-bbbb"})

    assert wrong.status_code == unknown.status_code == 400
    plain = [re.sub(r'value="[^"]*"', "", a.content.decode()) for a in (wrong, unknown)]
    assert plain[0] == plain[1]
