"""A token's life on its page."""

import re

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from accounts.models import ApiToken
from accounts.queries import token_with

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tokens(signed_in):
    signed_in.get_by_role("link", name="API tokens", exact=True).first.click()
    return signed_in


def test_a_token_is_shown_once_works_and_is_revoked(tokens) -> None:
    tokens.get_by_test_id("token-name").fill("Claude on my laptop")
    tokens.get_by_test_id("token-scope-access_requests:read").check()
    tokens.get_by_test_id("token-create").click()

    text = tokens.get_by_test_id("token-text").inner_text()
    token = token_with(text, timezone.now())
    assert token
    assert token.scopes == ["access_requests:read"]
    assert 89 <= (token.expires_at - timezone.now()).days <= 90
    expect(tokens.get_by_test_id("token-made")).to_contain_text(f'--header "Authorization: Bearer {text}"')
    row = tokens.get_by_test_id(f"token-row-{token.pk}")
    expect(row).to_contain_text("access_requests:read")

    tokens.get_by_role("link", name="API tokens", exact=True).first.click()
    expect(row.get_by_test_id("token-last-used")).to_contain_text("last used")
    assert text not in tokens.content()
    row.get_by_test_id("token-revoke").click()

    expect(tokens.get_by_test_id("toast-success")).to_contain_text("Claude on my laptop can do nothing any more")
    expect(row).to_have_attribute("data-live", "false")
    expect(row.get_by_test_id("token-revoke")).to_have_count(0)
    assert token_with(text, timezone.now()) is None


def test_what_is_missing_is_said_at_its_field_and_what_was_typed_stays(tokens) -> None:
    tokens.get_by_test_id("token-name").fill("Laptop")
    with tokens.expect_response(re.compile("apitoken")) as answer:
        tokens.get_by_test_id("token-create").click()

    assert answer.value.status == 400
    expect(tokens.locator(".wrong")).to_contain_text("must be chosen")
    expect(tokens.get_by_test_id("token-name")).to_have_value("Laptop")
    assert not ApiToken.objects.exists()
    tokens.said.clear()  # Chromium notes the status in its console


def test_the_keyboard_reaches_everything(tokens) -> None:
    tokens.get_by_test_id("token-name").focus()
    tokens.keyboard.type("Keyboard")
    tokens.keyboard.press("Tab")
    tokens.keyboard.press("Space")
    tokens.get_by_test_id("token-days").select_option("")
    tokens.get_by_test_id("token-create").press("Enter")

    tokens.get_by_test_id("token-text").wait_for()
    token = ApiToken.objects.get()
    assert (token.name, token.scopes, token.expires_at) == ("Keyboard", ["*"], None)
