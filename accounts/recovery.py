import secrets

from django.conf import settings
from django.db import models

from accounts import vault
from accounts.codes import ALPHABET

LENGTH = 26


class RecoveryQuerySet(models.QuerySet["RecoveryPhrase"]):
    def with_text(self, text: str) -> "RecoveryQuerySet":
        plain = "".join(c for c in text.lower() if c.isalnum())
        return self.filter(hash__in=vault.hashes("recovery phrase", plain))


class RecoveryPhrase(models.Model):
    """Signs the owner in once. Only its keyed hash is stored: 130 random bits need no slower one."""

    owner = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="recovery_phrase")
    hash = models.CharField(max_length=64)
    generated_at = models.DateTimeField()

    objects = RecoveryQuerySet.as_manager()

    def __str__(self) -> str:
        return f"recovery phrase of owner {self.owner_id}"

    @staticmethod
    def new_text() -> str:
        """26 base32 characters in groups of four."""
        plain = "".join(secrets.choice(ALPHABET) for _ in range(LENGTH))
        return "-".join(plain[i : i + 4] for i in range(0, LENGTH, 4))
