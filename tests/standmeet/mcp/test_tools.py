"""What a real client may list and call, and what it is told."""

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from mcp.shared.exceptions import MCPError

from accounts.models import ApiToken
from requests_app.models import AccessRequest
from tests.ai import ERAS, answered, on_thread, over_http, over_stdio, refused, with_client

pytestmark = pytest.mark.django_db(transaction=True)


def listed(web, token):
    async def ask(client):
        return {tool.name for tool in (await client.list_tools()).tools}

    return with_client(over_http(web.url, token), ask)


@pytest.mark.parametrize("mode", ERAS)
def test_a_request_is_found_approved_closed_and_opened_again(use, supplier, ask, mode) -> None:
    request = ask(message="May I read?")
    ask(name="Ben")

    found, approved, closed, reopened = use(
        ("access_requests.list", {"status": "open", "limit": 1}),
        ("access_requests_approve", {"id": str(request.pk)}),
        ("access_requests.update", {"id": request.pk, "status": "closed"}),
        ("access_requests.update", {"id": request.pk, "status": "open"}),
        mode=mode,
    )

    assert answered(found)["total"] == 2
    assert [row["name"] for row in answered(found)["requests"]] == ["Ben"]
    assert set(answered(approved)) == {"code", "link", "mail"}
    assert answered(approved)["link"].endswith(f"?code={answered(approved)['code']}")
    assert set(answered(approved)["mail"]) == {"state", "job_id"}
    row = answered(closed)
    assert (row["status"], row["mail"]["state"], row["message"]) == ("closed", "failed", "May I read?")
    assert row["code"]["valid"]
    assert (answered(reopened)["status"], answered(reopened)["closed_at"]) == ("open", None)
    assert AccessRequest.objects.get(pk=request.pk).status == "open"


def test_a_refusal_has_a_code_a_sentence_and_the_fields(use, ask) -> None:
    request = ask()

    no_supplier, unknown, wrong = use(
        ("access_requests.approve", {"id": request.pk}),
        ("access_requests.update", {"id": 999_999, "status": "closed"}),
        ("access_requests.update", {"id": "x", "status": "replied", "operation": 1, "by": 2}),
    )

    assert refused(no_supplier)["code"] == "bad_input"
    assert "connect and verify a mail supplier" in refused(no_supplier)["message"]
    assert refused(unknown) == {"code": "not_found", "message": "There is no access request 999999."}
    assert refused(wrong)["fields"] == {
        "id": "must be a whole number",
        "status": "must be one of open, closed",
        "operation": "is not an input of this operation",
        "by": "is not an input of this operation",
    }


def test_a_replied_request_is_not_opened_again(use, supplier, ask, work) -> None:
    request = ask()

    use(("access_requests.approve", {"id": request.pk}))
    work()
    [again] = use(("access_requests.update", {"id": request.pk, "status": "open"}))

    assert refused(again)["code"] == "wrong_state"


def test_null_stands_for_what_is_left_out(use, ask) -> None:
    ask()

    found = use(
        ("access_requests.list", {"status": None, "limit": None}),
        ("access_requests.list", {"limit": 5.0}),  # as some clients write whole numbers
    )

    assert [answered(result)["total"] for result in found] == [1, 1]


def test_a_failure_shows_its_reference_and_nothing_of_its_cause(use, web) -> None:
    [crashed] = use(("probe.crash", {}))

    said = refused(crashed)
    assert said["code"] == "failed"
    assert "hunter2" not in str(crashed)
    log = web.log.read_text()
    assert f"probe.crash failed (reference {said['reference']})" in log
    assert "the password is hunter2" in log


def test_an_unknown_tool_and_one_of_another_face_are_the_protocols_error(web, issue) -> None:
    async def ask(client):
        for name in ("nope", "access_requests.submit", "account.set_time_zone", "tokens.create"):
            with pytest.raises(MCPError, match=f"Unknown tool: {name}"):
                await client.call_tool(name, {})

    with_client(over_http(web.url, issue()), ask)


def test_a_token_lists_and_calls_only_what_its_scopes_say(web, issue, use, supplier, ask) -> None:
    request = ask()

    assert listed(web, issue("access_requests:read")) == {"access_requests.list"}
    assert "access_requests.list" in listed(web, issue("access_requests:write"))
    assert "probe.echo" not in listed(web, issue("access_requests:write"))
    found, approved, echoed = use(
        ("access_requests.list", {}),
        ("access_requests.approve", {"id": request.pk}),
        ("probe.echo", {}),
        scopes=["access_requests:read"],
    )
    assert answered(found)["total"] == 1
    assert refused(approved)["code"] == "not_allowed"
    assert "access_requests:write" in refused(approved)["message"]
    assert refused(echoed)["code"] == "not_allowed"
    assert AccessRequest.objects.get().code is None


def test_an_owner_without_the_permission_is_offered_nothing(web, issue, use, owner) -> None:
    owner.is_superuser = False
    owner.save()

    assert listed(web, issue()) == set()
    [echoed] = use(("probe.echo", {}))
    assert refused(echoed)["code"] == "not_allowed"


def test_a_token_that_is_revoked_ends_in_the_middle_of_a_conversation(web, issue) -> None:
    token = issue()

    async def ask(client):
        answered(await client.call_tool("probe.echo", {"text": "hello"}))
        await on_thread(lambda: ApiToken.objects.update(revoked_at=timezone.now()))
        await client.call_tool("probe.echo", {"text": "still here?"})

    with pytest.raises(Exception):  # noqa: B017, PT011 (the SDK's own, by era)
        with_client(over_http(web.url, token), ask)


def test_too_many_calls_are_refused_in_words_the_model_can_read(web_of_its_own, issue) -> None:
    web = web_of_its_own(MCP_CALLS_A_MINUTE="5")

    async def ask(client):
        return [await client.call_tool("probe.echo", {}) for _ in range(6)]

    *good, last = with_client(over_http(web.url, issue()), ask)

    assert not any(result.is_error for result in good)
    assert refused(last)["code"] == "too_many"
    assert "wait" in refused(last)["message"]


@pytest.mark.parametrize("mode", ERAS)
def test_stdio_acts_as_the_owner_with_every_scope_and_nothing_else_is_said_on_it(owner, supplier, ask, mode) -> None:
    request = ask()

    async def go(client):
        return [
            await client.call_tool("probe.crash", {}),
            await client.call_tool("probe.echo", {"text": "é"}),
            await client.call_tool("access_requests.update", {"id": request.pk, "status": "closed"}),
        ]

    crashed, echoed, closed = with_client(over_stdio(mode), go)

    assert refused(crashed)["code"] == "failed"
    assert answered(echoed) == {"text": "é"}
    assert answered(closed)["status"] == "closed"


def test_stdio_without_an_owner_says_what_to_do(db) -> None:
    with pytest.raises(CommandError, match="createsuperuser"):
        call_command("mcp")
