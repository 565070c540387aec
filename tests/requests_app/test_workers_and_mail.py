"""Real workers, a real SMTP conversation, and processes that are killed in it."""

import os
import signal

import pytest

from requests_app.models import AccessRequest
from tasks import registry
from tasks.models import Task
from tasks.perform import perform
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


def approve(by, request):
    return perform(registry.operations()["access_requests.approve"], by, request_id=request.pk)


def replied() -> int:
    return AccessRequest.objects.filter(status="replied", mail_state="sent").count()


def test_a_worker_killed_during_a_send_loses_no_mail(by, ask, supplier, smtp, start_worker) -> None:
    smtp.hang(60, at="dot", keep=True)
    worker = start_worker("notify=1")
    job_id = approve(by, ask()).mail.job_id
    smtp.wait_for(1)  # the whole mail is there, and the server has not said so yet
    task = until(lambda: Task.objects.filter(pk=job_id, state="running").select_related("worker").first())

    os.kill(task.worker.pid, signal.SIGKILL)

    until(lambda: replied() == 1, seconds=20, what="the mail is sent by the next attempt")
    task.refresh_from_db()
    assert (task.state, task.attempt) == ("completed", 2)
    assert "died" in task.errors[0]["error"]
    assert [mail["Message-ID"] for mail in smtp.mails] == [smtp.mails[0]["Message-ID"]] * 2
    assert worker.stop() == 0


def test_two_workers_send_each_mail_once(by, ask, supplier, smtp, start_worker) -> None:
    requests = [ask(email=f"visitor{n}@example.net") for n in range(20)]
    workers = [start_worker("notify=2") for _ in range(2)]

    for request in requests:
        approve(by, request)

    until(lambda: replied() == 20, seconds=40, what="all mails are sent")
    assert sorted(mail.envelope_to[0] for mail in smtp.mails) == sorted(r.email for r in requests)
    assert set(Task.objects.values_list("attempt", flat=True)) == {1}
    assert [worker.stop() for worker in workers] == [0, 0]


def test_mails_queued_while_no_worker_runs_go_out_when_one_comes(by, ask, supplier, smtp, start_worker) -> None:
    for n in range(5):
        approve(by, ask(email=f"visitor{n}@example.net"))
    assert set(AccessRequest.objects.values_list("mail_state", "status")) == {("sending", "open")}

    worker = start_worker("notify=1")

    until(lambda: replied() == 5, seconds=20, what="all mails are sent")
    assert [mail.envelope_to for mail in smtp.mails] == [[f"visitor{n}@example.net"] for n in range(5)]
    assert worker.stop() == 0
