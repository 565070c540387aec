import secrets
from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts import vault

VALID = timedelta(hours=24)


class PendingEmail(models.Model):
    """An owner's new address that waits to be confirmed. The old one works until then."""

    owner = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="pending_email")
    address = models.EmailField(max_length=254)
    requested_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    pending_email_job_id = models.BigIntegerField()
    mail_state = models.CharField(max_length=8, default="sending")
    mail_reason = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="pending_email_mail_state", condition=Q(mail_state__in=["sending", "sent", "failed"])
            )
        ]

    def __str__(self) -> str:
        return f"{self.address} of owner {self.owner_id}"

    def is_open_at(self, at: datetime) -> bool:
        return self.expires_at > at

    def mint(self, at: datetime) -> str:
        """A new token for a mail that is being sent; earlier ones keep working."""
        token = secrets.token_urlsafe(32)
        EmailToken.objects.create(pending=self, hash=vault.hashes("email token", token)[0], minted_at=at)
        return token


class EmailToken(models.Model):
    """What a mailed link carries, as a keyed hash. It ends with its pending row, or is kept to say "expired"."""

    pending = models.ForeignKey(PendingEmail, models.CASCADE, related_name="tokens")
    hash = models.CharField(max_length=64, unique=True)
    minted_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"token {self.pk}"
