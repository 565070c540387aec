"""Periodic work in the database: when each is due next, and its runs."""

from django.conf import settings
from django.db import models

from tasks.queue.states import State


class Period(models.Model):
    """One row per name. Rows of names that nobody declares any more are left alone and shown nowhere."""

    name = models.CharField(max_length=100, primary_key=True)
    since = models.DateTimeField()
    next_due = models.DateTimeField()

    class Meta:
        default_permissions = ()
        verbose_name_plural = "periodic work"

    def __str__(self) -> str:
        return self.name


class Run(models.Model):
    """One run of periodic work. What became of its task is kept here, as the task's row is not kept for long.

    `due_at` is None where somebody asked for the run; `missed` is how many periods had passed without one before it.
    `state` is empty until the task is final.
    """

    name = models.CharField(max_length=100)
    job_id = models.BigIntegerField(unique=True)
    due_at = models.DateTimeField(null=True)
    missed = models.IntegerField(default=0)
    asked_at = models.DateTimeField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    state = models.CharField(max_length=10, choices=State, blank=True, default="")
    reason = models.TextField(blank=True, default="")

    class Meta:
        default_permissions = ()
        indexes = [models.Index(fields=["name", "-id"], name="run_latest")]

    def __str__(self) -> str:
        return f"{self.name}, job {self.job_id}"
