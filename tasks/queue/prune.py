from collections import Counter
from datetime import timedelta

from django.db import connection, transaction

from tasks.declare import Nothing
from tasks.queue import sql
from tasks.queue.periods import Run
from tasks.queue.sql import statement
from tasks.queue.states import State

KEEP = {
    State.COMPLETED: timedelta(hours=24),
    State.CANCELLED: timedelta(hours=24),
    State.DISCARDED: timedelta(days=7),
}
RUNS_KEPT = 50  # of each periodic work


def prune_tasks(_: Nothing) -> None:
    # Their end was not written down by a worker of another version, which did not know them.
    sql.do("end_runs", ids=list(Run.objects.filter(state="").values_list("job_id", flat=True)))
    prune()
    sql.do("prune_runs", keep=RUNS_KEPT)


def prune(batch: int = 1000) -> Counter[str]:
    """Delete final tasks past their time (contract.md, "Retention"), `batch` rows a transaction, and count them."""
    deleted: Counter[str] = Counter()
    for state, keep in KEEP.items():
        while True:
            with transaction.atomic(durable=True), connection.cursor() as cursor:
                cursor.execute(statement("prune"), {"state": state, "keep": keep.total_seconds(), "limit": batch})
                n = cursor.rowcount
            deleted[state] += n
            if n < batch:
                break
    return deleted
