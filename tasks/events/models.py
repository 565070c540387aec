import uuid

from django.conf import settings
from django.db import models


class Event(models.Model):
    """A fact, written in the transaction of the change it tells of."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    type = models.CharField(max_length=100)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    subject = models.CharField(max_length=500)
    occurred_at = models.DateTimeField()
    data = models.JSONField()

    class Meta:
        indexes = [
            models.Index("occurred_at", "id", name="event_stream"),
            models.Index("type", "occurred_at", name="event_type"),
            models.Index("subject", "occurred_at", name="event_subject"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.subject}"

    def allows(self, operation: str) -> bool:
        """What the panel offers for this row; the operation itself decides again, by its subscribers' jobs."""
        return operation == "events.requeue"


class Delivery(models.Model):
    """Which task an event became for one of its subscribers. The task's row may be pruned before the event's."""

    event = models.ForeignKey(Event, models.CASCADE, related_name="deliveries")
    kind = models.CharField(max_length=100)
    task_id = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint("event", "kind", name="delivery_once")]

    def __str__(self) -> str:
        return f"{self.event_id} to {self.kind}"
