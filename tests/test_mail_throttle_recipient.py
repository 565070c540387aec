"""31 requests with one address: 30 mails in an hour, and the last one when there is room."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import OutgoingMail
from requests_app.models import AccessRequest
from tasks import registry
from tasks.models import Task
from tasks.perform import perform
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)
MAILS = Task.objects.filter(kind="access_request.approval_mail")


def test_the_thirty_first_mail_waits_for_room_in_the_hour(worker, supplier, smtp, by) -> None:
    typed = {"email": "ana@example.net", "message": "May I read?"}
    for n in range(31):
        assert Client(REMOTE_ADDR=f"192.0.2.{n}").post("/ask/", typed).status_code == 302

    approve = registry.operations()["access_requests.approve"]
    approvals = [perform(approve, by, request_id=pk) for pk in AccessRequest.objects.values_list("pk", flat=True)]

    assert len({approval.code for approval in approvals}) == 31
    until(lambda: MAILS.filter(state="completed").count() == 30, seconds=60, what="thirty mails are sent")
    until(lambda: MAILS.filter(state="pending", claim__gt=0).count() == 1, what="the last one is snoozed")
    assert sum(mail.envelope_to == ["ana@example.net"] for mail in smtp.mails) == 30

    OutgoingMail.objects.update(slot_at=timezone.now() - timedelta(minutes=61))
    MAILS.filter(state="pending").update(scheduled_at=timezone.now())

    until(lambda: MAILS.filter(state="completed").count() == 31, what="the last one is sent")
    assert sum(mail.envelope_to == ["ana@example.net"] for mail in smtp.mails) == 31
