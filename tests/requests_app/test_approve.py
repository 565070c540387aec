import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import AccessCode
from requests_app.models import AccessRequest
from tasks import registry
from tasks.errors import BadInput, NotFound, WrongState
from tasks.models import Event, Task
from tasks.perform import perform
from tasks.queue import control

pytestmark = pytest.mark.django_db(transaction=True)


def do(name, by, **given):
    return perform(registry.operations()[f"access_requests.{name}"], by, **given)


def test_approving_issues_a_code_at_once_and_queues_its_mail(by, ask, supplier) -> None:
    request = ask()

    approval = do("approve", by, request_id=request.pk)

    assert approval.code.startswith("inv-")
    assert len(approval.code) == 10
    assert approval.link.endswith(f"/?code={approval.code}")
    assert approval.mail.state == "sending"
    assert Task.objects.get(pk=approval.mail.job_id).kind == "access_request.approval_mail"
    request.refresh_from_db()
    assert request.mail_job_id == approval.mail.job_id
    assert request.status == "open"


def test_the_request_is_replied_only_after_the_mail_is_accepted(by, ask, supplier, smtp, work) -> None:
    request = ask(email="ana@example.net")
    approval = do("approve", by, request_id=request.pk)

    assert work() == ["access_request.approval_mail"]

    request.refresh_from_db()
    assert (request.status, request.mail_state) == ("replied", "sent")
    [mail] = smtp.mails
    assert mail.envelope_to == ["ana@example.net"]
    assert mail["From"] == "olga@example.org"
    assert mail["Message-ID"] == f"<approval-{request.code_id}@standmeet>"
    lines = mail.get_content().splitlines()
    assert approval.code in lines
    assert approval.link in lines
    assert Event.objects.filter(subject=f"access_request/{request.pk}").count() == 2


def test_a_second_approve_gives_the_same_code_and_no_second_mail(by, ask, supplier, smtp, work) -> None:
    request = ask()
    first = do("approve", by, request_id=request.pk)
    second = do("approve", by, request_id=request.pk)
    work()
    third = do("approve", by, request_id=request.pk)

    assert second == first
    assert (third.code, third.mail.job_id, third.mail.state) == (first.code, first.mail.job_id, "sent")
    assert len(smtp.mails) == 1
    assert Task.objects.count() == 1


def test_approving_in_two_tabs_at_once_issues_one_code(by, ask, supplier) -> None:
    request, results, barrier = ask(), [], threading.Barrier(2)

    def tab() -> None:
        barrier.wait()
        results.append(do("approve", by, request_id=request.pk))
        connection.close()

    tabs = [threading.Thread(target=tab) for _ in range(2)]
    for thread in tabs:
        thread.start()
    for thread in tabs:
        thread.join(10)

    assert results[0] == results[1]
    assert AccessCode.objects.count() == 1
    assert Task.objects.count() == 1


def test_approving_again_after_the_mail_was_cancelled_queues_a_new_one(by, ask, supplier) -> None:
    request = ask()
    first = do("approve", by, request_id=request.pk)
    control.cancel(first.mail.job_id)
    request.refresh_from_db()
    assert (request.mail_state, request.status) == ("failed", "open")
    assert "cancelled" in request.mail_reason

    second = do("approve", by, request_id=request.pk)

    assert second.code == first.code
    assert second.mail.job_id != first.mail.job_id


def test_without_a_supplier_approve_is_refused_before_the_request_is_looked_up(by) -> None:
    with pytest.raises(BadInput, match="connect and verify a mail supplier"):
        do("approve", by, request_id=999)


def test_an_unknown_request_is_not_found(by, supplier) -> None:
    with pytest.raises(NotFound, match="no access request 999"):
        do("approve", by, request_id=999)


def test_an_approval_that_rolls_back_leaves_nothing(by, ask, supplier, monkeypatch) -> None:
    request = ask()

    def refuse(*args: object, **kwargs: object) -> None:
        raise RuntimeError("the last statement fails")

    monkeypatch.setattr("requests_app.operations.record", refuse)
    with pytest.raises(RuntimeError, match="last statement"):
        do("approve", by, request_id=request.pk)

    assert not Task.objects.exists()
    assert not AccessCode.objects.exists()
    request.refresh_from_db()
    assert (request.mail_state, request.code) == ("", None)


def test_a_closed_request_may_still_be_approved(by, ask, supplier, work) -> None:
    request = ask()
    do("close", by, request_id=request.pk)

    do("approve", by, request_id=request.pk)
    work()

    request.refresh_from_db()
    assert request.status == "replied"


def test_another_owners_request_is_not_found(by, ask, supplier) -> None:
    from accounts.models import Owner

    other = Owner.objects.create_superuser("other@example.org", "correct horse battery")
    AccessRequest.objects.update(owner=other)
    request = ask()
    AccessRequest.objects.filter(pk=request.pk).update(owner=other)

    with pytest.raises(NotFound):
        do("approve", by, request_id=request.pk)


def test_a_failed_mail_is_sent_again_by_the_same_job(by, ask, supplier, smtp, work) -> None:
    request = ask()
    smtp.fail(550)
    first = do("approve", by, request_id=request.pk)
    work()
    request.refresh_from_db()
    assert (request.mail_state, request.status) == ("failed", "open")
    assert "550" in request.mail_reason

    again = do("retry_mail", by, request_id=request.pk)
    work()

    assert again.mail.job_id == first.mail.job_id
    request.refresh_from_db()
    assert (request.mail_state, request.mail_reason, request.status) == ("sent", "", "replied")


def test_a_failed_mail_whose_job_was_pruned_gets_a_new_job(by, ask, supplier, smtp, work) -> None:
    request = ask()
    smtp.fail(550)
    first = do("approve", by, request_id=request.pk)
    work()
    Task.objects.all().delete()

    again = do("retry_mail", by, request_id=request.pk)
    work()

    assert again.mail.job_id != first.mail.job_id
    request.refresh_from_db()
    assert request.mail_state == "sent"


def test_a_mail_that_was_sent_is_not_sent_again(by, ask, supplier, work) -> None:
    request = ask()
    do("approve", by, request_id=request.pk)
    work()

    with pytest.raises(WrongState, match="no failed mail"):
        do("retry_mail", by, request_id=request.pk)


def test_a_revoked_code_is_replaced_by_a_new_approval(by, ask, supplier, smtp, work) -> None:
    request = ask()
    first = do("approve", by, request_id=request.pk)
    work()
    perform(registry.operations()["codes.revoke"], by, code_id=AccessCode.objects.get().pk)

    second = do("approve", by, request_id=request.pk)
    work()

    assert second.code != first.code
    assert len(smtp.mails) == 2


def test_a_code_is_valid_for_180_days(by, ask, supplier) -> None:
    do("approve", by, request_id=ask().pk)

    code = AccessCode.objects.get()

    assert code.expires_at - code.issued_at == timedelta(days=180)
    assert code.is_valid_at(timezone.now() + timedelta(days=179))
    assert not code.is_valid_at(timezone.now() + timedelta(days=181))


def test_closing_a_request_cancels_a_mail_that_has_not_gone_out(by, ask, supplier, smtp, work) -> None:
    request = ask()
    approval = do("approve", by, request_id=request.pk)

    do("close", by, request_id=request.pk)

    assert work() == []
    request.refresh_from_db()
    assert (request.status, request.mail_state) == ("closed", "failed")
    assert Task.objects.get(pk=approval.mail.job_id).state == "cancelled"
    assert smtp.mails == []
