import pytest
from playwright.sync_api import expect

from accounts.models import Owner
from tests.conftest import PASSWORD
from tests.e2e.account import ask_for, open_account, signs_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def account(signed_in, site):
    open_account(signed_in, site)
    return signed_in


def change_password(page, current: str, new: str, again: str | None = None) -> None:
    page.get_by_test_id("account-password-current").fill(current)
    page.get_by_test_id("account-password-new").fill(new)
    page.get_by_test_id("account-password-confirm").fill(new if again is None else again)
    page.get_by_test_id("account-password-save").click()


def test_a_new_name_is_confirmed_and_persists(account, visitor_page, site) -> None:
    account.get_by_test_id("account-full-name-input").fill("Olga of the Notes")
    account.get_by_test_id("account-full-name-save").click()

    expect(account.get_by_test_id("toast-success")).to_contain_text("Olga of the Notes")
    account.reload()
    expect(account.get_by_test_id("account-full-name-input")).to_have_value("Olga of the Notes")
    visitor_page.goto(site)
    expect(visitor_page.locator("h1")).to_have_text("Olga of the Notes")


def test_a_time_zone_is_confirmed_and_persists(account) -> None:
    account.get_by_test_id("account-time-zone-input").select_option("Europe/Oslo")
    account.get_by_test_id("account-time-zone-save").click()

    expect(account.get_by_test_id("toast-success")).to_contain_text("Europe/Oslo")
    account.reload()
    expect(account.get_by_test_id("account-time-zone-input")).to_have_value("Europe/Oslo")


def test_without_a_supplier_a_new_address_applies_at_once(account) -> None:
    ask_for(account, "new@example.org")

    expect(account.get_by_test_id("toast-success")).to_contain_text("new@example.org")
    expect(account.get_by_test_id("account-email-pending")).to_have_count(0)
    assert signs_in("new@example.org", PASSWORD)
    assert not signs_in("olga@example.org", PASSWORD)


def test_a_new_password_signs_in_and_the_fields_are_emptied(account) -> None:
    change_password(account, PASSWORD, "another fine password")

    expect(account.get_by_test_id("toast-success")).to_contain_text("new password")
    for field in ("current", "new", "confirm"):
        expect(account.get_by_test_id(f"account-password-{field}")).to_have_value("")
    assert signs_in("olga@example.org", "another fine password")
    account.reload()
    expect(account.get_by_test_id("recovery-row")).to_be_visible()


@pytest.mark.parametrize(
    ("current", "new", "again", "said"),
    [
        (PASSWORD, "elevenchars", None, "at least 12 characters"),
        ("not the password", "another fine password", None, "current password is not right"),
        (PASSWORD, "another fine password", "another fine passwort", "differ"),
    ],
)
def test_a_password_that_will_not_do_is_refused_with_the_reason(account, current, new, again, said) -> None:
    change_password(account, current, new, again)

    expect(account.get_by_test_id("toast-error")).to_contain_text(said)
    account.said.clear()  # Chromium notes the page's status, 400, as an error
    assert signs_in("olga@example.org", PASSWORD)


@pytest.mark.parametrize(
    ("address", "password", "said"),
    [
        ("new@example.org", "wrong", "current password is not right"),
        ("olga@example.org", PASSWORD, "your address already"),
    ],
)
def test_an_address_change_that_will_not_do_is_refused_with_the_reason(account, address, password, said) -> None:
    ask_for(account, address, password)

    expect(account.get_by_test_id("toast-error")).to_contain_text(said)
    account.said.clear()
    assert Owner.objects.get().email == "olga@example.org"
