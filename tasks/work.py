from datetime import timedelta

from tasks.declare import periodic_kind

PRUNE = periodic_kind("tasks.prune", "tasks.queue.prune.prune_tasks")
PRUNE_EVENTS = periodic_kind("events.prune", "tasks.events.prune.prune_events")
CHECK = periodic_kind("tasks.check", "tasks.queue.alerts.log_alerts", limit=timedelta(minutes=1))
