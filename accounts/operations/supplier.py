from typing import Any

from django.db import transaction

from accounts import events
from accounts.models import MailSupplier
from accounts.states import SupplierState
from tasks.declare import Caller
from tasks.errors import NotFound
from tasks.events.record import record


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
