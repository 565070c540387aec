from tasks.events.models import Delivery, Event
from tasks.queue.models import Task, TaskAction, Worker
from tasks.queue.periods import Period, Run
from tasks.queue.tally import WaitCount

__all__ = ["Delivery", "Event", "Period", "Run", "Task", "TaskAction", "WaitCount", "Worker"]
