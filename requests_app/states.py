from django.db.models import TextChoices


class Status(TextChoices):
    OPEN = "open"
    REPLIED = "replied"
    CLOSED = "closed"


TRANSITIONS = {
    Status.OPEN: {Status.REPLIED, Status.CLOSED},
    Status.REPLIED: {Status.CLOSED},
    # The owner may change their mind: open it again, or approve it, and it is replied to like any other.
    Status.CLOSED: {Status.OPEN, Status.REPLIED},
}


class MailState(TextChoices):
    NONE = ""
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
