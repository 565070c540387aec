"""The owner's list of requests."""

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from requests_app.models import AccessRequest

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_request_shows_who_asks_and_the_filters_sort_by_status(supplier, ask, signed_in, site) -> None:
    open_one = ask(name="Ana Open", email="ana@example.net", organisation="Acme")
    closed = ask(name="Carl Closed", email="carl@example.net")
    AccessRequest.objects.filter(pk=closed.pk).update(status="closed", closed_at=timezone.now())

    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    row = signed_in.get_by_test_id(f"request-row-{open_one.pk}")
    expect(row).to_contain_text("Ana Open")
    expect(row).to_contain_text("ana@example.net")
    expect(signed_in.get_by_text("Carl Closed")).to_have_count(0)

    signed_in.get_by_test_id("filter-closed").click()
    expect(signed_in.get_by_text("Carl Closed")).to_be_visible()
    expect(signed_in.get_by_text("Ana Open")).to_have_count(0)

    signed_in.get_by_test_id("filter-replied").click()
    expect(signed_in.get_by_text("No requests here.")).to_be_visible()

    signed_in.get_by_test_id("filter-all").click()
    rows = signed_in.locator("[data-testid^=request-row-] h2")
    expect(rows).to_have_text(["Ana Open", "Carl Closed"])

    signed_in.get_by_role("searchbox", name="Search", exact=True).fill("carl")
    signed_in.get_by_role("button", name="Search").click()
    expect(rows).to_have_text(["Carl Closed"])


def test_without_a_verified_supplier_there_is_a_hint_and_no_approve(ask, signed_in, site, visitor_page) -> None:
    request = ask()

    signed_in.goto(f"{site}/admin/requests/accessrequest/")

    expect(signed_in.get_by_test_id("requests-mail-hint")).to_contain_text("connect and verify a mail supplier")
    row = signed_in.get_by_test_id(f"request-row-{request.pk}")
    expect(row).to_be_visible()
    expect(row.get_by_test_id("request-approve")).to_have_count(0)
    visitor_page.goto(site)
    expect(visitor_page.get_by_test_id("request-form")).to_have_count(0)


@pytest.mark.parametrize(
    ("host", "reason"), [("", "must be the name of the mail server"), ("smtp.nowhere.invalid", "Not connected")]
)
def test_connecting_an_empty_or_wrong_host_is_refused_with_the_reason(signed_in, site, host, reason) -> None:
    signed_in.goto(f"{site}/admin/accounts/mailsupplier/")
    signed_in.get_by_label("Server").fill(host)
    signed_in.get_by_label("From address").fill("olga@example.org")

    signed_in.get_by_test_id("supplier-connect").click()

    expect(signed_in.get_by_test_id("toast-error")).to_contain_text(reason)
    signed_in.said.clear()  # Chromium notes the page's status, 400, as an error
    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    expect(signed_in.get_by_test_id("requests-mail-hint")).to_be_visible()


def test_connecting_a_supplier_brings_approve_and_takes_the_hint_away(ask, smtp, signed_in, site) -> None:
    request = ask()
    signed_in.goto(f"{site}/admin/accounts/mailsupplier/")
    signed_in.get_by_label("Server").fill(smtp.host)
    signed_in.get_by_label("Port").fill(str(smtp.port))
    signed_in.get_by_label("Security").select_option("none")
    signed_in.get_by_label("User").fill("olga")
    signed_in.get_by_label("Password").fill("secret")
    signed_in.get_by_label("From address").fill("olga@example.org")

    signed_in.get_by_test_id("supplier-connect").click()

    expect(signed_in.get_by_test_id("supplier-state")).to_have_attribute("data-state", "verified")
    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    expect(signed_in.get_by_test_id("requests-mail-hint")).to_have_count(0)
    row = signed_in.get_by_test_id(f"request-row-{request.pk}")
    expect(row.get_by_test_id("request-approve")).to_be_visible()


def test_a_closed_request_leaves_the_open_ones_at_the_next_look(supplier, ask, signed_in, site) -> None:
    request = ask()
    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    row = signed_in.get_by_test_id(f"request-row-{request.pk}")

    row.get_by_test_id("request-close").click()

    expect(row.get_by_test_id("request-status")).to_have_attribute("data-status", "closed")
    signed_in.reload()
    expect(row).to_have_count(0)


def test_after_a_button_pressed_by_key_its_row_has_the_focus(supplier, ask, signed_in, site) -> None:
    request = ask()
    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    button = signed_in.get_by_test_id(f"request-row-{request.pk}").get_by_test_id("request-close")

    button.focus()
    signed_in.keyboard.press("Enter")

    expect(signed_in.get_by_test_id(f"request-row-{request.pk}")).to_be_focused()


def test_a_page_from_before_another_sign_in_says_that_it_is_out_of_date(supplier, ask, signed_in, site) -> None:
    ask()
    signed_in.goto(f"{site}/admin/requests/accessrequest/")
    name = "standmeet_csrf"
    [cookie] = [c for c in signed_in.context.cookies() if c["name"] == name]
    signed_in.context.add_cookies([{**cookie, "value": "x" * 32}])

    signed_in.get_by_test_id("request-approve").click()

    expect(signed_in.get_by_test_id("toast-error")).to_contain_text("out of date")
    signed_in.said.clear()  # Chromium notes the 403 as an error
