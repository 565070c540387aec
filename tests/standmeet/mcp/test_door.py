"""Who comes in, by plain HTTP."""

import json
import time
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.utils import timezone

from accounts.models import ApiToken
from standmeet.mcp.wire import FRESH
from tests.ai import WebProcess
from tests.gate import Gate
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
CALL |= {"params": {"name": "probe.echo", "arguments": {"text": "hello"}}}
BOTH = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def send(web: WebProcess, token: str | None, path: str = "/mcp", method: str = "POST", **given: Any) -> httpx2.Response:
    headers = {**BOTH, **({"Authorization": f"Bearer {token}"} if token else {}), **given.pop("headers", {})}
    body = given.pop("body", json.dumps(LIST))
    return httpx2.request(method, web.url + path, headers=headers, content=body, timeout=30)


def test_both_paths_answer_a_token_without_a_redirect(web, issue) -> None:
    token = issue()

    answers = [send(web, token, path) for path in ("/mcp", "/mcp/")]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert all("probe.echo" in answer.text for answer in answers)


def test_without_a_token_nobody_comes_in(web, owner) -> None:
    answer = send(web, None)

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="standmeet"'
    assert answer.json()["error"] == "unauthorized"


@pytest.mark.parametrize("spoil", ["unknown", "longer", "shorter", "revoked", "expired", "owner gone", "not ASCII"])
def test_a_token_that_is_not_good_is_refused_alike(web, issue, spoil) -> None:
    token = issue()
    match spoil:
        case "unknown":
            token = "smt_00000000_" + token[13:]
        case "longer":
            token += "x"
        case "shorter":
            token = token[:-1]
        case "revoked":
            ApiToken.objects.update(revoked_at=timezone.now())
        case "expired":
            ApiToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
        case "owner gone":
            ApiToken.objects.get().owner.__class__.objects.update(is_active=False)
        case "not ASCII":
            token = "smt_é_é".encode().decode("latin-1")

    answer = send(web, None, headers={"Authorization": f"Bearer {token}".encode("latin-1")})

    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="standmeet", error="invalid_token"'


@pytest.mark.parametrize(("asked", "said"), [(LIST, '"error"'), (CALL, "not_allowed")], ids=["list", "call"])
def test_a_token_that_is_revoked_while_the_body_comes_does_nothing_any_more(web, issue, asked, said) -> None:
    def slowly():
        body = json.dumps(asked).encode()
        yield body[:9]
        seen = until(lambda: ApiToken.objects.get().last_used_at, what="it was let in")
        ApiToken.objects.update(revoked_at=timezone.now())
        until(lambda: timezone.now() > seen + 2 * FRESH, what="that was long ago")
        yield body[9:]

    answer = send(web, issue(), body=slowly())

    assert said in answer.text
    assert "was revoked or has expired" in answer.text
    assert "probe.echo" not in answer.text
    assert "hello" not in answer.text


def test_without_a_database_a_client_is_told_to_come_again(web_of_its_own, issue) -> None:
    gate, token = Gate(), issue()
    web = web_of_its_own(DATABASE_URL=gate.url())
    assert send(web, token).status_code == 200

    gate.shut()
    answer = send(web, token)
    gate.open()

    assert (answer.status_code, answer.json()["error"], answer.headers["retry-after"]) == (503, "unavailable", "10")
    assert "Traceback" not in web.log.read_text()
    assert until(lambda: send(web, token).status_code == 200, seconds=30, what="it is back")
    gate.shut()


def test_a_visitors_code_and_the_owners_session_open_nothing(web, owner, client) -> None:
    from accounts.models import AccessCode

    code = AccessCode.objects.issue(owner_id=owner.pk, email="ana@example.net", at=timezone.now())
    client.force_login(owner)
    session = client.cookies["standmeet_session"].value

    assert send(web, code.text).status_code == 401
    assert send(web, None, headers={"Cookie": f"standmeet_session={session}"}).status_code == 401


def test_only_post_is_answered(web, issue) -> None:
    token = issue()

    for method in ("GET", "DELETE", "PUT", "OPTIONS"):
        answer = send(web, token, method=method, body="")
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_foreign_host_is_misdirected_and_a_foreign_origin_forbidden(web, issue) -> None:
    token = issue()

    assert send(web, token, headers={"Host": "evil.example"}).status_code == 421
    assert send(web, token, headers={"Origin": "https://evil.example"}).status_code == 403
    for origin in ("null", "http://[", f"{web.url}.evil.example", f"{web.url}/"):
        assert send(web, token, headers={"Origin": origin}).status_code == 403
    assert send(web, token, headers={"Origin": web.url}).status_code == 200


def test_a_body_that_is_too_big_is_refused(web, issue) -> None:
    big = json.dumps({**LIST, "params": {"_meta": {"x": "y" * 1024 * 1024}}})

    assert send(web, issue(), body=big).status_code == 413


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "[" * 100_000, "\udcff", '{"jsonrpc": "1.0"}', json.dumps([LIST])],
    ids=["empty", "half", "list", "deep", "not UTF-8", "other", "batch"],
)
def test_a_body_that_is_no_message_is_bad(web, issue, body) -> None:
    assert send(web, issue(), body=body.encode(errors="surrogateescape")).status_code == 400


def test_the_look_for_an_oauth_server_ends_in_json(web, db) -> None:
    for path in (
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
        "/.well-known/oauth-authorization-server",
        "/.well-known/openid-configuration/mcp",
        "/mcp/.well-known/openid-configuration",
    ):
        answer = send(web, None, path, "GET", body="")
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")


def test_other_pages_are_as_before(web, owner) -> None:
    assert "<form" in send(web, None, "/admin/login/", "GET", body="").text
    assert send(web, None, "/mcp/other", "GET", body="").headers["content-type"].startswith("text/html")


def test_wrong_tokens_are_limited_and_a_right_one_still_comes_in(web_of_its_own, issue) -> None:
    web, token = web_of_its_own(), issue()

    statuses = []
    while (refused := send(web, "smt_00000000_wrong")).status_code != 429:
        statuses.append(refused.status_code)

    assert set(statuses) == {401}
    assert 10 <= len(statuses) < 20  # one more for each five seconds that this takes
    assert 1 <= int(refused.headers["retry-after"]) <= 5
    assert send(web, token).status_code == 200


def test_the_last_use_is_written_once_a_minute(web, issue) -> None:
    token = issue()

    begun = timezone.now()
    send(web, token)
    first = ApiToken.objects.get().last_used_at
    send(web, token)

    assert begun <= first == ApiToken.objects.get().last_used_at
    ApiToken.objects.update(last_used_at=first - timedelta(seconds=61))
    send(web, token)
    assert ApiToken.objects.get().last_used_at > first


def test_a_server_without_the_lifespan_says_what_is_missing(web_of_its_own, issue) -> None:
    web = web_of_its_own("--lifespan", "off")

    answer = send(web, issue())

    assert answer.status_code == 503
    assert "lifespan" in answer.json()["message"]


def test_the_server_stops_at_once_when_nobody_waits(web_of_its_own, db) -> None:
    web = web_of_its_own()

    begun = time.monotonic()
    web.stop()

    assert time.monotonic() - begun < 10
    assert "Application shutdown complete" in web.log.read_text()
