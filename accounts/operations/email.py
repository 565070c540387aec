from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts import events, vault, work
from accounts.addresses import deliverable
from accounts.email_change import VALID
from accounts.models import EmailToken, Owner, PendingEmail
from accounts.queries import verified_supplier
from tasks.declare import Caller
from tasks.errors import BadInput, NotFound
from tasks.events.record import record
from tasks.queue.enqueue import enqueue


def check_address(address: str, field: str) -> str:
    try:
        validate_email(address.strip())
        deliverable(address.strip())
    except ValidationError:
        raise BadInput("Give a complete e-mail address.", {field: "must be a complete e-mail address"}) from None
    return address.strip()


@dataclass(frozen=True)
class EmailChange:
    """`pending` is None where the change applied at once."""

    address: str
    pending: PendingEmail | None


@transaction.atomic(durable=True)
def set_email(by: Caller, *, address: str, again: str) -> EmailChange:
    """Ask the new address to confirm, where mail can be sent; change it at once where not."""
    owner = Owner.objects.select_for_update().get(pk=by.user.pk)
    address = check_address(address, "address")
    if address != again.strip():
        raise BadInput("The two addresses differ.", {"again": "must be the same as the new address"})
    if address == owner.email:
        raise BadInput("This is your address already.", {"address": "must be another one than now"})
    if Owner.objects.filter(email__iexact=address).exclude(pk=owner.pk).exists():
        raise BadInput("Another owner has this address.", {"address": "must not be in use"})
    forget_pending(owner)
    if verified_supplier(owner) is None:
        apply(by, owner, address)
        return EmailChange(address, None)
    pending = PendingEmail(owner=owner, address=address, requested_at=by.at, expires_at=by.at + VALID)
    return EmailChange(address, mail_link(pending))


@transaction.atomic(durable=True)
def resend_email_confirmation(by: Caller) -> PendingEmail:
    """Queue another mail with a link of its own. Earlier links keep working; the day runs on."""
    pending = PendingEmail.objects.select_for_update().filter(owner=by.user).first()
    if pending is None or not pending.is_open_at(by.at):
        raise NotFound("No change of the e-mail address is pending.")
    if verified_supplier(by.user) is None:
        raise BadInput("No mail can be sent yet: connect and verify a mail supplier first.")
    return mail_link(pending)


def mail_link(pending: PendingEmail) -> PendingEmail:
    pending.pending_email_job_id, pending.mail_state, pending.mail_reason = 0, "sending", ""
    pending.save()
    pending.pending_email_job_id = enqueue(work.EMAIL_CONFIRMATION, work.EmailConfirmation(pending.pk))
    pending.save(update_fields=["pending_email_job_id"])
    return pending


def forget_pending(owner: Owner) -> bool:
    """Locked first: a token that is being minted would keep the row."""
    pending = PendingEmail.objects.select_for_update().filter(owner=owner).first()
    return bool(pending and pending.delete())


@transaction.atomic(durable=True)
def cancel_email_change(by: Caller) -> None:
    """Forget the new address; links to it confirm nothing any more."""
    if not forget_pending(Owner.objects.select_for_update().get(pk=by.user.pk)):
        raise NotFound("No change of the e-mail address is pending.")


@transaction.atomic(durable=True)
def mint_email_token(by: Caller, *, pending_id: int) -> str | None:
    """A token for the mail that is about to be sent; None where that address is no longer the pending one."""
    pending = PendingEmail.objects.select_for_update().filter(pk=pending_id).first()
    return pending.mint(by.at) if pending and pending.is_open_at(by.at) else None


@dataclass(frozen=True)
class Confirmation:
    """How a link ends: "confirmed", "expired" or "invalid"."""

    ending: str
    address: str = ""


@transaction.atomic(durable=True)
def confirm_email(by: Caller, *, token: str) -> Confirmation:
    """Make the pending address the owner's. It signs nobody in and out."""
    found = find_token(token)
    if found is None:
        return Confirmation("invalid")
    owner = Owner.objects.select_for_update().get(pk=found.pending.owner_id)
    pending = PendingEmail.objects.select_for_update().filter(pk=found.pending_id).first()
    if pending is None:
        return Confirmation("invalid")
    if not pending.is_open_at(by.at):
        return Confirmation("expired", pending.address)
    if Owner.objects.filter(email__iexact=pending.address).exclude(pk=owner.pk).exists():
        return Confirmation("invalid")
    before = owner.email
    pending.delete()
    apply(by, owner, pending.address)
    enqueue(work.EMAIL_NOTICE, work.EmailNotice(owner.pk, before, pending.address))
    return Confirmation("confirmed", pending.address)


def find_token(token: str) -> EmailToken | None:
    return EmailToken.objects.filter(hash__in=vault.hashes("email token", token)).select_related("pending").first()


@transaction.atomic(durable=True)
def restore_email(by: Caller, *, address: str) -> Owner:
    """From the machine's shell: set the address at once, whoever changed it."""
    owner = Owner.objects.select_for_update().get(pk=by.user.pk)
    address = check_address(address, "address")
    if Owner.objects.filter(email__iexact=address).exclude(pk=owner.pk).exists():
        raise BadInput("Another owner has this address.", {"address": "must not be in use"})
    forget_pending(owner)
    apply(by, owner, address)
    return owner


def apply(by: Caller, owner: Owner, address: str) -> None:
    owner.email = address
    owner.save(update_fields=["email"])
    changed = events.OwnerRef(owner.pk)
    record(events.EMAIL_CHANGED, changed, by, owner=owner, subject=f"owner/{owner.pk}")
