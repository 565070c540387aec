from dataclasses import dataclass
from datetime import timedelta

from tasks.declare import Backoff, EventType, Happened, TaskKind

ACT = "tests.probe.handlers.act"
SECOND = timedelta(seconds=1)


@dataclass(frozen=True)
class Probe:
    """`do` what, up to `times` times (0: always); `text` and `seconds` are for it."""

    name: str = ""
    do: str = ""
    text: str = ""
    seconds: float = 0.0
    times: int = 0


def kind(name: str, handler: str = ACT, **given: object) -> TaskKind:
    policy: dict[str, object] = {
        "queue": "index",
        "attempts": 3,
        "backoff": Backoff((0.02,), factor=2),
        "limit": timedelta(seconds=30),
    }
    return TaskKind(name, given.pop("args", Probe), handler, **{**policy, **given})  # type: ignore[arg-type]


NOOP = kind("probe.noop", "tests.probe.handlers.noop", quick=True)
NOOP_ALONE = kind("probe.noop_alone", "tests.probe.handlers.noop")
TOGETHER = kind("probe.together", quick=True)
QUICK = kind("probe.quick")
SLOW_BACKOFF = kind("probe.slow_backoff", backoff=Backoff((3600,), factor=2))
MANY = kind("probe.many", attempts=60)
NOTIFY = kind("probe.notify", queue="notify")
FETCH = kind("probe.fetch", queue="fetch")
ONE = kind("probe.one", queue="maintenance", attempts=1)
LIMITED = kind("probe.limited", limit=SECOND, attempts=2)
ONCE = kind("probe.once", unique="once")
WHILE_PENDING = kind("probe.while_pending", unique="while_pending")
SETTLED = kind("probe.settled", settle="tests.probe.handlers.ended")
SETTLED_ONE = kind("probe.settled_one", settle="tests.probe.handlers.ended", attempts=1)
SETTLED_LIMITED = kind("probe.settled_limited", settle="tests.probe.handlers.ended", attempts=1, limit=SECOND)
BY_HAND = kind("probe.by_hand", queue="webhook")  # its queue has no workers: the test moves the row itself
HEARS = kind("probe.hears", "tests.probe.handlers.hear", args=Happened)
# Its handler succeeds, and has an effect, once the file that `text` names is there.
ENGINE = kind("probe.engine", "tests.probe.handlers.index", backoff=Backoff((3600,)))


@dataclass(frozen=True)
class Noticed:
    thing: str


NOTICED = EventType("probe.noticed", Noticed, "A probe noticed something")
IGNORED = EventType("probe.ignored", Noticed, "Nobody subscribes to this")
