"""Operations that only the tests and the benchmarks declare."""

from dataclasses import dataclass, replace
from datetime import timedelta

from django.db import transaction

from tasks.declare import Caller
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tests.probe.kinds import NOOP, ONCE, QUICK, Probe


@dataclass(frozen=True)
class Echo:
    text: str


@dataclass(frozen=True)
class Started:
    job_id: int
    state: str


def echo(by: Caller, *, text: str = "") -> Echo:
    """No SQL of its own."""
    return Echo(text)


def crash(by: Caller) -> Echo:
    print("said on standard output")  # noqa: T201 (as a library might)
    raise RuntimeError("the password is hunter2")


@transaction.atomic(durable=True)
def start(by: Caller, *, milliseconds: int = 0) -> Started:
    """A job of its own."""
    return Started(enqueue(QUICK, Probe(do="sleep", seconds=milliseconds / 1000)), "pending")


@transaction.atomic(durable=True)
def later(by: Caller, *, milliseconds: int) -> Started:
    """A job of its own that does nothing, then."""
    return Started(enqueue(NOOP, Probe(), delay=timedelta(milliseconds=milliseconds)), "pending")


@transaction.atomic(durable=True)
def join(by: Caller, *, name: str, milliseconds: int = 1000) -> Started:
    """One job for all who give this name."""
    return Started(enqueue(ONCE, Probe(name, "sleep", seconds=milliseconds / 1000), key=name), "pending")


def state_now(by: Caller, started: Started) -> Started:
    return replace(started, state=Task.objects.get(pk=started.job_id).state)
