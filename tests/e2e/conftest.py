from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conftest import PASSWORD


@pytest.fixture(autouse=True)
def public_url(live_server: Any, settings: Any) -> None:
    settings.PUBLIC_URL = live_server.url


@pytest.fixture
def site(live_server: Any) -> str:
    return str(live_server.url)


@pytest.fixture
def signed_in(page: Any, owner: Any, site: str) -> Any:
    """The owner's browser page, signed in to the admin."""
    page.goto(f"{site}/admin/")
    page.get_by_label("E-mail").fill(owner.email)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url(f"{site}/admin/")
    return page


@pytest.fixture
def visitor_page(browser: Any) -> Iterator[Any]:
    """Somebody else's browser."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC")
    page = context.new_page()
    yield page
    page.goto("about:blank")
    context.close()


@pytest.fixture
def submit_request(visitor_page: Any, site: str) -> Callable[..., None]:
    def submit(**typed: str) -> None:
        visitor_page.goto(site)
        values = {"Your name": "Ana Visitor", "E-mail": "ana@example.net", "Message": "May I read?", **typed}
        for label, value in values.items():
            visitor_page.get_by_label(label).fill(value)
        visitor_page.get_by_role("button", name="Send the request").click()
        visitor_page.get_by_test_id("request-received").wait_for()

    return submit
