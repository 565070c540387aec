"""The owner's AI client looks after the queue: what is stuck, why, again, not at all, and what happened."""

import pytest

from requests_app.models import AccessRequest
from tasks.declare import Happened
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, TaskAction
from tests.ai import ERAS, answered, over_http, refused, with_client
from tests.probe.kinds import SLOW_BACKOFF, Probe

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def stuck(work) -> int:
    """A job that waits for its next try."""
    job = enqueue(SLOW_BACKOFF, Probe("stuck", "fail", "the engine does not answer"))
    work()
    return job


def test_what_is_stuck_is_found_and_why_and_it_is_told_to_run_now(use, stuck, work) -> None:
    overview, listed, got, retried = use(
        ("tasks.overview", {}),
        ("tasks.list", {"state": "retryable"}),
        ("tasks.get", {"id": str(stuck)}),
        ("tasks.retry", {"id": stuck}),
    )

    assert answered(overview)["counts"]["retryable"] == 1
    assert [job["id"] for job in answered(listed)["jobs"]] == [stuck]
    job = answered(got)
    assert (job["kind"], job["state"], job["attempt"]) == (SLOW_BACKOFF.name, "retryable", 1)
    assert [(error["attempt"], error["error"]) for error in job["errors"]] == [(1, "the engine does not answer")]
    assert answered(retried)["id"] == stuck
    assert work() == [SLOW_BACKOFF.name]
    assert TaskAction.objects.get().via == "mcp"


def test_a_job_is_shown_in_exactly_the_contracts_shape(use, stuck) -> None:
    [got] = use(("tasks.get", {"id": stuck}))

    shape = "id kind queue state args errors attempt max_attempts created_at scheduled_at finalized_at"
    assert list(answered(got)) == shape.split()
    assert set(answered(got)["errors"][0]) == {"at", "error", "attempt"}


def test_a_token_that_may_only_read_changes_nothing(use, stuck) -> None:
    got, retried, cancelled = use(
        ("tasks.get", {"id": stuck}),
        ("tasks.retry", {"id": stuck}),
        ("tasks.cancel", {"id": stuck}),
        scopes=["tasks:read"],
    )

    assert answered(got)["state"] == "retryable"
    assert [refused(each)["code"] for each in (retried, cancelled)] == ["not_allowed", "not_allowed"]
    assert Task.objects.get(pk=stuck).state == "retryable"


def test_a_cancelled_job_never_has_its_effect_and_is_not_cancelled_twice(use, stuck, work) -> None:
    cancelled, again, unknown = use(
        ("tasks.cancel", {"id": stuck}), ("tasks.cancel", {"id": stuck}), ("tasks.get", {"id": 10**9})
    )

    assert answered(cancelled)["state"] == "cancelled"
    assert refused(again)["code"] == "wrong_state"
    assert refused(unknown)["code"] == "not_found"
    assert work() == []


def test_an_event_is_shown_with_its_subscribers_and_sent_again_to_those_that_failed(use, visitor, owner) -> None:
    from tasks import registry
    from tasks.perform import perform

    given = {
        "name": "Ana",
        "organisation": "",
        "email": "ana@example.net",
        "message": "May I read?",
        "client": "192.0.2.1",
    }
    perform(registry.operations()["access_requests.submit"], visitor, **given)
    request = AccessRequest.objects.get()
    job = Task.objects.get()
    assert registry.kinds()[job.kind].args is Happened

    [listed] = use(("events.list", {"subject": f"access_request/{request.pk}"}))
    [event] = answered(listed)["events"]
    got, cancelled, requeued = use(
        ("events.get", {"id": event["id"]}), ("tasks.cancel", {"id": job.pk}), ("events.requeue", {"id": event["id"]})
    )

    assert event["type"] == "access_request.created"
    assert answered(got)["subscribers"] == [{"kind": "owner.notify", "job_id": job.pk, "state": "pending"}]
    assert answered(cancelled)["state"] == "cancelled"
    assert answered(requeued)["job_ids"] == [job.pk]
    assert Task.objects.get(pk=job.pk).state == "pending"


@pytest.mark.parametrize("mode", ERAS)
def test_periodic_work_that_is_not_declared_is_neither_listed_nor_run(web, issue, mode) -> None:
    async def go(client):
        return await client.call_tool("tasks.periodic", {}), await client.call_tool(
            "tasks.run_periodic", {"name": "no"}
        )

    listed, unknown = with_client(over_http(web.url, issue(), mode), go)

    assert answered(listed) == {"periodic": []}
    assert refused(unknown)["code"] == "not_found"
