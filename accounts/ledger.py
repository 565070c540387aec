from datetime import datetime, timedelta

from django.db import connection, models

from accounts import vault
from tasks.errors import TooMany

HOUR = timedelta(hours=1)


class MailQuerySet(models.QuerySet["OutgoingMail"]):
    def hold(self, scope: str) -> None:
        """Until the transaction ends, nobody else takes a slot in this scope. Exact over all processes."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"mail {scope}"])

    def in_the_hour_before(self, at: datetime) -> "MailQuerySet":
        return self.filter(slot_at__gt=at - HOUR)


class OutgoingMail(models.Model):
    """One mail, by its Message-ID, over all attempts to send it.

    `slot_at` is when it last took its place among the mails of an hour: at each attempt, so that what is really sent
    stays within the limit, and one place for all its attempts, so that a retry costs the others none.
    """

    message_id = models.CharField(max_length=200, unique=True)
    recipient = models.EmailField(max_length=254)
    purpose = models.CharField(max_length=40, default="")
    created_at = models.DateTimeField()
    slot_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
    # How often the connection was lost after the final dot: it may have arrived then.
    uncertain = models.PositiveSmallIntegerField(default=0)

    objects = MailQuerySet.as_manager()

    class Meta:
        indexes = [models.Index("recipient", "slot_at", name="mail_slots")]

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
