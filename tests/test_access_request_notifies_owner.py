"""A visitor submits over HTTP; a real worker tells the owner, or does not, and the page is honest either way."""

import threading

import pytest
from django.db import connection
from django.test import Client

from requests_app.models import AccessRequest
from tasks.models import Task
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


def submit(n: int = 0) -> int:
    typed = {"name": f"Visitor {n}", "email": f"visitor{n}@example.net", "message": f"Message {n}"}
    answer = Client(REMOTE_ADDR=f"192.0.2.{n}").post("/ask/", typed)
    connection.close()
    return answer.status_code


def states() -> list[str]:
    return sorted(Task.objects.filter(kind="owner.notify").values_list("state", flat=True))


def test_the_owners_inbox_gets_a_mail_that_names_the_visitor(worker, supplier, smtp) -> None:
    assert submit() == 302

    smtp.wait_for(1, 30)
    [mail] = smtp.mails
    assert (mail["From"], mail.envelope_to) == (supplier.from_address, ["olga@example.org"])
    assert "Visitor 0" in mail.get_content()


def test_a_refusing_server_does_not_refuse_the_visitor(worker, supplier, smtp, owner, client) -> None:
    smtp.fail(451, times=None)

    assert submit() == 302

    until(lambda: states() == ["retryable"], what="the job waits for its next try")
    client.force_login(owner)
    assert "Visitor 0" in client.get("/admin/requests/accessrequest/").content.decode()


def test_fifteen_at_once_give_five_mails_and_lose_nothing(worker, supplier, smtp, owner, client) -> None:
    answers: list[int] = []
    threads = [threading.Thread(target=lambda n=n: answers.append(submit(n))) for n in range(15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert answers == [302] * 15
    until(lambda: states() == ["completed"] * 15, seconds=30, what="all jobs are completed")
    assert len(smtp.mails) == 5
    client.force_login(owner)
    page = client.get("/admin/requests/accessrequest/").content.decode()
    assert all(f"visitor{n}@example.net" in page for n in range(15))


def test_without_a_supplier_the_job_completes_and_nobody_is_mailed(worker, owner, smtp) -> None:
    assert submit() == 302

    until(lambda: states() == ["completed"], what="the job is completed")
    assert smtp.mails == []
    assert AccessRequest.objects.count() == 1
