from datetime import datetime, timedelta

from django.db import connection, models

from accounts import vault
from tasks.errors import TooMany


class OutgoingMail(models.Model):
    """One mail, by its Message-ID, over all attempts to send it."""

    message_id = models.CharField(max_length=200, unique=True)
    recipient = models.EmailField(max_length=254)
    created_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    # How often the connection was lost after the final dot: it may have arrived then.
    uncertain = models.PositiveSmallIntegerField(default=0)

    def __str__(self) -> str:
        return self.message_id


class AttemptQuerySet(models.QuerySet["Attempt"]):
    def spend(self, scope: str, client: str, *, most: int, within: timedelta, at: datetime) -> "Attempt":
        """Count one more try of this client, or refuse it. Exact over all processes, by a lock on the client."""
        who = vault.hashes(scope, client)[0]
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"{scope} {who}"])
        if self.tries(scope, client, within=within, at=at) >= most:
            raise TooMany(f"Too many tries from your address. Please wait {_words(within)} and try again.")
        return self.create(scope=scope, client_hash=who, at=at)

    def tries(self, scope: str, client: str, *, within: timedelta, at: datetime) -> int:
        return self.filter(scope=scope, client_hash__in=vault.hashes(scope, client), at__gt=at - within).count()


def _words(span: timedelta) -> str:
    minutes = round(span.total_seconds() / 60)
    return "an hour" if minutes == 60 else f"{minutes} minutes"


class Attempt(models.Model):
    """A try that is limited per client (a submission, a wrong code). Clients are kept as hashes only."""

    scope = models.CharField(max_length=40)
    client_hash = models.CharField(max_length=64)
    at = models.DateTimeField()

    objects = AttemptQuerySet.as_manager()

    class Meta:
        indexes = [models.Index("scope", "client_hash", "at", name="attempt_recent")]

    def __str__(self) -> str:
        return f"{self.scope} at {self.at}"
