from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction

from accounts.ledger import HOUR
from accounts.models import OutgoingMail
from tasks.declare import Caller

MAILS_AN_HOUR = 30  # to one recipient


@dataclass(frozen=True)
class Slot:
    """`wait` is how long there is no room for the mail, if there is none."""

    mail: OutgoingMail
    wait: timedelta | None = None


@transaction.atomic(durable=True)
def take_slot(by: Caller, *, message_id: str, recipient: str, purpose: str, held_back: bool = True) -> Slot:
    """Give this mail its place among the recipient's mails of the hour, or say when there is one.

    `held_back=False`: it counts, and goes out all the same.
    """
    address = recipient.lower()
    OutgoingMail.objects.hold(address)
    mail, _ = OutgoingMail.objects.get_or_create(
        message_id=message_id, defaults={"recipient": address, "purpose": purpose, "created_at": by.at}
    )
    if mail.accepted_at is not None:
        return Slot(mail)
    others = OutgoingMail.objects.filter(recipient=address).exclude(pk=mail.pk).in_the_hour_before(by.at)
    taken = sorted(others.values_list("slot_at", flat=True))
    if held_back and len(taken) >= MAILS_AN_HOUR:
        return Slot(mail, taken[-MAILS_AN_HOUR] + HOUR - by.at)
    mail.slot_at = by.at
    mail.save(update_fields=["slot_at"])
    return Slot(mail)


@transaction.atomic(durable=True)
def mark_mail_accepted(by: Caller, *, mail: OutgoingMail) -> None:
    OutgoingMail.objects.filter(pk=mail.pk).update(accepted_at=by.at)


@transaction.atomic(durable=True)
def mark_mail_uncertain(by: Caller, *, mail: OutgoingMail) -> int:
    """Count a connection lost after the final dot; returns how often that has happened to this mail."""
    locked = OutgoingMail.objects.select_for_update().get(pk=mail.pk)
    locked.uncertain += 1
    locked.save(update_fields=["uncertain"])
    return locked.uncertain
