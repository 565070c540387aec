from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.utils import timezone

from tests.ai import WebProcess, over_http, with_client


@pytest.fixture(scope="module")
def web(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebProcess]:
    """The web server of one module, with a pool that would run dry at once if waits held connections."""
    web = WebProcess(tmp_path_factory.mktemp("web") / "log", WEB_CONNECTIONS="2")
    yield web
    assert web.process.poll() is None, web.log.read_text()
    web.stop()


@pytest.fixture
def web_of_its_own(transactional_db: None, tmp_path: Any) -> Iterator[Callable[..., WebProcess]]:
    """Web servers of one test; whatever of them is left at its end is ended."""
    started: list[WebProcess] = []

    def start(*options: str, **env: str) -> WebProcess:
        started.append(WebProcess(tmp_path / f"web{len(started)}.log", *options, **env))
        return started[-1]

    yield start
    for web in started:
        if web.process.poll() is None:
            web.stop()


@pytest.fixture
def issue(owner: Any) -> Callable[..., str]:
    """The text of a new token."""
    from accounts.models import ApiToken

    def issued(*scopes: str, **given: Any) -> str:
        values = {"name": "Test", "scopes": list(scopes or ["*"]), "at": timezone.now(), "ends": None, **given}
        return ApiToken.objects.issue(owner_id=owner.pk, **values).text

    return issued


@pytest.fixture
def use(web: WebProcess, issue: Callable[..., str]) -> Callable[..., list[Any]]:
    """Call tools with a token of these scopes; what they answer, in order."""

    def call(*calls: Any, scopes: Any = ("*",), mode: str = "auto") -> list[Any]:
        async def ask(client: Any) -> list[Any]:
            return [await client.call_tool(name, given) for name, given in calls]

        return with_client(over_http(web.url, issue(*scopes), mode), ask)

    return call
