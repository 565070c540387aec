"""What an event sets off happens, whatever fails meanwhile."""

import pytest
from django.test import Client

from requests_app.models import AccessRequest
from tasks import registry
from tasks.models import Task
from tasks.perform import perform
from tests.ai import answered, over_stdio, with_client
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


def submit() -> None:
    typed = {"name": "Ana", "email": "ana@example.net", "message": "May I read?"}
    assert Client().post("/ask/", typed).status_code == 302


def approve(by, request):
    return perform(registry.operations()["access_requests.approve"], by, request_id=request.pk)


def chip_says(owner, state: str) -> bool:
    client = Client()
    client.force_login(owner)
    page = client.get("/admin/requests/accessrequest/?status=all").content.decode()
    return f'data-state="{state}"' in page


def due_now(state: str = "retryable") -> None:
    """Instead of waiting for the backoff."""
    from django.utils import timezone

    until(lambda: Task.objects.filter(state=state).exists(), what=f"a job is {state}")
    Task.objects.filter(state=state).update(scheduled_at=timezone.now())


def test_a_first_try_that_fails_does_not_lose_the_owners_mail(worker, supplier, smtp) -> None:
    smtp.fail(451)

    submit()

    smtp.wait_for(1, 60)  # by the kind's own backoff
    assert smtp.mails[0].envelope_to == ["olga@example.org"]


def test_approve_over_mcp_with_a_transient_fault_gives_the_code_at_once_and_replied_only_when_sent(
    worker, owner, supplier, smtp, ask
) -> None:
    smtp.fail(451)
    request = ask()

    async def approve(client):
        return answered(await client.call_tool("access_requests.approve", {"id": request.pk}))

    approval = with_client(over_stdio(), approve)

    assert approval["code"].startswith("inv-")
    assert approval["mail"]["state"] in {"sending", "sent"}
    until(lambda: Task.objects.filter(state="retryable").exists(), what="the first try has failed")
    assert AccessRequest.objects.get().status == "open"
    due_now()
    until(lambda: AccessRequest.objects.get().status == "replied", what="the request is replied")
    until(lambda: chip_says(owner, "sent"), what="its chip says sent")
    assert len(smtp.mails) == 1


def test_a_permanent_fault_leaves_the_request_open_and_its_mail_failed(worker, supplier, smtp, by, ask) -> None:
    smtp.fail(550)

    approve(by, ask())

    until(lambda: AccessRequest.objects.get().mail_state == "failed", what="the mail is failed")
    assert AccessRequest.objects.get().status == "open"


def test_a_worker_that_is_killed_and_comes_back_sends_what_was_refused(supplier, smtp, start_worker) -> None:
    smtp.fail(451, times=None)
    first = start_worker("notify=1")
    submit()
    until(lambda: Task.objects.filter(state="retryable").exists(), what="the server has refused")

    first.kill()
    smtp.heal()
    second = start_worker("notify=1")
    due_now()

    smtp.wait_for(1, 60)
    until(lambda: Task.objects.filter(state="completed").exists(), what="the job is completed")
    assert second.stop() == 0
