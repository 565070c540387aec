"""Sending one mail through the owner's supplier: one send, one attempt; send, then mark. For handlers."""

from datetime import timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from typing import Any

from django.template.loader import render_to_string
from django.utils import timezone

from accounts import operations, smtp
from accounts.models import MailSupplier
from accounts.queries import supplier_of
from accounts.states import SupplierState
from accounts.vault import Unreadable
from tasks.declare import Caller
from tasks.queue.outcomes import Discard, Snooze

CANCELLED = "It was cancelled. If it was being sent at that moment, it may have arrived."
UNCERTAIN_SENDS = 1  # how often a mail that may have arrived is sent once more


def handler() -> Caller:
    return Caller(None, timezone.now(), "task")


def server(supplier: MailSupplier) -> smtp.Server:
    return smtp.Server(supplier.host, supplier.port, supplier.security, supplier.user, supplier.password)


def compose(
    message_id: str, *, to: str, subject: str, template: str, context: dict[str, Any], reply_to: str = ""
) -> EmailMessage:
    """A mail of ours; the supplier's address becomes its From. The same id on a retry makes it the same mail."""
    message = EmailMessage()
    message["Message-ID"] = f"<{message_id}@standmeet>"
    message["Date"] = format_datetime(timezone.now())
    # A visitor's text may hold encoded words (RFC 2047), which some Pythons decode here into new header lines.
    message["Subject"] = " ".join(subject.replace("=?", "= ?").split())
    message["To"] = Address(addr_spec=to)
    if reply_to:
        message["Reply-To"] = Address(addr_spec=reply_to)
    message.set_content(render_to_string(template, context))
    return message


def deliver(owner: Any, message: EmailMessage, *, purpose: str) -> None:
    """Return when the supplier has accepted the mail (it is not sent again once that is known).

    Raises Discard for what cannot succeed, Snooze while the recipient's hour is full, and smtp.MailTrouble for what
    may go better the next time. contract.md, section 5.
    """
    supplier = supplier_of(owner)
    if supplier is None or supplier.state == SupplierState.DISCONNECTED:
        raise Discard("No mail supplier is connected.")
    if supplier.state == SupplierState.BROKEN:
        raise Discard(f"The mail supplier is marked broken: {supplier.trouble}")
    recipient = message["To"].addresses[0].addr_spec
    slot = operations.take_slot(
        handler(), message_id=message["Message-ID"], recipient=recipient, purpose=purpose, held_back=True
    )
    mail = slot.mail
    if mail.accepted_at:
        return
    if slot.wait is not None:
        raise Snooze(slot.wait + timedelta(seconds=1), f"{recipient} had {operations.MAILS_AN_HOUR} mails in an hour.")
    if message["From"] is None:
        message["From"] = supplier.from_address
    try:
        smtp.send(server(supplier), message, sender=supplier.from_address, recipient=recipient)
    except Unreadable as unreadable:
        raise Discard(f"The supplier's password cannot be read. {unreadable}") from unreadable
    except smtp.LoginRefused as refused:
        operations.mark_supplier_broken(handler(), supplier=supplier, reason=str(refused))
        raise Discard(str(refused)) from refused
    except smtp.Rejected as rejected:
        raise Discard(str(rejected)) from rejected
    except smtp.MayHaveArrived as lost:
        if operations.mark_mail_uncertain(handler(), mail=mail) > UNCERTAIN_SENDS:
            raise Discard(str(lost)) from lost
        raise
    operations.mark_mail_accepted(handler(), mail=mail)
