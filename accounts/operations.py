from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from accounts import events
from accounts.models import AccessCode, Attempt, CodeMember, MailSupplier, OutgoingMail, Owner
from accounts.states import SupplierState
from tasks.declare import Caller
from tasks.errors import BadInput, NotFound
from tasks.events.record import record

WRONG_CODES = 10
WRONG_CODES_WITHIN = timedelta(minutes=15)


@dataclass(frozen=True)
class Redemption:
    """`member` is None for a code that does not let this visitor in; `refusal` says so in words."""

    member: CodeMember | None
    refusal: str = ""


@transaction.atomic(durable=True)
def redeem(by: Caller, *, code: str, client: str, member_id: int | None = None) -> Redemption:
    """Let a visitor in. `member_id` is who their session says they are already. A wrong code is counted, not raised."""
    found = AccessCode.objects.with_text(code).valid_at(by.at).select_for_update().first()
    attempt = Attempt.objects.spend("code", client, most=WRONG_CODES, within=WRONG_CODES_WITHIN, at=by.at)
    if found is None:
        return Redemption(None, "This code is not valid. Check it, or ask for access again.")
    members = list(found.members.all())
    for member in members:
        if member.pk == member_id:
            attempt.delete()
            return Redemption(member)
    if len(members) >= found.members_allowed:
        return Redemption(None, "This code has already been used in another browser. Ask for access again.")
    member = CodeMember.objects.create(code=found, joined_at=by.at)
    attempt.delete()
    redeemed = events.CodeRedeemed(found.pk, member.pk)
    record(events.CODE_REDEEMED, redeemed, by, owner=found.owner, subject=f"code/{found.pk}")
    return Redemption(member)


@transaction.atomic(durable=True)
def revoke_code(by: Caller, *, code_id: int) -> AccessCode:
    """End a code at once; visitors who came in with it are out."""
    code = AccessCode.objects.select_for_update().filter(owner=by.user, pk=code_id).first()
    if code is None:
        raise NotFound("There is no such code.")
    if code.revoked_at is None:
        code.revoke(by.at)
        record(events.CODE_REVOKED, events.CodeRef(code.pk), by, owner=by.user, subject=f"code/{code.pk}")
    return code


def check_address(address: str, field: str) -> str:
    try:
        validate_email(address.strip())
    except ValidationError:
        raise BadInput("Give a complete e-mail address.", {field: "must be a complete e-mail address"}) from None
    return address.strip()


@transaction.atomic(durable=True)
def store_supplier(by: Caller, *, values: dict[str, Any], password: str | None) -> MailSupplier:
    """Keep a supplier that has just been checked; None leaves the stored password as it is."""
    supplier = MailSupplier.objects.select_for_update().filter(owner=by.user).first() or MailSupplier(owner=by.user)
    for name, value in values.items():
        setattr(supplier, name, value)
    if password is not None:
        supplier.password = password
    supplier.become(SupplierState.VERIFIED, by.at)
    connected = events.SupplierRef(supplier.pk, supplier.host)
    record(events.SUPPLIER_CONNECTED, connected, by, owner=by.user, subject=f"supplier/{supplier.pk}")
    return supplier


@transaction.atomic(durable=True)
def disconnect_supplier(by: Caller) -> MailSupplier:
    """Stop sending mail. The password is forgotten; mails that wait to be sent will say that there is no supplier."""
    supplier = MailSupplier.objects.select_for_update().filter(owner=by.user).first()
    if supplier is None:
        raise NotFound("No mail supplier is connected.")
    if supplier.state != SupplierState.DISCONNECTED:
        supplier.become(SupplierState.DISCONNECTED, by.at)
        gone = events.SupplierRef(supplier.pk, supplier.host)
        record(events.SUPPLIER_DISCONNECTED, gone, by, owner=by.user, subject=f"supplier/{supplier.pk}")
    return supplier


@transaction.atomic(durable=True)
def mark_supplier_broken(by: Caller, *, supplier: MailSupplier, reason: str) -> None:
    """The login was refused. Nothing changes where the owner has connected it anew, or another, meanwhile."""
    now = MailSupplier.objects.select_for_update().filter(pk=supplier.pk, verified_at=supplier.verified_at).first()
    if now is None or now.state != SupplierState.VERIFIED:
        return
    now.become(SupplierState.BROKEN, by.at, reason)
    broken = events.SupplierBroken(now.pk, now.host, reason)
    record(events.SUPPLIER_BROKEN, broken, by, owner=now.owner, subject=f"supplier/{now.pk}")


@transaction.atomic(durable=True)
def rotate_secrets() -> tuple[int, int]:
    """Read with either secret and write with the present one; how many suppliers and codes that were."""
    suppliers = MailSupplier.objects.select_for_update().exclude(password_encrypted="")
    for supplier in suppliers:
        supplier.password = supplier.password
        supplier.save(update_fields=["password_encrypted"])
    codes = AccessCode.objects.select_for_update()
    for code in codes:
        code.keep_text(code.text)
        code.save(update_fields=["hash", "text_encrypted"])
    return len(suppliers), len(codes)


@transaction.atomic(durable=True)
def describe(by: Caller, *, full_name: str, introduction: str = "") -> Owner:
    """Set the name and the short introduction on the public page."""
    owner: Owner = by.user
    owner.full_name, owner.introduction = full_name.strip(), introduction.strip()
    try:
        owner.clean_fields(exclude={field.name for field in owner._meta.fields} - {"full_name", "introduction"})
    except ValidationError as error:
        fields = {field: " ".join(said) for field, said in error.message_dict.items()}
        raise BadInput(" ".join(fields.values()), fields) from None
    owner.save(update_fields=["full_name", "introduction"])
    return owner


@transaction.atomic(durable=True)
def open_mail(by: Caller, *, message_id: str, recipient: str) -> OutgoingMail:
    mail, _ = OutgoingMail.objects.get_or_create(
        message_id=message_id, defaults={"recipient": recipient, "created_at": by.at}
    )
    return mail


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
