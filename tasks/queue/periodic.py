"""Periodic work: whoever looks first when a period is due begins it, and the row says so to all others.

No worker leads. Every group's housekeeper looks every LOOK seconds, by the database's clock, and one statement sets the
next time, adds the task and notes the run: nobody can be frozen or killed half way, with the row locked.
"""

import logging
from typing import Any

from django.db import DatabaseError, connection
from django.dispatch import receiver

from tasks import registry
from tasks.queue import sql
from tasks.queue.forever import is_lost
from tasks.queue.signals import post_transition
from tasks.queue.transitions import Transition

log = logging.getLogger("standmeet.tasks")
LOOK = 5.0  # seconds between two looks of one worker group
PATIENCE = "2s"  # for somebody who is adding the same task at this moment


def tick() -> list[int]:
    """Begin every declared period that is due, and return the ids of the tasks that were added.

    A period is begun once, whoever calls this and however often; after a time without a worker once, and then at
    the next period. Nothing is added while the last run is still pending. Raises what a lost database raises;
    anything else is logged, as leases must be renewed whatever happens here. contract.md, section 9.
    """
    works = registry.catalog().periodic
    names, everys = [work.name for work in works], [work.every.total_seconds() for work in works]
    try:
        if not works or not sql.run("periods_due", names=names, everys=everys)[0][0]:
            return []
        kinds = [work.kind for work in works]
        return begin(
            names=names,
            everys=everys,
            kinds=[kind.name for kind in kinds],
            queues=[kind.queue for kind in kinds],
            attempts=[kind.attempts for kind in kinds],
        )
    except DatabaseError as error:
        if is_lost(error):
            raise
        log.exception("periodic work could not be begun")
        return []


def begin(**declared: list[Any]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [PATIENCE])
        try:
            added = sql.run("begin_periods", **declared)
        finally:
            if connection.connection is not None and not connection.connection.closed:
                cursor.execute("RESET lock_timeout")
    for name, job_id, _ in added:
        log.info("%s is due: job %s", name, job_id)
    return [int(job_id) for _, job_id, _ in added]


@receiver(post_transition)
def keep_results(transitions: list[Transition], **kwargs: Any) -> None:
    """Write to the run what became of its task, in the transaction that ends it, whatever the cause."""
    kinds = registry.periodic_kinds()
    ids = [t.task_id for t in transitions if t.final and t.kind in kinds]
    if ids:
        sql.do("end_runs", ids=ids)
