"""Operation, call outside, operation: for effects whose caller waits by decision, and what must be counted first."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse

from accounts import operations, smtp
from accounts.delivery import compose, server
from accounts.models import MailSupplier, Owner, RecoveryPhrase
from accounts.queries import supplier_of, verified_supplier
from accounts.vault import Unreadable
from tasks.declare import Caller
from tasks.errors import BadInput


def connect_supplier(
    by: Caller,
    *,
    host: str,
    port: int = 587,
    security: str = "starttls",
    user: str = "",
    password: str = "",
    from_address: str,
) -> MailSupplier:
    """Sign in to the server for real, and keep it as the owner's supplier only if that works.

    An empty password means the stored one, where nothing else than the From address is changed.
    """
    wrong = {}
    host = host.strip()
    if not host or len(host) > 253 or any(c.isspace() or c in "/@" for c in host):
        wrong["host"] = "must be the name of the mail server, such as smtp.example.org"
    if not 1 <= port <= 65535:
        wrong["port"] = "must be from 1 to 65535"
    if security not in dict(MailSupplier.SECURITY):
        wrong["security"] = "must be starttls, tls or none"
    if len(user) > 254:
        wrong["user"] = "must be 254 characters at most"
    if wrong:
        raise BadInput("; ".join(f"The {name} {what}" for name, what in wrong.items()) + ".", wrong)
    from_address = operations.check_address(from_address, "from_address")
    stored = supplier_of(by.user)
    door = (host, port, security, user)
    same = stored is not None and (stored.host, stored.port, stored.security, stored.user) == door
    keep = same and not password
    try:
        secret = stored.password if keep and stored else password
    except Unreadable as unreadable:
        raise BadInput(f"Type the password again. {unreadable}", {"password": "must be typed again"}) from None
    try:
        smtp.check(smtp.Server(host, port, security, user, secret))
    except (smtp.MailTrouble, ValueError) as trouble:
        raise BadInput(f"Not connected. {trouble}", {"host": str(trouble)}) from trouble
    values = {"host": host, "port": port, "security": security, "user": user, "from_address": from_address}
    return operations.store_supplier(by, values=values, password=None if keep else password)


def proved(by: Caller, password: str, field: str) -> None:
    """Refuse a wrong password; that it was wrong has been counted then."""
    if not operations.prove_password(by, password=password):
        raise BadInput("The current password is not right.", {field: "is not right"})


def change_password(by: Caller, *, new: str, again: str, current: str = "", recovered: bool = False) -> Owner:
    """Set a new password. The current one is asked for, except after signing in by a recovery phrase."""
    if not recovered:
        proved(by, current, "current")
    return operations.set_password(by, new=new, again=again)


def change_email(by: Caller, *, current_password: str, address: str, again: str) -> operations.EmailChange:
    """Change the address for an owner who gives the current password."""
    proved(by, current_password, "current_password")
    return operations.set_email(by, address=address, again=again)


@dataclass(frozen=True)
class Recovery:
    """Whether the mail with the phrase went out, and if not, why."""

    sent: bool
    address: str
    trouble: str = ""


def generate_recovery(by: Caller) -> Recovery:
    """Make a new recovery phrase and mail it to the present address while the owner waits.

    The hash is stored first: a phrase that arrived works, whatever the connection said. The mail counts in the
    recipient's hour and is not held back by it.
    """
    supplier = verified_supplier(by.user)
    if supplier is None:
        raise BadInput("No mail can be sent yet: connect and verify a mail supplier first.")
    text = RecoveryPhrase.new_text()
    operations.keep_phrase(by, text=text)
    message = compose(
        f"recovery-{secrets.token_hex(8)}",
        to=by.user.email,
        subject="Your recovery phrase",
        template="accounts/recovery_mail.txt",
        context={"owner": by.user, "text": text, "link": settings.PUBLIC_URL + reverse("recover")},
    )
    recovery = {"message_id": message["Message-ID"], "recipient": by.user.email, "purpose": "owner.recovery"}
    mail = operations.take_slot(by, **recovery, held_back=False).mail
    message["From"] = supplier.from_address
    try:
        smtp.send(server(supplier), message, sender=supplier.from_address, recipient=by.user.email)
    except (smtp.MailTrouble, Unreadable) as trouble:
        if isinstance(trouble, smtp.LoginRefused):
            operations.mark_supplier_broken(by, supplier=supplier, reason=str(trouble))
        return Recovery(False, by.user.email, str(trouble))
    operations.mark_mail_accepted(by, mail=mail)
    return Recovery(True, by.user.email)
