"""Calls that wait for their jobs."""

import asyncio
import time

import pytest

from tasks.models import Task
from tasks.queue.completion import MOST_WAITING
from tasks.queue.control import cancel
from tests.ai import ERAS, answered, on_thread, over_http, over_stdio, with_client
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


async def timed(client, name, given, **more):
    begun = time.monotonic()
    result = answered(await client.call_tool(name, given, **more))
    return result, time.monotonic() - begun


@pytest.mark.parametrize("mode", ERAS)
def test_approve_says_sent_when_the_mail_was_sent(web, issue, worker, supplier, smtp, ask, mode) -> None:
    request = ask()

    async def approve(client):
        return await timed(client, "access_requests.approve", {"id": request.pk})

    approval, _ = with_client(over_http(web.url, issue(), mode), approve)

    assert approval["mail"]["state"] == "sent"
    assert len(smtp.mails) == 1
    assert Task.objects.get(pk=approval["mail"]["job_id"]).state == "completed"


@pytest.mark.parametrize("mode", ERAS)
def test_approve_gives_the_receipt_after_two_seconds_and_its_job_is_followed(
    web, issue, supplier, smtp, ask, work, mode
) -> None:
    request = ask()

    async def approve(client):
        return await timed(client, "access_requests.approve", {"id": request.pk})

    async def follow(client):
        return answered(await client.call_tool("tasks.get", {"id": approval["mail"]["job_id"]}))["state"]

    approval, took = with_client(over_http(web.url, issue(), mode), approve)
    before = with_client(over_http(web.url, issue(), mode), follow)

    assert approval["code"].startswith("inv-")
    assert approval["mail"]["state"] == "sending"
    assert 2.0 <= took <= 2.2
    assert before == "pending"
    assert work() == ["access_request.approval_mail"]
    assert with_client(over_http(web.url, issue(), mode), follow) == "completed"


def test_over_stdio_approve_waits_as_well(owner, supplier, smtp, ask, worker) -> None:
    request = ask()

    async def approve(client):
        return await timed(client, "access_requests.approve", {"id": request.pk})

    approval, _ = with_client(over_stdio(), approve)

    assert approval["mail"]["state"] == "sent"


def test_a_mail_that_failed_is_sent_again_and_waited_for(web, issue, worker, supplier, smtp, ask) -> None:
    request = ask()
    smtp.fail(550, text="5.1.1 Mailbox unknown")

    async def go(client):
        failed, _ = await timed(client, "access_requests.approve", {"id": request.pk})
        found, _ = await timed(client, "access_requests.list", {})
        smtp.heal()
        sent, _ = await timed(client, "access_requests.retry_mail", {"id": request.pk})
        return failed, found["requests"][0], sent

    failed, row, sent = with_client(over_http(web.url, issue()), go)

    assert failed["mail"]["state"] == "failed"
    assert "Mailbox unknown" in row["mail_problem"]
    assert sent["mail"]["state"] == "sent"
    assert sent["code"] == failed["code"]


@pytest.mark.parametrize("mode", ERAS)
def test_progress_is_told_while_a_call_waits(web, issue, worker, mode) -> None:
    told = []

    async def note(progress, total, message):
        told.append((progress, total, message))

    async def wait(client):
        return await timed(client, "probe.start", {"milliseconds": 2500}, progress_callback=note)

    started, _ = with_client(over_http(web.url, issue(), mode), wait)

    assert started["state"] == "completed"
    elapsed = [progress for progress, _, _ in told]
    assert len(elapsed) >= 2
    assert elapsed == sorted(elapsed)
    assert 1 <= elapsed[0] < 2
    assert {total for _, total, _ in told} == {20}


def test_as_many_calls_as_may_wait_for_a_job_of_a_second_are_answered_within_half_a_second_of_its_end(
    web, issue, worker
) -> None:
    async def go(client):
        took = []
        while len(took) < 3 and min(took, default=2) >= 1.5:  # what else this machine does is not meant
            begun = time.monotonic()
            found = await asyncio.gather(*(join(client, f"turn {len(took)}") for _ in range(MOST_WAITING)))
            took.append(time.monotonic() - begun)
            assert {started["state"] for started, _ in found} == {"completed"}
        return min(took)

    assert with_client(over_http(web.url, issue()), go) < 1.5


def test_one_more_call_than_may_wait_has_its_receipt_at_once_and_others_stay_quick(web, issue) -> None:
    async def go(client):
        calls = [asyncio.create_task(join(client, "one")) for _ in range(MOST_WAITING)]
        while not (await asyncio.wait([more := asyncio.create_task(join(client, "one"))], timeout=0.3))[0]:
            calls.append(more)  # they were not all in yet, and this one waits in another's place
        receipt, at_once = await join(client, "one")
        beside = [await timed(client, "probe.echo", {}) for _ in range(20)]
        await on_thread(lambda: cancel(receipt["job_id"]))
        states = [started["state"] for started, _ in await asyncio.gather(*calls)]
        return states, receipt, at_once, sorted(took for _, took in beside)[10]

    states, receipt, at_once, beside = with_client(over_http(web.url, issue()), go)

    assert receipt["state"] == "pending"
    assert at_once < 0.2
    assert beside < 0.05
    assert states.count("cancelled") == MOST_WAITING


@pytest.mark.parametrize("mode", ERAS)
def test_a_wait_ends_when_its_client_leaves(web, issue, mode) -> None:
    token = issue()

    async def leave(client):
        """With every place to wait taken."""
        calls = [asyncio.create_task(join(client, "never")) for _ in range(MOST_WAITING)]
        while not (await asyncio.wait(calls, timeout=0.5, return_when=asyncio.FIRST_COMPLETED))[0]:
            calls.append(asyncio.create_task(join(client, "never")))
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return len(calls)

    async def come_back(client):
        """Until a call waits, and has no receipt at once."""
        while (await asyncio.wait([call := asyncio.create_task(join(client, "never"))], timeout=0.5))[0]:
            pass
        call.cancel()
        return True

    assert with_client(over_http(web.url, token, mode), leave) > MOST_WAITING
    assert with_client(over_http(web.url, token), come_back)


async def join(client, name):
    return await timed(client, "probe.join", {"name": name})


def test_a_server_that_stops_lets_a_wait_end(web_of_its_own, issue, worker) -> None:
    web = web_of_its_own()

    async def wait(client):
        call = asyncio.create_task(timed(client, "probe.start", {"milliseconds": 2000}))
        await on_thread(lambda: until(lambda: Task.objects.filter(state="running").exists()))
        web.process.terminate()
        return await call

    started, _ = with_client(over_http(web.url, issue()), wait)

    assert started["state"] == "completed"
    web.process.wait(20)
