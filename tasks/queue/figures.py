"""Figures of the queue for whoever measures it: the same from every process, since they come from the tables."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from django.conf import settings

from tasks.queue import sql
from tasks.queue.states import WAITING, State
from tasks.queue.tally import BOUNDS, OUTCOMES, WaitCount

EXACT = 2_000  # rows of one state that are counted; beyond, they are estimated
PAGES = 2_000  # of the table, from which they are


@dataclass(frozen=True)
class Jobs:
    """Jobs that are kept, by kind and state, and their attempts beyond the first. `estimated` names states."""

    count: Counter[tuple[str, str]]
    retries: Counter[tuple[str, str]]
    estimated: frozenset[str]


def jobs() -> Jobs:
    """Count jobs by kind and state: exactly where a state (of a queue, where they wait) has under 2,000.

    Beyond, from a random sample of the table's pages, and never less than was counted. Some 100,000 rows are looked
    at, whatever the size of the table (Postgres, "SELECT", TABLESAMPLE).
    """
    count: Counter[tuple[str, str]] = Counter()
    retries: Counter[tuple[str, str]] = Counter()
    looked_at: Counter[str] = Counter()
    kinds = [kind for (kind,) in sql.run("kinds_present")]
    for source, kind, state, n, again in sql.run(
        "jobs_by_kind", queues=list(settings.QUEUES), kinds=kinds, limit=EXACT
    ):
        count[kind, state] += n
        retries[kind, state] += int(again)
        looked_at[source] += n
    full = {source for source, n in looked_at.items() if n >= EXACT}
    estimated = frozenset(full & set(State.values)) | (WAITING if full - set(State.values) else frozenset())
    if estimated:
        for kind, state, n, again in sql.run("jobs_sampled", pages=PAGES):
            if state in estimated:
                count[kind, state] = max(count[kind, state], int(n))
                retries[kind, state] = max(retries[kind, state], int(again))
    return Jobs(count, retries, frozenset(str(state) for state in estimated))


def workers_seen() -> dict[str, int]:
    """Worker processes by queue that were seen in the last minute."""
    return dict(sql.run("workers_seen"))


@dataclass(frozen=True)
class Waits:
    """How often waits ended within each bound (seconds, cumulative), and the seconds of all of them."""

    within: list[tuple[float, int]]
    seconds: float


def waits() -> dict[str, Waits]:
    """Waits of all processes by outcome (done, receipt, capped), since the table was made; a second old at most."""
    rows = defaultdict(list)
    for outcome, le, n, seconds in WaitCount.objects.values_list("outcome", "le", "waits", "seconds"):
        rows[outcome].append((le, n, seconds))
    return {
        outcome: Waits(
            [(bound, sum(n for le, n, _ in rows[outcome] if le <= bound)) for bound in BOUNDS],
            sum(seconds for _, _, seconds in rows[outcome]),
        )
        for outcome in OUTCOMES
    }
