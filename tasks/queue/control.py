"""What a person may do to a task. Each joins the caller's transaction."""

from tasks import registry
from tasks.errors import NotFound, WrongState
from tasks.queue.models import Task
from tasks.queue.transitions import change


def cancel(task_id: int) -> None:
    """End a task that is not final. One that is running may have its effect all the same.

    Raises NotFound, and WrongState for a task that is final.
    """
    if not change("cancel", ids=[task_id]):
        raise WrongState(f"Job {task_id} is {_state(task_id)}: only a job that has not ended can be cancelled.")


def retry(task_id: int) -> None:
    """Run a discarded or cancelled task again, now, with its kind's number of attempts; the numbering goes on.

    Raises NotFound, and WrongState for a task in another state or of a kind that is no longer declared.
    """
    task = Task.objects.filter(pk=task_id).only("kind").first()
    kind = registry.kinds().get(task.kind) if task else None
    if task and not kind:
        raise WrongState(f"Job {task_id} is of the kind {task.kind}, which this version does not know.")
    if not kind or not change("retry", id=task_id, attempts=kind.attempts):
        raise WrongState(f"Job {task_id} is {_state(task_id)}: only a discarded or cancelled job can be retried.")


def _state(task_id: int) -> str:
    state = Task.objects.filter(pk=task_id).values_list("state", flat=True).first()
    if state is None:
        raise NotFound(f"There is no job {task_id}.")
    return state
