import pytest

from accounts.models import MailSupplier, OutgoingMail
from tasks import registry
from tasks.models import Task
from tasks.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def approve(by, ask, supplier):
    """Approve a new request; the request and its mail's task."""

    def approved():
        request = ask()
        perform(registry.operations()["access_requests.approve"], by, request_id=request.pk)
        request.refresh_from_db()
        return request, Task.objects.get(pk=request.mail_job_id)

    return approved


def again(task: Task) -> None:
    """Let the task's next attempt be due now."""
    from django.utils import timezone

    Task.objects.filter(pk=task.pk).update(scheduled_at=timezone.now())


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data", "dot"])
def test_a_permanent_refusal_discards_the_mail_and_leaves_the_request_open(approve, smtp, work, stage) -> None:
    smtp.fail(550, at=stage, text="5.1.1 nobody here")
    request, task = approve()

    work()

    task.refresh_from_db()
    request.refresh_from_db()
    assert (task.state, task.attempt) == ("discarded", 1)
    assert (request.status, request.mail_state) == ("open", "failed")
    assert "nobody here" in request.mail_reason


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data", "dot"])
def test_a_temporary_refusal_is_tried_again_and_then_sent(approve, smtp, work, stage) -> None:
    smtp.fail(451, at=stage)
    request, task = approve()

    work()
    task.refresh_from_db()
    request.refresh_from_db()
    assert (task.state, request.mail_state, request.status) == ("retryable", "sending", "open")
    assert 17 <= (task.scheduled_at - task.claimed_at).total_seconds() <= 23
    assert "451" in task.last_error

    again(task)
    work()
    request.refresh_from_db()
    assert (request.mail_state, request.status) == ("sent", "replied")
    assert len(smtp.mails) == 1


def test_a_refused_login_discards_the_mail_and_marks_the_supplier_broken(approve, smtp, work) -> None:
    request, task = approve()
    smtp.fail(535)

    work()

    task.refresh_from_db()
    supplier = MailSupplier.objects.get()
    assert task.state == "discarded"
    assert supplier.state == "broken"
    assert "535" in supplier.trouble


def test_a_connection_lost_before_the_final_dot_is_tried_again(approve, smtp, work) -> None:
    smtp.cut("before_dot")
    request, task = approve()

    work()
    task.refresh_from_db()
    assert task.state == "retryable"

    again(task)
    work()
    assert len(smtp.mails) == 1


def test_a_connection_lost_after_the_final_dot_is_tried_once_more_with_the_same_id(approve, smtp, work) -> None:
    smtp.cut("after_dot", keep=True)
    request, task = approve()

    work()
    task.refresh_from_db()
    assert task.state == "retryable"
    again(task)
    work()

    request.refresh_from_db()
    assert request.mail_state == "sent"
    assert [mail["Message-ID"] for mail in smtp.mails] == [f"<approval-{request.code_id}@standmeet>"] * 2


def test_a_connection_lost_twice_after_the_final_dot_is_discarded_as_may_have_arrived(approve, smtp, work) -> None:
    smtp.cut("after_dot", times=3)
    request, task = approve()

    work()
    again(task)
    work()

    task.refresh_from_db()
    request.refresh_from_db()
    assert task.state == "discarded"
    assert "may have arrived" in request.mail_reason
    assert OutgoingMail.objects.get().uncertain == 2


def test_a_server_that_does_not_answer_is_tried_again(approve, smtp, work) -> None:
    MailSupplier.objects.update(port=1)
    request, task = approve()

    work()

    task.refresh_from_db()
    assert task.state == "retryable"


def test_a_disconnected_supplier_discards_the_mail(approve, by, work) -> None:
    request, task = approve()
    perform(registry.operations()["suppliers.disconnect"], by)

    work()

    request.refresh_from_db()
    assert (request.mail_state, request.mail_reason) == ("failed", "No mail supplier is connected.")


def test_an_accepted_mail_is_not_sent_again_when_its_job_runs_twice(approve, smtp, work) -> None:
    request, task = approve()
    work()
    Task.objects.filter(pk=task.pk).update(state="pending", attempt=0, finalized_at=None)

    work()

    assert len(smtp.mails) == 1
