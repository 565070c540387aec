from contextvars import ContextVar

# The id of the task whose handler is running here, if any.
current_task: ContextVar[int | None] = ContextVar("current_task", default=None)
