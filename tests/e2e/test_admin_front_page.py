"""The admin's first page tells the owner what waits; the sign-in page tells what to do without a password."""

from typing import Any

import pytest

from tests.probe.rows import in_state

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_first_page_counts_the_open_requests_and_leads_to_them(signed_in, supplier, ask, site) -> None:
    ask()
    ask(email="bo@example.net")

    signed_in.goto(f"{site}/admin/")

    link = signed_in.get_by_test_id("front-open")
    assert link.inner_text() == "2 requests open"
    assert not signed_in.get_by_test_id("front-mail-hint").count()
    assert not signed_in.get_by_text("Recent actions").count()
    link.click()
    signed_in.get_by_role("heading", name="Access requests").wait_for()


def test_the_first_page_says_what_keeps_the_owner_from_answering(signed_in, site) -> None:
    in_state("discarded")

    signed_in.goto(f"{site}/admin/")

    assert signed_in.get_by_test_id("front-open").inner_text() == "No open requests"
    assert "connect and verify a mail supplier" in signed_in.get_by_test_id("front-mail-hint").inner_text()
    alerts = [alert.get_attribute("data-name") for alert in signed_in.get_by_test_id("front-alert").all()]
    assert alerts == ["jobs_discarded", "no_worker"]


def test_the_menu_begins_with_the_requests(signed_in) -> None:
    captions = signed_in.locator("#content-main caption").all_inner_texts()

    assert [caption.upper() for caption in captions] == ["REQUESTS", "ACCOUNT", "TASKS"]


def test_a_wrong_password_is_said_in_our_words_and_the_way_out_is_shown(page: Any, owner, site) -> None:
    page.goto(f"{site}/admin/")
    page.get_by_label("E-mail").fill(owner.email)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in").click()

    page.get_by_text("This e-mail address and password do not sign in.").wait_for()
    page.get_by_role("link", name="recovery phrase").click()
    page.get_by_role("heading", name="Recover the account").wait_for()
