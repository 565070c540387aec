from datetime import timedelta

from tasks import work
from tasks.declare import Operation, Periodic, TaskKind
from tasks.panel import operations as do
from tasks.queue import periodic_operations

OWNERS = frozenset({"admin", "mcp"})
VIEW, CHANGE = "tasks.view_task", "tasks.change_task"
TASK, EVENT = "tasks.task", "tasks.event"
HOUR = timedelta(hours=1)

periodic: list[Periodic] = [
    Periodic("tasks.prune", HOUR, work.PRUNE, "Delete jobs that ended long ago: done or cancelled 24 h, failed 7 days"),
    Periodic("events.prune", 24 * HOUR, work.PRUNE_EVENTS, "Delete old events whose jobs have all ended"),
    Periodic("tasks.check", HOUR / 12, work.CHECK, "Look for trouble with the queue, and write it to the log"),
]
kinds: list[TaskKind] = [entry.kind for entry in periodic]
operations: list[Operation] = [
    *(
        Operation(name, run, summary, VIEW, OWNERS, reads=True, details=details)
        for name, run, summary, details in (
            (
                "tasks.overview",
                do.overview,
                "How the queue is: counts by state, lateness, workers, sizes, alerts",
                "Ask this first whether jobs are stuck. All is well while alerts is empty; each alert says in words "
                "what is wrong and what to do. oldest_due_seconds: for how long the oldest job that is due has waited "
                "for a worker; null: none waits. workers: processes seen in the last minute; 0: nothing is being done.",
            ),
            (
                "tasks.list",
                do.list_jobs,
                "List the newest jobs, of one kind or state where that is given",
                "pending waits for a worker or its time; retryable failed and comes again by itself at scheduled_at; "
                "discarded is given up: its errors say why, and tasks.retry runs it again once that is mended.",
            ),
            ("tasks.get", do.get, "Show a job: arguments, state, the error of each failed attempt", ""),
            ("events.list", do.list_events, "List the newest events, of one type or subject where that is given", ""),
            ("events.get", do.get_event, "Show an event: data, subscribers, the state of each one's job", ""),
        )
    ),
    Operation(
        "tasks.retry",
        do.retry,
        "Run a job again that was discarded or cancelled, or one that waits for its next try now",
        CHANGE,
        OWNERS,
        on=TASK,
        label="Retry",
    ),
    Operation(
        "tasks.cancel",
        do.cancel,
        "Cancel a job that has not ended; one that is running may have its effect all the same",
        CHANGE,
        OWNERS,
        on=TASK,
        label="Cancel",
        destructive=True,
    ),
    Operation("tasks.acknowledge", do.acknowledge, "Put the alert about discarded jobs to rest", CHANGE, OWNERS),
    Operation(
        "events.requeue",
        do.requeue_event,
        "Send an event again to its subscribers whose job is not completed",
        CHANGE,
        OWNERS,
        on=EVENT,
        label="Requeue",
    ),
    Operation(
        "tasks.periodic",
        periodic_operations.periodic,
        "List periodic work: how often, its last run and result, its next run",
        VIEW,
        OWNERS,
        reads=True,
    ),
    Operation(
        "tasks.run_periodic",
        periodic_operations.run_periodic,
        "Run periodic work now, out of its turn",
        CHANGE,
        OWNERS,
        label="Run now",
    ),
]
