"""What the accounts' periodic work deletes, and that it deletes nothing else."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.contrib.sessions.models import Session
from django.urls import reverse
from django.utils import timezone

from accounts import handlers, operations
from accounts.models import AccessCode, Attempt, CodeMember, EmailToken, OutgoingMail, PendingEmail
from accounts.operations import retention
from tasks.declare import Nothing

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)
BLINK = timedelta(seconds=30)


@pytest.fixture
def code(owner: Any) -> Any:
    """A code that ended so long ago, by "expired" or "revoked"."""

    def make(how: str, ago: timedelta) -> AccessCode:
        now = timezone.now()
        issued = AccessCode.objects.issue(owner_id=owner.pk, email="ana@example.net", at=now - 400 * DAY)
        if how == "expired":
            issued.expires_at = now - ago
        else:
            issued.expires_at, issued.revoked_at = now + DAY, now - ago
        issued.save()
        CodeMember.objects.create(code=issued, joined_at=now - 390 * DAY)
        return issued

    return make


@pytest.mark.parametrize("how", ["expired", "revoked"])
def test_a_code_goes_with_its_members_a_month_after_its_end(code, how: str) -> None:
    code(how, retention.CODES_KEPT + BLINK)
    kept = code(how, retention.CODES_KEPT - BLINK)

    handlers.prune_codes(Nothing())

    assert list(AccessCode.objects.all()) == [kept]
    assert list(CodeMember.objects.values_list("code_id", flat=True)) == [kept.pk]


def test_a_valid_code_stays_however_old_it_is(code) -> None:
    valid = code("expired", -DAY)

    handlers.prune_codes(Nothing())

    assert list(AccessCode.objects.all()) == [valid]


def test_a_code_that_a_request_shows_stays(code, ask) -> None:
    request = ask()
    request.code = code("revoked", 300 * DAY)
    request.save()
    code("revoked", 300 * DAY)

    handlers.prune_codes(Nothing())

    assert list(AccessCode.objects.all()) == [request.code]


def test_sessions_that_have_expired_go(client, owner) -> None:
    client.force_login(owner)
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - BLINK)

    handlers.clear_sessions(Nothing())

    assert Session.objects.count() == 1
    assert client.get("/admin/").status_code == 200


@pytest.mark.parametrize(("ago", "left"), [(retention.EMAIL_CHANGES_KEPT + BLINK, 0), (DAY, 1), (-DAY, 1)])
def test_a_change_of_the_address_goes_a_month_after_it_expired(client, owner, ago: timedelta, left: int) -> None:
    now = timezone.now()
    pending = PendingEmail.objects.create(
        owner=owner, address="new@example.org", requested_at=now, expires_at=now - ago, pending_email_job_id=1
    )
    token = pending.mint(now)

    handlers.prune_email_changes(Nothing())

    assert (PendingEmail.objects.count(), EmailToken.objects.count()) == (left, left)
    if ago == DAY:  # its link still says what is the matter
        assert client.get(reverse("email-confirm", args=[token])).status_code == 410


def test_tries_that_no_limit_counts_any_more_go() -> None:
    now = timezone.now()
    for ago in (retention.ATTEMPTS_KEPT + BLINK, retention.ATTEMPTS_KEPT - BLINK, timedelta()):
        Attempt.objects.create(scope="code", client_hash="x", at=now - ago)

    handlers.prune_attempts(Nothing())

    assert Attempt.objects.count() == 2


def test_no_limit_looks_back_further_than_tries_are_kept() -> None:
    from accounts.operations import codes, recovery
    from requests_app.operations import SUBMISSIONS_WITHIN

    longest = max(codes.WRONG_CODES_WITHIN, recovery.TRIES_WITHIN, SUBMISSIONS_WITHIN)

    assert longest < retention.ATTEMPTS_KEPT


def test_wrong_passwords_that_close_no_door_any_more_go_and_a_closed_door_stays_closed(client, owner) -> None:
    for _ in range(10):
        client.post("/admin/login/", {"username": owner.email, "password": "wrong"})
    old = AccessAttempt.objects.create(ip_address="192.0.2.9", username="x", failures_since_start=1)
    AccessAttempt.objects.filter(pk=old.pk).update(attempt_time=timezone.now() - settings.AXES_COOLOFF_TIME - BLINK)
    for log in (AccessLog, AccessFailureLog):
        log.objects.create(username="recent")
        log.objects.create(username="old")
        log.objects.filter(username="old").update(attempt_time=timezone.now() - retention.SIGN_IN_LOGS_KEPT - BLINK)

    handlers.prune_attempts(Nothing())

    assert not AccessAttempt.objects.filter(pk=old.pk).exists()
    assert [log.objects.count() for log in (AccessLog, AccessFailureLog)] == [1, 1]
    assert client.post("/admin/login/", {"username": owner.email, "password": "wrong"}).status_code == 429


def test_the_record_of_a_mail_goes_a_month_after_it_was_last_touched() -> None:
    now, long_ago = timezone.now(), timezone.now() - retention.MAILS_KEPT - BLINK
    rows = {
        "accepted long ago": {"created_at": long_ago, "slot_at": long_ago, "accepted_at": long_ago},
        "never sent": {"created_at": long_ago},
        "accepted lately": {"created_at": long_ago, "slot_at": long_ago, "accepted_at": now},
        "tried lately": {"created_at": long_ago, "slot_at": now},
        "new": {"created_at": now},
    }
    for name, given in rows.items():
        OutgoingMail.objects.create(message_id=name, recipient="ana@example.net", **given)

    handlers.prune_mails(Nothing())

    left = set(OutgoingMail.objects.values_list("message_id", flat=True))
    assert left == {"accepted lately", "tried lately", "new"}


def test_each_says_how_many_it_deleted(by, code) -> None:
    code("revoked", 300 * DAY)

    assert operations.prune_codes(by) == 1
    assert operations.prune_mails(by) == operations.prune_attempts(by) == operations.prune_email_changes(by) == 0
