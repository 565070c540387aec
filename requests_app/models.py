from datetime import datetime

from django.conf import settings
from django.core.validators import MaxLengthValidator, ProhibitNullCharactersValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.addresses import deliverable
from accounts.models import AccessCode
from requests_app.states import TRANSITIONS, MailState, Status
from tasks.errors import WrongState

no_nul = ProhibitNullCharactersValidator("This contains characters that cannot be stored. Please remove them.")


class RequestQuerySet(models.QuerySet["AccessRequest"]):
    def of(self, owner: object) -> "RequestQuerySet":
        return self.filter(owner=owner)


class AccessRequest(models.Model):
    """A visitor's request for a code. Its mail's state is that of the task while there is one, and kept here after."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="access_requests")
    name = models.CharField(max_length=200, blank=True, validators=[no_nul])
    organisation = models.CharField(max_length=200, blank=True, validators=[no_nul])
    email = models.EmailField("e-mail", max_length=254, validators=[no_nul, deliverable])
    message = models.TextField(max_length=20_000, validators=[no_nul, MaxLengthValidator(20_000)])
    status = models.CharField(max_length=8, choices=Status, default=Status.OPEN)
    created_at = models.DateTimeField()
    replied_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    code = models.ForeignKey(AccessCode, models.PROTECT, null=True, related_name="+")
    mail_job_id = models.BigIntegerField(null=True)
    mail_state = models.CharField(max_length=8, choices=MailState, blank=True, default=MailState.NONE)
    mail_reason = models.TextField(blank=True)
    # When the mail that tells the owner took its place among the few of an hour.
    notice_at = models.DateTimeField(null=True)

    objects = RequestQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index("owner", "notice_at", name="request_notices"),
            models.Index(fields=["owner", "status", "-created_at"], name="request_list"),
        ]
        constraints = [
            models.CheckConstraint(name="request_status_known", condition=Q(status__in=Status.values)),
            models.CheckConstraint(
                name="request_replied_when_sent",
                condition=~Q(status=Status.REPLIED) | Q(replied_at__isnull=False, code__isnull=False),
            ),
            models.CheckConstraint(
                name="request_closed_at_known", condition=~Q(status=Status.CLOSED) | Q(closed_at__isnull=False)
            ),
            models.CheckConstraint(
                name="request_mail_has_job",
                condition=Q(mail_state=MailState.NONE, mail_job_id__isnull=True)
                | (~Q(mail_state=MailState.NONE) & Q(mail_job_id__isnull=False, code__isnull=False)),
            ),
        ]

    def __str__(self) -> str:
        return f"request {self.pk} from {self.name or self.email}"

    @property
    def has_valid_code(self) -> bool:
        return self.code is not None and self.code.is_valid_at(timezone.now())

    def may_become(self, status: Status) -> bool:
        return status in TRANSITIONS[Status(self.status)]

    def allows(self, operation: str) -> bool:
        """What the page offers for this row; the operation itself decides again."""
        match operation:
            case "access_requests.approve":
                return not self.has_valid_code or (self.mail_state == MailState.FAILED and self.status == Status.CLOSED)
            case "access_requests.retry_mail":
                return self.has_valid_code and self.mail_state == MailState.FAILED and self.status != Status.CLOSED
            case "access_requests.close":
                return self.may_become(Status.CLOSED)
            case "access_requests.reopen":
                return self.may_become(Status.OPEN)
        return False

    def move_to(self, status: Status, at: datetime) -> None:
        if not self.may_become(status):
            raise WrongState(f"This request is {self.status}; it cannot become {status}.")
        self.status = status
        match status:
            case Status.OPEN:
                self.closed_at = None
            case Status.REPLIED:
                self.replied_at = at
            case Status.CLOSED:
                self.closed_at = at
        self.save()

    def carry(self, code: AccessCode, job_id: int) -> None:
        """The code is on its way by this task."""
        self.code, self.mail_job_id = code, job_id
        self.mail_state, self.mail_reason = MailState.SENDING, ""
        self.save()
