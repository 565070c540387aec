import threading
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from accounts import operations
from accounts.delivery import handler
from accounts.models import OutgoingMail
from tasks import registry
from tasks.models import Task
from tasks.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)


def approve(by, ask, n: int, email: str = "ana@example.net"):
    return perform(registry.operations()["access_requests.approve"], by, request_id=ask(email=email).pk)


def test_the_thirty_first_mail_of_an_hour_waits_and_then_goes_out(by, ask, supplier, smtp, work) -> None:
    approvals = [approve(by, ask, n) for n in range(31)]
    work()

    assert len(smtp.mails) == 30
    last = Task.objects.get(pk=approvals[30].mail.job_id)
    assert (last.state, last.attempt) == ("pending", 0)
    assert timedelta(minutes=55) < last.scheduled_at - timezone.now() < timedelta(minutes=61)

    OutgoingMail.objects.update(slot_at=timezone.now() - timedelta(minutes=61))
    Task.objects.filter(pk=last.pk).update(scheduled_at=timezone.now())
    work()
    assert len(smtp.mails) == 31


def test_a_retry_of_one_mail_costs_the_others_no_place(by, ask, supplier, smtp, work) -> None:
    smtp.fail(451, times=5)
    first = approve(by, ask, 0)
    for _ in range(5):
        work()
        Task.objects.filter(pk=first.mail.job_id).update(scheduled_at=timezone.now())
    work()

    for n in range(1, 30):
        approve(by, ask, n)
    work()

    assert len(smtp.mails) == 30
    assert OutgoingMail.objects.count() == 30


def test_another_recipient_is_not_held_up(by, ask, supplier, smtp, work) -> None:
    for n in range(31):
        approve(by, ask, n)
    approve(by, ask, 32, "carl@example.net")

    work()

    assert sum(mail.envelope_to == ["carl@example.net"] for mail in smtp.mails) == 1


def test_forty_connections_at_once_take_thirty_places(owner) -> None:
    barrier, slots = threading.Barrier(40), []

    def take(n: int) -> None:
        barrier.wait()
        slots.append(operations.take_slot(handler(), message_id=f"<{n}@x>", recipient="A@example.net", purpose="p"))
        connection.close()

    threads = [threading.Thread(target=take, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sum(slot.wait is None for slot in slots) == 30
