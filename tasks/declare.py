"""What an app may declare. Plain data: no Django, no imports from this project."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any, Literal, Self


@dataclass(frozen=True)
class Caller:
    """Who asks, when, and through which face (admin, mcp, shell, public, task).

    `scopes` limits what they may do ("tasks:read", "codes:write"; write includes read); None: no limit.
    `token` names the API token by which they came, if any.
    """

    user: Any
    at: datetime
    via: str
    scopes: frozenset[str] | None = None
    token: str = ""


@dataclass(frozen=True)
class Serves:
    """What a task or an event is about: the url name of its page and what people call it.

    `field` is the field of the arguments (or of the event's data) that holds the id of a row, which the page takes; a
    page that takes none has no field.
    """

    page: str
    label: str
    field: str = ""


@dataclass(frozen=True)
class EventType:
    """`data` is the dataclass an event of this type carries; only a `public` type may leave the machine."""

    name: str
    data: type[Any]
    summary: str
    public: bool = False
    serves: Serves | None = None


@dataclass(frozen=True)
class Happened:
    """The argument of a kind that subscribes to an event: the event's id."""

    event_id: str


@dataclass(frozen=True)
class Backoff:
    """Seconds until the next attempt: the steps in order, then each `factor` times the one before."""

    steps: tuple[float, ...]
    factor: float = 1.0

    def delay(self, attempt: int) -> float:
        """The delay after failed attempt number `attempt` (from 1), without jitter."""
        beyond = attempt - len(self.steps)
        return self.steps[attempt - 1] if beyond <= 0 else self.steps[-1] * self.factor**beyond


@dataclass(frozen=True)
class Words:
    """A kind's three words for its chip: not final, completed, and discarded or cancelled."""

    doing: str = "queued"
    done: str = "done"
    failed: str = "failed"


@dataclass(frozen=True)
class Final:
    """What `settle` is told of a task that has just become final: its state and, unless completed, why."""

    task_id: int
    state: str
    reason: str
    at: datetime


@dataclass(frozen=True)
class TaskKind:
    """A named sort of task.

    `handler` and `settle` are dotted paths, resolved at start: `handler(args)` does the work, may run twice and runs
    outside any transaction; `settle(args, final)` writes what a terminal state means to the row of business, in the
    transaction that makes it terminal. `unique` says what a key does when a task is enqueued again with it. `serves`
    says which row of business it is about; a kind that subscribes to an event serves what the event is about. A `quick`
    kind takes milliseconds and may well run twice: in a backlog a worker takes several in their first attempt together
    and commits their ends together.
    """

    name: str
    args: type[Any]
    handler: str
    queue: str
    attempts: int
    backoff: Backoff
    limit: timedelta
    unique: Literal["once", "while_pending"] | None = None
    words: Words = field(default_factory=Words)
    settle: str | None = None
    quick: bool = False
    serves: Serves | None = None


@dataclass(frozen=True)
class Nothing:
    """The argument of a kind that needs none."""


def periodic_kind(name: str, handler: str, limit: timedelta = timedelta(minutes=10)) -> TaskKind:
    """A kind for periodic work: one attempt, since the next period is the next attempt (contract.md, section 2)."""
    return TaskKind(
        name,
        Nothing,
        handler,
        queue="maintenance",
        attempts=1,
        backoff=Backoff((60,)),
        limit=limit,
        unique="while_pending",
    )


@dataclass(frozen=True)
class Periodic:
    """Run `kind` once per period, however many workers there are; see tasks/queue/periodic.py.

    `every` is at least a minute, and no shorter than the kind's time limit, so that runs do not overlap.
    """

    name: str
    every: timedelta
    kind: TaskKind
    summary: str


@dataclass(frozen=True)
class Subscription:
    event: EventType
    kind: TaskKind


PUBLIC = "public"


@dataclass(frozen=True)
class Wait:
    """How a face that waits (MCP) does so for the tasks of a result, after the commit.

    `jobs(result)` gives the ids to wait for, none where nothing is open; `again(by, result)` reads the result anew once
    they are final. Where they are not in time, the first result is the receipt.
    """

    seconds: float
    jobs: Callable[[Any], Iterable[int]]
    again: Callable[[Caller, Any], Any]


@dataclass(frozen=True)
class Operation:
    """A verb that a person, an agent or a handler may perform: one function, one transaction.

    `permission` is a Django permission, or PUBLIC. `on` names the model whose rows it acts on; such a model answers
    `allows(operation name)` for its rows, so that a face can tell what to offer. `details` is what somebody who sees
    nothing but this declaration (a model) must know beyond the summary. On the face "mcp" the result is a dataclass.
    """

    name: str
    run: Callable[..., Any]
    summary: str
    permission: str
    faces: frozenset[str] = frozenset()
    on: str = ""
    label: str = ""
    reads: bool = False
    destructive: bool = False
    details: str = ""
    repeatable: bool = False  # doing it twice is the same as once
    outside: bool = False  # its effect reaches other people
    wait: Wait | None = None

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]

    @property
    def scope(self) -> str:
        return f"{self.group}:{'read' if self.reads else 'write'}"

    @property
    def title(self) -> str:
        """A name for people: "Access requests: retry mail"."""
        group, _, verb = self.name.replace("_", " ").partition(".")
        return f"{group.capitalize()}: {verb}"


@dataclass(frozen=True)
class Catalog:
    events: tuple[EventType, ...] = ()
    kinds: tuple[TaskKind, ...] = ()
    subscriptions: tuple[Subscription, ...] = ()
    operations: tuple[Operation, ...] = ()
    periodic: tuple[Periodic, ...] = ()

    @classmethod
    def of(cls, *modules: ModuleType) -> Self:
        """Add up what each app's catalog module lists."""

        def gather(name: str) -> tuple[Any, ...]:
            return tuple(entry for module in modules for entry in getattr(module, name, ()))

        return cls(*map(gather, ("events", "kinds", "subscriptions", "operations", "periodic")))
