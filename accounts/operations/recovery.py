from datetime import timedelta

from django.db import transaction

from accounts import events, vault
from accounts.models import Attempt, Owner, RecoveryPhrase
from tasks.declare import Caller
from tasks.events.record import record

TRIES = 10  # of one client
TRIES_ALL = 100  # for one address, from everywhere: few enough, and not so few that a stranger keeps the owner out
TRIES_WITHIN = timedelta(minutes=15)


@transaction.atomic(durable=True)
def keep_phrase(by: Caller, *, text: str) -> None:
    """Store the hash of a new phrase; an earlier phrase ends."""
    hashed = vault.hashes("recovery phrase", text.replace("-", ""))[0]
    RecoveryPhrase.objects.update_or_create(owner=by.user, defaults={"hash": hashed, "generated_at": by.at})
    asked = events.OwnerRef(by.user.pk)
    record(events.RECOVERY_REQUESTED, asked, by, owner=by.user, subject=f"owner/{by.user.pk}")


@transaction.atomic(durable=True)
def recover(by: Caller, *, email: str, phrase: str, client: str) -> Owner | None:
    """The owner whose phrase this is, and the phrase is spent; None for a wrong phrase and an unknown address alike."""
    tries = [
        Attempt.objects.spend("recovery client", client, most=TRIES, within=TRIES_WITHIN, at=by.at),
        Attempt.objects.spend("recovery address", email.strip().lower(), most=TRIES_ALL, within=TRIES_WITHIN, at=by.at),
    ]
    # One look at each table, whatever is wrong: the answer takes the same time.
    owner = Owner.objects.filter(email__iexact=email.strip(), is_active=True).first()
    found = RecoveryPhrase.objects.with_text(phrase).select_for_update().first()
    if owner is None or found is None or found.owner_id != owner.pk:
        return None
    found.delete()
    for attempt in tries:
        attempt.delete()
    return owner


@transaction.atomic(durable=True)
def record_login(by: Caller) -> None:
    record(events.LOGIN, events.OwnerRef(by.user.pk), by, owner=by.user, subject=f"owner/{by.user.pk}")
