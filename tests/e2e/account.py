"""What the tests of the account page have in common."""

import re
from typing import Any

from django.contrib.auth import authenticate
from django.test import RequestFactory

from tests.conftest import PASSWORD


def open_account(page: Any, site: str) -> None:
    page.goto(f"{site}/admin/")
    page.get_by_role("link", name="Account", exact=True).first.click()
    page.get_by_test_id("account-email-block").wait_for()


def ask_for(page: Any, address: str, password: str = PASSWORD) -> None:
    page.get_by_test_id("account-email-new").fill(address)
    page.get_by_test_id("account-email-confirm").fill(address)
    page.get_by_test_id("account-email-current-password").fill(password)
    page.get_by_test_id("account-email-save").click()


def signs_in(email: str, password: str) -> bool:
    request = RequestFactory().post("/admin/login/", REMOTE_ADDR="192.0.2.200")
    return authenticate(request, username=email, password=password) is not None


def link_in(mail: Any) -> str:
    found = re.search(r"http\S+/email/\S+", mail.get_content())
    assert found
    return found[0]
