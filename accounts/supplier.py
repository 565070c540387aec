from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts import vault
from accounts.states import SUPPLIER_TRANSITIONS, SupplierState
from tasks.errors import WrongState


class SupplierQuerySet(models.QuerySet["MailSupplier"]):
    def verified(self) -> "SupplierQuerySet":
        return self.filter(state=SupplierState.VERIFIED)


class MailSupplier(models.Model):
    """The SMTP server that sends the owner's mail."""

    SECURITY = (("starttls", "STARTTLS"), ("tls", "TLS from the start"), ("none", "None (loopback only, please)"))

    owner = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="mail_supplier")
    host = models.CharField(max_length=253)
    port = models.PositiveIntegerField(default=587)
    security = models.CharField(max_length=8, choices=SECURITY, default="starttls")
    user = models.CharField(max_length=254, blank=True)
    password_encrypted = models.TextField(blank=True)
    from_address = models.EmailField()
    state = models.CharField(max_length=12, choices=SupplierState)
    trouble = models.TextField(blank=True)
    verified_at = models.DateTimeField(null=True)

    objects = SupplierQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "mail supplier"
        constraints = [
            models.CheckConstraint(
                name="supplier_verified_at_known",
                condition=~Q(state=SupplierState.VERIFIED) | Q(verified_at__isnull=False, trouble=""),
            )
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def password(self) -> str:
        return vault.decrypt(self.password_encrypted) if self.password_encrypted else ""

    @password.setter
    def password(self, text: str) -> None:
        self.password_encrypted = vault.encrypt(text) if text else ""

    def become(self, state: SupplierState, at: datetime, trouble: str = "") -> None:
        if self.state and state not in SUPPLIER_TRANSITIONS[SupplierState(self.state)]:
            raise WrongState(f"The mail supplier is {self.state}; it cannot become {state}.")
        self.state, self.trouble = state, trouble
        if state == SupplierState.VERIFIED:
            self.verified_at = at
        if state == SupplierState.DISCONNECTED:
            self.password = ""
        self.save()
