from collections import Counter
from datetime import timedelta

from django.db import transaction

from tasks.declare import Nothing
from tasks.queue import sql
from tasks.queue.periods import Run
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
    """Delete final tasks past their time (contract.md, "Retention"), and count them.

    It looks at `batch` rows a transaction. Each kind is gone through by id, which is the order of creation, until tasks
    come that are too young to have ended so long ago. What people did to the tasks goes with them.
    """
    deleted: Counter[str] = Counter()
    kinds = [kind for (kind,) in sql.run("kinds_present")]
    for state, keep in KEEP.items():
        for kind in kinds:
            after, more = 0, True
            while more:
                with transaction.atomic(durable=True):
                    given = {"kind": kind, "state": state.value, "keep": keep.total_seconds()}
                    [(n, after, more)] = sql.run("prune", **given, after=after, limit=batch)
                deleted[state] += n
    return deleted
