from django.conf import settings
from django.db import connection, transaction

from tasks.declare import Nothing
from tasks.queue.sql import statement


def prune_events(_: Nothing) -> None:
    prune()


def prune(batch: int = 1000) -> int:
    """Delete events older than settings.EVENTS_KEPT_DAYS, with their deliveries, `batch` a transaction; how many.

    An event is kept for as long as one of its tasks has not ended.
    """
    deleted = 0
    while True:
        with transaction.atomic(durable=True), connection.cursor() as cursor:
            params = {"keep": settings.EVENTS_KEPT_DAYS * 86400.0, "limit": batch}
            cursor.execute(statement("prune_events"), params)
            n: int = cursor.rowcount
        deleted += n
        if n < batch:
            return deleted
