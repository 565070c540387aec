"""The time limit of a kind really ends its task."""

from datetime import datetime, timedelta

import psutil
import pytest

from tasks.queue.enqueue import enqueue
from tasks.queue.states import State
from tests.probe.kinds import LIMITED, Probe
from tests.probe.models import Effect
from tests.probe.rows import OVER, as_told, begun, completed, ended
from tests.processes import until
from tests.tasks.queue.groups import Start

SOON = timedelta(seconds=2)


@pytest.mark.parametrize("do", ["sleep", "spin"])
def test_the_time_limit_really_ends_a_task_and_counts_as_a_failed_attempt(do: str, start: Start) -> None:
    group = start()

    task = ended(enqueue(LIMITED, Probe("slow", do, seconds=60)))

    assert (task.state, task.attempt) == (State.DISCARDED, 2)
    assert as_told(task) == [(1, OVER), (2, OVER)]
    at = [effect.at for effect in Effect.objects.order_by("at")]
    failed = [datetime.fromisoformat(error["at"]) for error in task.errors]
    assert all(
        timedelta(seconds=0.9) < end - begin < timedelta(seconds=2) for begin, end in zip(at, failed, strict=True)
    )
    group.until_whole()
    completed("after it")


def test_the_guard_ends_an_overdue_task_when_the_housekeeper_is_frozen(start: Start) -> None:
    group = start()
    group.housekeeper().suspend()
    task_id = enqueue(LIMITED, Probe("slow", "sleep", seconds=60))
    first = begun("slow")

    until(lambda: not psutil.pid_exists(first.pid), seconds=6, what="its worker was killed")
    group.housekeeper().resume()

    task = ended(task_id)
    assert (task.state, task.attempt) == (State.DISCARDED, 2)
