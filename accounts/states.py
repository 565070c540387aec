from django.db.models import TextChoices


class SupplierState(TextChoices):
    VERIFIED = "verified"
    BROKEN = "broken"
    DISCONNECTED = "disconnected"


SUPPLIER_TRANSITIONS = {
    SupplierState.VERIFIED: {SupplierState.VERIFIED, SupplierState.BROKEN, SupplierState.DISCONNECTED},
    SupplierState.BROKEN: {SupplierState.VERIFIED, SupplierState.BROKEN, SupplierState.DISCONNECTED},
    SupplierState.DISCONNECTED: {SupplierState.VERIFIED},
}
