import threading
from datetime import timedelta

import pytest
from django.db import connection, connections
from django.utils import timezone

from accounts.models import MailSupplier
from requests_app.models import AccessRequest
from tasks import registry
from tasks.declare import Caller
from tasks.models import Event, Task
from tasks.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)


def submit(n: int = 0, **given: str):
    by = Caller(None, timezone.now(), "public")
    values = {"name": f"Visitor {n}", "email": f"visitor{n}@example.net", "message": "May I read?", **given}
    return perform(registry.operations()["access_requests.submit"], by, **values, client=f"192.0.2.{n}")


def test_the_owner_is_mailed_who_asks_and_what(owner, supplier, smtp, work) -> None:
    submit(name="Ana\nInjected: header", message="I would like to read about locks.")

    assert work() == ["owner.notify"]

    [mail] = smtp.mails
    assert mail.envelope_to == ["olga@example.org"]
    assert mail["From"] == supplier.from_address
    assert mail["Reply-To"] == "visitor0@example.net"
    assert mail["Message-ID"] == f"<event-{Event.objects.get().pk}@standmeet>"
    assert mail["Injected"] is None
    assert "I would like to read about locks." in mail.get_content()
    assert "visitor0@example.net" in mail.get_content()


def test_fifteen_requests_give_five_mails_and_fifteen_completed_jobs(owner, supplier, smtp, work) -> None:
    for n in range(15):
        submit(n)

    work()

    assert len(smtp.mails) == 5
    assert list(Task.objects.values_list("state", flat=True)) == ["completed"] * 15
    assert AccessRequest.objects.count() == 15


def test_twenty_connections_at_once_give_exactly_five_mails(owner, supplier, smtp) -> None:
    events = [submit(n) for n in range(20)] and list(Event.objects.order_by("occurred_at"))
    handler = registry.resolve(registry.kinds()["owner.notify"].handler)
    barrier, argument = threading.Barrier(20), registry.kinds()["owner.notify"].args

    def run(event: Event) -> None:
        barrier.wait()
        handler(argument(str(event.pk)))
        connection.close()

    threads = [threading.Thread(target=run, args=(event,)) for event in events]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    connections.close_all()

    assert len(smtp.mails) == 5


def test_an_hour_later_there_is_room_again(owner, supplier, smtp, work) -> None:
    for n in range(6):
        submit(n)
    work()
    AccessRequest.objects.filter(notice_at__isnull=False).update(notice_at=timezone.now() - timedelta(minutes=61))

    submit(7)
    work()

    assert len(smtp.mails) == 6


def test_a_retry_keeps_its_place(owner, supplier, smtp, work) -> None:
    smtp.fail(451)
    submit(0)
    work()
    for n in range(1, 8):
        submit(n)
    work()
    assert len(smtp.mails) == 4

    Task.objects.filter(state="retryable").update(scheduled_at=timezone.now())
    work()

    assert len(smtp.mails) == 5
    assert "visitor0@example.net" in smtp.mails[-1].get_content()


def test_an_owner_who_was_mailed_is_not_mailed_again_for_the_request(owner, supplier, smtp, work) -> None:
    submit()
    work()
    Task.objects.update(state="pending", attempt=0, finalized_at=None)

    work()

    assert len(smtp.mails) == 1


@pytest.mark.parametrize("state", ["none", "disconnected", "broken"])
def test_without_a_supplier_the_job_completes_without_a_mail(owner, smtp, work, request, state) -> None:
    if state != "none":
        request.getfixturevalue("supplier")
        MailSupplier.objects.update(state=state)

    submit()
    work()

    assert Task.objects.get().state == "completed"
    assert smtp.mails == []


def test_a_refused_mail_leaves_the_request_in_the_list_and_is_tried_again(owner, supplier, smtp, work) -> None:
    smtp.fail(451)

    submit()
    work()

    assert AccessRequest.objects.count() == 1
    assert Task.objects.get().state == "retryable"
