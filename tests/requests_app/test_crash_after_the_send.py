"""The worker is killed between the server's 250 and the last mark: no mail is lost, and a second one is sent only in
the window before the first mark."""

import os
import signal

import pytest

from requests_app.models import AccessRequest
from tasks import registry
from tasks.models import Task
from tasks.perform import perform
from tasks.queue.direct import connect
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approve(by, ask, supplier, start_worker):
    def approved() -> Task:
        worker = start_worker("notify=1")
        until(lambda: len(worker.children()) == 4, what="the worker is up")
        job_id = perform(registry.operations()["access_requests.approve"], by, request_id=ask().pk).mail.job_id
        return until(lambda: Task.objects.filter(pk=job_id, state="running").select_related("worker").first())

    return approved


def kill(task: Task) -> None:
    os.kill(task.worker.pid, signal.SIGKILL)


def test_killed_before_anything_is_marked_it_sends_the_same_mail_twice(approve, smtp) -> None:
    smtp.hang(30, at="quit")
    task = approve()
    smtp.wait_for(1)

    kill(task)

    until(lambda: AccessRequest.objects.get().status == "replied", what="the request is replied")
    assert len({mail["Message-ID"] for mail in smtp.mails}) == 1
    assert 1 <= len(smtp.mails) <= 2


@pytest.mark.parametrize(
    ("table", "mails"), [("accounts_outgoingmail", 2), ("requests_accessrequest", 1), ("tasks_event", 1)]
)
def test_killed_while_it_marks_it_sends_again_only_before_the_mail_is_marked(approve, smtp, table, mails) -> None:
    with connect("test") as blocker:
        smtp.hang(2, at="dot")  # until the table is blocked
        task = approve()
        smtp.wait_for_attempts(1)
        blocker.autocommit = False
        blocker.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE")
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            " AND pid <> pg_backend_pid()"
        )
        until(lambda: blocker.execute(waiting).fetchone()[0], what="the worker wants to mark")
        assert len(smtp.mails) == 1

        kill(task)
        blocker.rollback()

    until(lambda: AccessRequest.objects.get().status == "replied", what="the request is replied")
    until(lambda: Task.objects.get(pk=task.pk).state == "completed", what="the job is completed")
    assert len(smtp.mails) == mails
    assert len({mail["Message-ID"] for mail in smtp.mails}) == 1
