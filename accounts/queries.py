from typing import Any

from accounts.models import MailSupplier, Owner
from accounts.supplier import SupplierQuerySet


def supplier_of(owner: Any) -> MailSupplier | None:
    return MailSupplier.objects.filter(owner=owner).first()


def verified_supplier(owner: Any) -> MailSupplier | None:
    suppliers: SupplierQuerySet = MailSupplier.objects.filter(owner=owner)
    return suppliers.verified().first()


def page_owner() -> Owner | None:
    return Owner.objects.of_this_page()
