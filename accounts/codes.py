import secrets
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts import vault

ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"  # base32 (RFC 4648, section 6) in lower case
VALID = timedelta(days=180)


class CodeQuerySet(models.QuerySet["AccessCode"]):
    def valid_at(self, at: datetime) -> "CodeQuerySet":
        return self.filter(revoked_at__isnull=True, expires_at__gt=at)

    def with_text(self, text: str) -> "CodeQuerySet":
        return self.filter(hash__in=vault.hashes("access code", text.strip().lower()))

    def issue(self, *, owner_id: int, email: str, at: datetime) -> "AccessCode":
        text = "inv-" + "".join(secrets.choice(ALPHABET) for _ in range(6))
        code = self.model(owner_id=owner_id, email=email, issued_at=at, expires_at=at + VALID)
        code.keep_text(text)
        code.save()
        return code


class AccessCode(models.Model):
    """Lets one visitor in. The text is kept encrypted, for the owner's pages; it is found by its keyed hash."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="codes")
    email = models.EmailField(max_length=254)
    role = models.CharField(max_length=40, default="public reader")
    hash = models.CharField(max_length=64, unique=True)
    text_encrypted = models.TextField()
    members_allowed = models.PositiveSmallIntegerField(default=1)
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = CodeQuerySet.as_manager()

    class Meta:
        constraints = [models.CheckConstraint(name="code_expires_later", condition=Q(expires_at__gt=F("issued_at")))]

    def __str__(self) -> str:
        return f"code {self.pk} for {self.email}"

    @property
    def text(self) -> str:
        return vault.decrypt(self.text_encrypted)

    def keep_text(self, text: str) -> None:
        self.hash, self.text_encrypted = vault.hashes("access code", text)[0], vault.encrypt(text)

    @property
    def link(self) -> str:
        return f"{settings.PUBLIC_URL}/?{urlencode({'code': self.text})}"

    def is_valid_at(self, at: datetime) -> bool:
        return self.revoked_at is None and self.expires_at > at

    def allows(self, operation: str) -> bool:
        return operation == "codes.revoke" and self.revoked_at is None

    def revoke(self, at: datetime) -> None:
        self.revoked_at = at
        self.save(update_fields=["revoked_at"])


class CodeMember(models.Model):
    """A visitor who came in with a code; their session names this row."""

    code = models.ForeignKey(AccessCode, models.CASCADE, related_name="members")
    joined_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"member {self.pk} of code {self.code_id}"
