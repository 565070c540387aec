"""Periodic work with whole workers: once a period whatever their number and health, and what a killed run says."""

import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import psutil
import pytest
from django.utils import timezone

from tasks.queue.models import Task, Worker
from tasks.queue.periodic import tick
from tasks.queue.periods import Period, Run
from tasks.queue.timetable import timetable
from tests.probe.models import Effect
from tests.probe.rows import CUT_OFF, DIED, begun
from tests.processes import WorkerProcess, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("by_the_clock")]
SETTINGS = "tests.periodic_settings"
SOON = 20.0  # seconds: two looks of a housekeeper, on a busy machine


@pytest.fixture
def start(start_worker: Callable[..., WorkerProcess]) -> Callable[..., WorkerProcess]:
    def start(catalog: str = "ONE") -> WorkerProcess:
        before = list(Worker.objects.values_list("pid", flat=True))
        worker = start_worker("maintenance=1", settings=SETTINGS, PROBE_CATALOG=catalog, PROBE_LOOK="0.5")
        until(lambda: Worker.objects.exclude(pid__in=before).exists(), what="the worker is whole")
        return worker

    return start


def ended(number: int) -> None:
    """So many runs have come to their end."""
    until(lambda: Run.objects.exclude(state="").count() >= number, seconds=SOON, what=f"{number} runs: {runs()}")


def runs() -> list[Any]:
    return list(Run.objects.order_by("pk").values_list("name", "state", "due_at", "missed"))


def make_due(ago: timedelta = timedelta(seconds=1)) -> None:
    Period.objects.update(next_due=timezone.now() - ago)


def test_two_workers_begin_each_period_once(start) -> None:
    start(), start()
    ended(1)

    for period in range(2, 5):
        make_due()
        ended(period)

    assert [state for _, state, _, _ in runs()] == ["completed"] * 4
    assert Effect.objects.count() == 4
    assert len({due_at for _, _, due_at, _ in runs()}) == 4


def test_beside_a_frozen_worker_the_other_begins_it(start) -> None:
    frozen = start()
    ended(1)
    for process in [frozen.main, *frozen.children()]:
        process.send_signal(signal.SIGSTOP)
    start()

    make_due()
    ended(2)
    for process in [frozen.main, *frozen.children()]:
        process.send_signal(signal.SIGCONT)
    make_due()
    ended(3)

    assert [state for _, state, _, _ in runs()] == ["completed"] * 3
    assert Effect.objects.count() == 3


def test_after_one_worker_is_stopped_the_other_goes_on(start) -> None:
    leaving = start()
    start()
    ended(1)

    assert leaving.stop() == 0
    make_due()
    ended(2)

    assert Effect.objects.count() == 2


def test_four_days_without_a_worker_are_followed_by_one_run(start) -> None:
    first = start()
    ended(1)
    first.stop()
    make_due(timedelta(days=4, minutes=1))

    start(), start()
    ended(2)
    make_due()  # whoever wanted to add another has had the time
    ended(3)

    assert [missed for _, _, _, missed in runs()] == [0, 96, 0]
    assert Effect.objects.count() == 3


def test_a_run_whose_process_is_killed_is_shown_as_failed(start) -> None:
    only("probe.hangs")
    start("CATALOG")
    pid = begun("hangs").pid

    psutil.Process(pid).kill()
    ended(1)

    [shown] = timetable(["probe.hangs"])
    assert (shown.last_result, shown.last_reason) == ("discarded", DIED)
    assert shown.last_run is not None


def test_a_run_whose_whole_worker_is_killed_is_shown_as_failed_by_the_next(start) -> None:
    only("probe.hangs")
    killed = start("CATALOG")
    begun("hangs")

    killed.kill()
    start("CATALOG")
    ended(1)

    [shown] = timetable(["probe.hangs"])
    assert (shown.last_result, shown.last_reason) == ("discarded", DIED)


def test_a_run_whose_lease_ran_out_is_shown_as_failed(start) -> None:
    only("probe.hangs")
    frozen = start("CATALOG")
    begun("hangs")
    for process in [frozen.main, *frozen.children()]:
        process.send_signal(signal.SIGSTOP)

    Task.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    start("CATALOG")
    ended(1)

    [shown] = timetable(["probe.hangs"])
    assert (shown.last_result, shown.last_reason) == ("discarded", CUT_OFF)


def only(name: str) -> None:
    """It is pending, and nothing else is due."""
    tick()
    Run.objects.exclude(name=name).delete()
    Task.objects.exclude(kind=name).delete()
