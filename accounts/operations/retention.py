"""What is deleted of the accounts' rows, and when: by the clock (accounts/catalog.py)."""

from datetime import timedelta
from importlib import import_module

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from accounts.models import AccessCode, Attempt, OutgoingMail, PendingEmail
from tasks.declare import Caller

CODES_KEPT = timedelta(days=30)  # after their end
EMAIL_CHANGES_KEPT = timedelta(days=30)  # after their end, so that a late click is told "expired" and not "invalid"
ATTEMPTS_KEPT = timedelta(days=1)  # no limit looks back further than an hour
# The rate of mails looks back an hour; but a mail that is tried again must be known by its id, and a failed one may be
# retried for 7 days.
MAILS_KEPT = timedelta(days=30)
SIGN_IN_LOGS_KEPT = timedelta(days=30)


@transaction.atomic(durable=True)
def clear_sessions(by: Caller) -> None:
    """Django's clearsessions: the sessions that have expired, visitors' and the owner's."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()


@transaction.atomic(durable=True)
def prune_codes(by: Caller) -> int:
    """Codes that ended long ago, with their members; not those that a row elsewhere still shows."""
    ended = Q(expires_at__lt=by.at - CODES_KEPT) | Q(revoked_at__lt=by.at - CODES_KEPT)
    codes = AccessCode.objects.filter(ended)
    for relation in AccessCode._meta.get_fields(include_hidden=True):
        if relation.one_to_many and not relation.related_model._meta.label_lower.startswith("accounts."):
            named = relation.related_model._base_manager.filter(**{f"{relation.field.name}__isnull": False})
            codes = codes.exclude(pk__in=named.values(relation.field.attname))
    return _deleted(codes.delete(), AccessCode)


@transaction.atomic(durable=True)
def prune_email_changes(by: Caller) -> int:
    """Changes of the e-mail address that nobody confirmed, with the hashes of their links."""
    return _deleted(PendingEmail.objects.filter(expires_at__lt=by.at - EMAIL_CHANGES_KEPT).delete(), PendingEmail)


@transaction.atomic(durable=True)
def prune_attempts(by: Caller) -> int:
    """Tries that no limit counts any more, and wrong passwords from before the present quarter of an hour."""
    AccessAttempt.objects.filter(attempt_time__lt=by.at - settings.AXES_COOLOFF_TIME).delete()
    for log in (AccessLog, AccessFailureLog):
        log.objects.filter(attempt_time__lt=by.at - SIGN_IN_LOGS_KEPT).delete()
    return _deleted(Attempt.objects.filter(at__lt=by.at - ATTEMPTS_KEPT).delete(), Attempt)


@transaction.atomic(durable=True)
def prune_mails(by: Caller) -> int:
    """The ledger of mails that went out, or were last tried, long ago."""
    before = by.at - MAILS_KEPT
    old = OutgoingMail.objects.filter(created_at__lt=before)
    old = old.exclude(slot_at__gte=before).exclude(accepted_at__gte=before)
    return _deleted(old.delete(), OutgoingMail)


def _deleted(result: tuple[int, dict[str, int]], model: type) -> int:
    return result[1].get(model._meta.label, 0)  # type: ignore[attr-defined]
