"""Sending one mail through the owner's supplier: one send, one attempt; send, then mark. For handlers."""

from email.message import EmailMessage
from typing import Any

from django.utils import timezone

from accounts import operations, smtp
from accounts.models import MailSupplier
from accounts.queries import supplier_of
from accounts.states import SupplierState
from accounts.vault import Unreadable
from tasks.declare import Caller
from tasks.queue.outcomes import Discard

UNCERTAIN_SENDS = 1  # how often a mail that may have arrived is sent once more


def handler() -> Caller:
    return Caller(None, timezone.now(), "task")


def server(supplier: MailSupplier) -> smtp.Server:
    return smtp.Server(supplier.host, supplier.port, supplier.security, supplier.user, supplier.password)


def deliver(owner: Any, message: EmailMessage) -> None:
    """Return when the supplier has accepted the mail (it is not sent again once that is known).

    Raises Discard for what cannot succeed, and smtp.MailTrouble for what may the next time. contract.md, section 5.
    """
    supplier = supplier_of(owner)
    if supplier is None or supplier.state == SupplierState.DISCONNECTED:
        raise Discard("No mail supplier is connected.")
    if supplier.state == SupplierState.BROKEN:
        raise Discard(f"The mail supplier is marked broken: {supplier.trouble}")
    recipient = message["To"].addresses[0].addr_spec
    mail = operations.open_mail(handler(), message_id=message["Message-ID"], recipient=recipient)
    if mail.accepted_at:
        return
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
            raise Discard(f"It may have arrived: {lost}") from lost
        raise
    operations.mark_mail_accepted(handler(), mail=mail)
