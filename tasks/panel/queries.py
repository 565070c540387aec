"""What the panel reads of the task table. Each statement ends at a limit, however long the table is."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.utils import timezone

from tasks import registry
from tasks.errors import BadInput, NotFound
from tasks.panel.results import Job, JobError, Overview, Table
from tasks.queue import sql
from tasks.queue.alerts import alerts
from tasks.queue.models import Task, Worker
from tasks.queue.states import State

COUNTED = 10_000
LOOKED = 10_000  # the first rows of a queue among which the oldest of one kind is looked for
MOST = 500
LATEST = 2**63 - 1
WORKER_SEEN = timedelta(seconds=60)
LISTED_ERROR = 500  # characters of each error in a list; a job by itself has them whole


def known_kinds() -> list[str]:
    """Every declared kind, before it ever ran, and those that only the table still holds."""
    return sorted({*registry.kinds(), *(kind for (kind,) in sql.run("kinds_present"))})


def kinds_on(queue: str, kinds: Iterable[str]) -> list[str]:
    """Those whose jobs the queue has: declared for it or, not declared any more, last on it."""
    declared = registry.kinds()
    return [kind for kind in kinds if (declared[kind].queue if kind in declared else last_queue(kind)) == queue]


def last_queue(kind: str) -> str | None:
    """The queue of the newest job of a kind that is not declared any more."""
    found = sql.run("newest", kinds=[kind], states=State.values, before=LATEST, limit=1)
    return Task.objects.filter(pk__in=[id for (id,) in found]).values_list("queue", flat=True).first()


def chosen(label: str, value: str | None, known: Iterable[str]) -> list[str]:
    """The one that was asked for, or all; BadInput names what exists."""
    options = list(known)
    if not value:
        return options
    if value not in options:
        raise BadInput(f"There is no {label} {value!r}. There are: {', '.join(options)}.", {label: "does not exist"})
    return [value]


def within(limit: int) -> int:
    """The limit of a list, 1 to 500; BadInput otherwise."""
    if not 1 <= limit <= MOST:
        raise BadInput(f"limit must be between 1 and {MOST}.", {"limit": f"must be between 1 and {MOST}"})
    return limit


def newest(
    *, kind: str | None = None, state: str | None = None, queue: str | None = None, before: int = LATEST, limit: int
) -> list[Task]:
    """The newest tasks, newest first; `before` is the id that a former page ended with.

    At most `limit` index entries are read for each kind and state. The queue stands for the kinds that run on it now.
    Raises BadInput for a kind, state or queue that does not exist.
    """
    kinds = chosen("kind", kind, known_kinds())
    states = chosen("state", state, State.values)
    chosen("queue", queue, settings.QUEUES)
    if not (kind or state or queue):
        return list(Task.objects.filter(pk__lt=before).order_by("-pk")[:limit])
    if queue:
        kinds = kinds_on(queue, kinds)
    found = sql.run("newest", kinds=kinds, states=states, before=before, limit=limit)
    return list(Task.objects.filter(pk__in=[id for (id,) in found]).order_by("-pk"))


def reached(task_id: int) -> Task:
    """The task, or NotFound with how long rows are kept."""
    task = Task.objects.filter(pk=task_id).first()
    if task is None:
        raise NotFound(
            f"There is no job {task_id}. Completed and cancelled ones are kept a day, discarded ones a week."
        )
    return task


def overview(kind: str | None = None) -> Overview:
    """The queue in figures, of one kind or all: what each means, and where counting stops, is said in `Overview`.

    Of one kind, the oldest job is looked for among the first 10,000 of its queue. Raises BadInput for an unknown kind.
    """
    known = known_kinds()
    kinds = chosen("kind", kind, known)
    counted: dict[str, int] = dict(sql.run("count_states", kinds=kinds, limit=COUNTED + 1))
    look = LOOKED if kind else 1
    [(first, now)] = sql.run("first_waiting", queues=list(settings.QUEUES), kinds=kinds, look=look)
    due = first is not None and first <= now
    return Overview(
        kind=kind or None,
        counts={state: min(counted[state], COUNTED) for state in State.values},
        more=[state for state in State.values if counted[state] > COUNTED],
        oldest_due_seconds=(now - first).total_seconds() if due else None,
        next_due_at=None if due else first,
        workers=Worker.objects.filter(seen_at__gt=timezone.now() - WORKER_SEEN).count(),
        tables=[Table(*row) for row in sql.run("sizes")],
        alerts=alerts(),
    )


def shown(task: Task, *, longest: int | None = None) -> Job:
    """The task as the contract shows a job (section 9); with `longest`, each error cut at so many characters."""
    return Job(
        id=task.pk,
        kind=task.kind,
        queue=task.queue,
        state=task.state,
        args=task.args,
        errors=[JobError(moment(e["at"]), cut(e["error"], longest), e["attempt"]) for e in task.errors],
        attempt=task.attempt,
        max_attempts=task.max_attempts,
        created_at=task.created_at,
        scheduled_at=task.scheduled_at,
        finalized_at=task.finalized_at,
    )


def moment(text: str) -> datetime:
    """The time of an error, as Postgres wrote it into JSON."""
    return datetime.fromisoformat(text).astimezone(UTC)


def cut(text: str, longest: int | None) -> str:
    """The text, ended by an ellipsis where it is longer than `longest` characters."""
    return text if longest is None or len(text) <= longest else f"{text[: longest - 1]}…"
