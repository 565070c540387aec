from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from tasks.queue.states import TERMINAL, TRANSITIONS, WAITING, State, may_have_acted

RETRIED = TRANSITIONS["retry"][0]
RUNNING = Q(state=State.RUNNING)
HELD = Q(lease_until__isnull=False, worker__isnull=False)
UNTOUCHED = Q(lease_until=None, worker=None)
FINAL = Q(state__in=sorted(TERMINAL))
UNACKNOWLEDGED = Q(state=State.DISCARDED, acknowledged_at=None)


class Task(models.Model):
    """One row of durable work. Its state is changed by the statements in tasks/queue/sql only."""

    kind = models.CharField(max_length=100)
    queue = models.CharField(max_length=40)
    state = models.CharField(max_length=10, choices=State, default=State.PENDING)
    args = models.JSONField()
    key = models.CharField(max_length=200, null=True)  # noqa: DJ001 (null: no key; the unique indexes skip it)
    key_scope = models.CharField(max_length=13, null=True)  # noqa: DJ001
    attempt = models.SmallIntegerField(default=0)
    max_attempts = models.SmallIntegerField()
    claim = models.BigIntegerField(default=0)
    errors = models.JSONField(default=list)
    worker = models.ForeignKey(
        "Worker", models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="tasks"
    )
    created_at = models.DateTimeField(db_default=Now())
    scheduled_at = models.DateTimeField(db_default=Now())
    claimed_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    finalized_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)  # when the owner put a discarded one to rest

    class Meta:
        verbose_name = "job"
        indexes = [
            # For filters, counts and pruning. The running ones are few; without them a job costs an entry less.
            models.Index("kind", "state", "id", name="task_by_kind", condition=~RUNNING),
            models.Index("finalized_at", name="task_unacknowledged", condition=UNACKNOWLEDGED),
            models.Index("queue", "scheduled_at", "id", name="task_due", condition=Q(state__in=sorted(WAITING))),
            models.Index("lease_until", name="task_leased", condition=RUNNING),
        ]
        constraints = [
            # The three shapes of a row; every statement pays for each constraint, so that they are one.
            models.CheckConstraint(
                name="task_no_half_state",
                condition=(UNTOUCHED & Q(state__in=sorted(WAITING), finalized_at=None, attempt__lt=F("max_attempts")))
                | (HELD & Q(state=State.RUNNING, finalized_at=None, attempt__gte=1, attempt__lte=F("max_attempts")))
                | (UNTOUCHED & FINAL & Q(finalized_at__isnull=False, attempt__lte=F("max_attempts"))),
            ),
            models.CheckConstraint(
                name="task_key_has_scope",
                condition=Q(key__isnull=True, key_scope__isnull=True)
                | Q(key__isnull=False, key_scope__isnull=False, key_scope__in=["once", "while_pending"]),
            ),
            models.UniqueConstraint("kind", "key", name="task_once", condition=Q(key_scope="once")),
            # A task that was claimed before and waits again (snoozed, given back) is outside of the index: it may
            # come back while a newer one is pending, and must then not be refused.
            models.UniqueConstraint(
                "kind",
                "key",
                name="task_while_pending",
                condition=Q(key_scope="while_pending", state=State.PENDING, claim=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"

    @property
    def is_final(self) -> bool:
        return self.state in TERMINAL

    @property
    def last_error(self) -> str:
        return self.errors[-1]["error"] if self.errors else ""

    @property
    def may_have_acted(self) -> bool:
        return may_have_acted(self.state, self.attempt, self.errors[-1]["attempt"] if self.errors else 0)

    def waits_until(self, at: datetime) -> bool:
        """Whether it is put off to a time after `at`."""
        return self.state in WAITING and self.scheduled_at > at

    def allows(self, operation: str) -> bool:
        """What the panel offers for this row; the operation itself decides again."""
        match operation:
            case "tasks.retry":
                return self.state in RETRIED or self.waits_until(timezone.now())
            case "tasks.cancel":
                return not self.is_final
        return False


class TaskAction(models.Model):
    """What somebody did to a task: who, when, through which face. Kept as long as the task's row."""

    task_id = models.BigIntegerField(db_index=True)
    action = models.CharField(max_length=20)
    before = models.CharField(max_length=10)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    via = models.CharField(max_length=20)
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.action} of job {self.task_id}"


class Worker(models.Model):
    """The heartbeat of one worker process."""

    group = models.UUIDField()
    machine = models.CharField(max_length=200)
    host = models.CharField(max_length=255)
    pid = models.PositiveIntegerField()
    started = (
        models.PositiveBigIntegerField()
    )  # the process's start as its machine tells it: with the pid, its identity there
    queue = models.CharField(max_length=40)
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index("machine", name="worker_machine")]

    def __str__(self) -> str:
        return f"{self.queue} worker {self.pid} on {self.host}"

    @property
    def running(self) -> Task | None:
        """The task it is working on, if any."""
        return self.tasks.filter(state=State.RUNNING).first()
