import hmac
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from django.conf import settings
from django.db import models
from django.db.models import Q

USED_EVERY = timedelta(minutes=1)  # how exactly its last use is kept, and at most how often that is written


def digest(text: str) -> str:
    """Unkeyed and quick: the text has 256 random bits, which nobody guesses."""
    return sha256(text.encode()).hexdigest()


class TokenQuerySet(models.QuerySet["ApiToken"]):
    def live_at(self, at: datetime) -> "TokenQuerySet":
        return self.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=at), revoked_at__isnull=True)

    def issue(self, *, owner_id: int, name: str, scopes: list[str], at: datetime, ends: datetime | None) -> "ApiToken":
        """A new token; its `text` is known to the object that is returned, and to nobody after it."""
        prefix = secrets.token_hex(4)
        text = f"smt_{prefix}_{secrets.token_urlsafe(32)}"
        token = self.create(
            owner_id=owner_id,
            name=name,
            prefix=prefix,
            hash=digest(text),
            scopes=scopes,
            created_at=at,
            expires_at=ends,
        )
        token.text = text
        return token

    def with_text(self, text: str) -> "ApiToken | None":
        """Found by its public prefix, then compared in constant time; with the same work where there is none."""
        kind, _, rest = text.partition("_")
        prefix, _, secret = rest.partition("_")
        sound = text.isascii() and kind == "smt" and len(prefix) == 8 and prefix.isalnum() and bool(secret)
        token = self.filter(prefix=prefix).select_related("owner").first() if sound else None
        same = hmac.compare_digest(digest(text), token.hash if token else "0" * 64)
        return token if same else None


class ApiToken(models.Model):
    """Lets an AI client act for the owner, within its scopes. The text is shown once and kept as a hash."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=8, unique=True)
    hash = models.CharField(max_length=64)
    scopes = models.JSONField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = TokenQuerySet.as_manager()
    text = ""

    class Meta:
        verbose_name = "API token"

    def __str__(self) -> str:
        return f"token {self.name} (smt_{self.prefix}_…)"

    def is_live_at(self, at: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > at)

    def was_used(self, at: datetime) -> None:
        """Keep when. One statement, which writes at most once a minute."""
        if self.last_used_at is None or self.last_used_at <= at - USED_EVERY:
            stale = Q(last_used_at__isnull=True) | Q(last_used_at__lte=at - USED_EVERY)
            ApiToken.objects.filter(stale, pk=self.pk).update(last_used_at=at)
