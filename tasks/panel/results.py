"""What the operations of the panel answer with."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tasks.queue.alerts import Alert
from tasks.queue.states import may_have_acted


@dataclass(frozen=True)
class JobError:
    at: datetime
    error: str
    attempt: int


@dataclass(frozen=True)
class Job:
    id: int
    kind: str
    queue: str
    state: str
    args: dict[str, Any]
    errors: list[JobError]
    attempt: int
    max_attempts: int
    created_at: datetime
    scheduled_at: datetime
    finalized_at: datetime | None

    @property
    def may_have_acted(self) -> bool:
        return may_have_acted(self.state, self.attempt, self.errors[-1].attempt if self.errors else 0)


@dataclass(frozen=True)
class Jobs:
    jobs: list[Job]


@dataclass(frozen=True)
class Table:
    """`rows` is the planner's estimate, null while it has none; `bytes` are exact and include the indexes."""

    name: str
    rows: int | None
    bytes: int


@dataclass(frozen=True)
class Overview:
    """`counts` by state go up to 10,000; the states in `more` have more jobs than that.

    `oldest_due_seconds` is how long the oldest due job has waited, None where none is due; `next_due_at` is when the
    first waiting job is due where none is yet. `workers` are the worker processes seen in the last minute.
    """

    kind: str | None
    counts: dict[str, int]
    more: list[str]
    oldest_due_seconds: float | None
    next_due_at: datetime | None
    workers: int
    tables: list[Table]
    alerts: list[Alert]


@dataclass(frozen=True)
class Subscriber:
    """`state` is that of the job; "gone" where its row is no longer kept, "none" where it never had a job."""

    kind: str
    job_id: int | None
    state: str


@dataclass(frozen=True)
class EventSeen:
    id: str
    type: str
    owner: int
    subject: str
    occurred_at: datetime
    data: dict[str, Any]
    subscribers: list[Subscriber]


@dataclass(frozen=True)
class Events:
    events: list[EventSeen]


@dataclass(frozen=True)
class Requeued:
    event: EventSeen
    job_ids: list[int]


@dataclass(frozen=True)
class Acknowledged:
    jobs: int
