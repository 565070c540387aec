from django.db.models import TextChoices


class Status(TextChoices):
    OPEN = "open"
    REPLIED = "replied"
    CLOSED = "closed"


TRANSITIONS = {
    Status.OPEN: {Status.REPLIED, Status.CLOSED},
    Status.REPLIED: {Status.CLOSED},
    # The owner may change their mind: an approval of a closed request is replied to like any other.
    Status.CLOSED: {Status.REPLIED},
}


class MailState(TextChoices):
    NONE = ""
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
