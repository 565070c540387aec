from tasks.events.models import Delivery, Event
from tasks.queue.models import Task, TaskAction, Worker

__all__ = ["Delivery", "Event", "Task", "TaskAction", "Worker"]
