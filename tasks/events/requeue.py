from tasks import registry
from tasks.declare import Caller
from tasks.errors import WrongState
from tasks.events.models import Event
from tasks.events.record import send
from tasks.queue import control
from tasks.queue.models import Task


def requeue(event: Event, by: Caller) -> list[int]:
    """Send an event again to its present subscribers whose job is not completed; the ids of their jobs, now due.

    A discarded, cancelled or waiting job is retried; a subscriber that had none gets one. One that is due or running
    is left alone, and so is one whose row is gone: it had ended, and a second run could do its work twice. The caller
    holds the event's row. Raises WrongState where that leaves nothing to send. contract.md, section 9.
    """
    tasks = dict(event.deliveries.values_list("kind", "task_id"))
    rows = Task.objects.in_bulk(list(tasks.values()))
    sent = []
    for kind in registry.subscribers(event.type):
        task = rows.get(tasks.get(kind.name, 0))
        if kind.name not in tasks:
            sent.append(send(event, kind))
        elif task and task.allows("tasks.retry"):
            control.retry(task.pk, by)
            sent.append(task.pk)
    if not sent:
        raise WrongState("Nothing was sent: no subscriber of this event has a job that failed or waits.")
    return sent
