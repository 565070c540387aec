from datetime import timedelta

from tasks import work
from tasks.declare import Operation, Periodic, TaskKind
from tasks.queue import periodic_operations

OWNERS = frozenset({"admin", "mcp"})
HOUR = timedelta(hours=1)

periodic: list[Periodic] = [
    Periodic("tasks.prune", HOUR, work.PRUNE, "Delete jobs that ended long ago: done or cancelled 24 h, failed 7 days"),
    Periodic("events.prune", 24 * HOUR, work.PRUNE_EVENTS, "Delete old events whose jobs have all ended"),
    Periodic("tasks.check", HOUR / 12, work.CHECK, "Look for trouble with the queue, and write it to the log"),
]
kinds: list[TaskKind] = [entry.kind for entry in periodic]
operations: list[Operation] = [
    Operation(
        "tasks.periodic",
        periodic_operations.periodic,
        "List periodic work: how often, its last run and result, its next run",
        "tasks.view_task",
        OWNERS,
        reads=True,
    ),
    Operation(
        "tasks.run_periodic",
        periodic_operations.run_periodic,
        "Run periodic work now, out of its turn",
        "tasks.change_task",
        OWNERS,
        label="Run now",
    ),
]
