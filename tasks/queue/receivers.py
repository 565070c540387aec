"""What follows when tasks become final, in the transaction that makes them so."""

import logging
from typing import Any

from django.db import transaction
from django.dispatch import receiver

from tasks import registry
from tasks.declare import Final
from tasks.queue import wire
from tasks.queue.forever import is_lost
from tasks.queue.models import Task
from tasks.queue.signals import post_transition
from tasks.queue.states import State
from tasks.queue.transitions import Transition

log = logging.getLogger("standmeet.tasks")
FINAL_CHANNEL = "standmeet_job_final"


class SettleFailed(Exception):
    """A kind's `settle` raised; the terminal transition was rolled back."""


@receiver(post_transition)
def settle(transitions: list[Transition], unsettled: bool, **kwargs: Any) -> None:
    """Let each kind that declares it write what the end means to the row it serves."""
    if unsettled:
        return
    settling = {t.task_id for t in transitions if t.final and (k := registry.kinds().get(t.kind)) and k.settle}
    if not settling:
        return
    for task in Task.objects.filter(pk__in=settling).order_by("pk"):
        kind = registry.kinds()[task.kind]
        assert kind.settle
        reason = "" if task.state == State.COMPLETED else task.last_error
        assert task.finalized_at
        final = Final(task.pk, task.state, reason, task.finalized_at)
        try:
            with transaction.atomic():
                registry.resolve(kind.settle)(kind.args(**task.args), final)
        except Exception as error:
            if is_lost(error):
                raise
            raise SettleFailed(f"{kind.settle} failed for task {task.pk}: {error}") from error


@receiver(post_transition)
def notify(transitions: list[Transition], **kwargs: Any) -> None:
    """Tell whoever waits. Postgres delivers at commit, and nothing on rollback (NOTIFY, "Notes")."""
    final = [t.task_id for t in transitions if t.final]
    if final:
        wire.do("notify_final", ids=final)
