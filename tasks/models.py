from tasks.events.models import Delivery, Event
from tasks.queue.models import Task, Worker

__all__ = ["Delivery", "Event", "Task", "Worker"]
