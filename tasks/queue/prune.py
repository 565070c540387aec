from collections import Counter
from datetime import timedelta

from django.db import connection, transaction

from tasks.queue import sql
from tasks.queue.sql import statement
from tasks.queue.states import State

KEEP = {
    State.COMPLETED: timedelta(hours=24),
    State.CANCELLED: timedelta(hours=24),
    State.DISCARDED: timedelta(days=7),
}


def prune(batch: int = 1000) -> Counter[str]:
    """Delete final tasks past their time (contract.md, "Retention"), `batch` rows a transaction, and count them.

    What people did to them goes with them.
    """
    deleted: Counter[str] = Counter()
    for state, keep in KEEP.items():
        while True:
            with transaction.atomic(durable=True), connection.cursor() as cursor:
                cursor.execute(statement("prune"), {"state": state, "keep": keep.total_seconds(), "limit": batch})
                n = cursor.rowcount
            deleted[state] += n
            if n < batch:
                break
    sql.do("forget_actions")
    return deleted
