"""What a person may do to a task. Each joins the caller's transaction."""

from tasks import registry
from tasks.declare import Caller
from tasks.errors import NotFound, WrongState
from tasks.queue import sql
from tasks.queue.models import Task, TaskAction
from tasks.queue.states import WAITING
from tasks.queue.transitions import change


def cancel(task_id: int, by: Caller | None = None) -> None:
    """End a task that is not final. One that is running may have its effect all the same.

    With `by` it is kept, in the same transaction, who did it. Raises NotFound, and WrongState for a task that is final.
    """
    rows = change("cancel", ids=[task_id])
    if not rows:
        raise WrongState(f"Job {task_id} is {_state(task_id)}: only a job that has not ended can be cancelled.")
    note([task_id], "cancel", by, before=rows[0][2])


def retry(task_id: int, by: Caller | None = None) -> None:
    """Run a task again, now: a discarded or cancelled one with its kind's attempts anew (the numbering goes on), one
    that waits for its next try or for later without spending anything.

    With `by` it is kept, in the same transaction, who did it. Raises NotFound, and WrongState for a task in another
    state, that is due anyway, or of a kind that is no longer declared.
    """
    task = Task.objects.filter(pk=task_id).only("kind").first()
    kind = registry.kinds().get(task.kind) if task else None
    if task and not kind:
        raise WrongState(f"Job {task_id} is of the kind {task.kind}, which this version does not know.")
    if kind and (rows := change("retry", id=task_id, attempts=kind.attempts)):
        note([task_id], "retry", by, before=rows[0][2])
    elif put_off := sql.run("hasten", id=task_id):
        note([task_id], "retry", by, before=put_off[0][0])
    elif (state := _state(task_id)) in WAITING:
        raise WrongState(f"Job {task_id} is {state} and due: it runs as soon as a worker of its queue is free.")
    else:
        raise WrongState(f"Job {task_id} is {state}: only a discarded, cancelled or waiting job can be retried.")


def note(task_ids: list[int], action: str, by: Caller | None, *, before: str) -> None:
    """Keep who did what to these tasks, for as long as their rows are kept."""
    if by:
        user = by.user if getattr(by.user, "pk", None) else None
        TaskAction.objects.bulk_create(
            TaskAction(task_id=id, action=action, before=before, by=user, via=by.via, at=by.at) for id in task_ids
        )


def _state(task_id: int) -> str:
    state = Task.objects.filter(pk=task_id).values_list("state", flat=True).first()
    if state is None:
        raise NotFound(f"There is no job {task_id}.")
    return state
