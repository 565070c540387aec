"""SIGTERM: stop claiming, let running tasks end, then give them back; nothing stays running, and nothing lives on."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tasks.queue import cluster
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, Worker
from tasks.queue.states import State
from tests.probe.kinds import QUICK, Probe
from tests.probe.models import Effect
from tests.processes import ROOT, environment, until
from tests.tasks.queue.groups import Group, Start


def to_main(group: Group, signum: int = signal.SIGTERM) -> None:
    group.process.send_signal(signum)


def to_all(group: Group, signum: int = signal.SIGTERM) -> None:
    """As a terminal or a container's init does: to the process group."""
    os.killpg(group.process.pid, signum)


def ends(group: Group, processes: list[psutil.Process], *, seconds: float) -> int:
    """Its exit code; by then it has left nothing behind."""
    code = group.process.wait(seconds)
    assert psutil.wait_procs(processes, timeout=1)[1] == []
    assert not Worker.objects.exists()
    assert not Task.objects.filter(state=State.RUNNING).exists()
    return code


def running(n: int) -> None:
    until(lambda: Effect.objects.count() == n, what=f"{n} handlers run")


@pytest.mark.parametrize(
    ("how", "signum"), [(to_main, signal.SIGTERM), (to_all, signal.SIGTERM), (to_all, signal.SIGINT)]
)
def test_an_idle_group_ends_at_once(how: Callable[..., None], signum: int, start: Start) -> None:
    group = start()
    processes = group.children()

    how(group, signum)

    assert ends(group, processes, seconds=3) == 0
    assert "Traceback" not in group.said()


def test_a_group_in_the_midst_of_many_tasks_ends_soon_and_leaves_the_rest_pending(start: Start) -> None:
    codes = []
    for n in range(2):
        group = start("index=4")
        for _ in range(150):
            enqueue(QUICK, Probe(f"{n}"))
        until(lambda n=n: Effect.objects.filter(name=f"{n}").count() > 10, what="it is busy")
        processes = group.children()
        to_all(group)
        codes.append(ends(group, processes, seconds=5))
        assert "Traceback" not in group.said()

    assert codes == [0, 0]
    states = Task.objects.values_list("state", "attempt")
    assert set(states) <= {(State.COMPLETED, 1), (State.PENDING, 0)}
    assert Effect.objects.count() >= Task.objects.filter(state=State.COMPLETED).count()


@pytest.mark.parametrize("how", [to_main, to_all])
def test_running_tasks_may_end_and_no_other_is_claimed(how: Callable[..., None], start: Start, tmp_path: Path) -> None:
    group = start()
    for n in range(5):
        enqueue(QUICK, Probe(f"{n}", "until", str(tmp_path / "gate")))
    running(2)
    processes = group.children()

    how(group)
    until(lambda: sum(not p.is_running() or p.status() == "zombie" for p in processes) == 1, what="the bell has ended")
    (tmp_path / "gate").touch()

    assert ends(group, processes, seconds=3) == 0
    assert sorted(Task.objects.values_list("state", "attempt")) == [("completed", 1)] * 2 + [("pending", 0)] * 3
    assert Effect.objects.count() == 2


@pytest.mark.parametrize("do", ["sleep", "spin"])
def test_tasks_that_outlast_the_grace_are_stopped_and_given_back_with_no_attempt_spent(do: str, start: Start) -> None:
    group = start("index=6", PROBE_GRACE="0.5")
    another = start("notify=1")  # its housekeeper looks for the dead, too
    for n in range(7):
        enqueue(QUICK, Probe(f"{n}", do, seconds=60))
    running(6)

    to_all(group)

    assert group.process.wait(6) == 0
    assert (
        sorted(Task.objects.values_list("state", "attempt", "claim")) == [("pending", 0, 0)] + [("pending", 0, 1)] * 6
    )
    assert {row.pid for row in Worker.objects.all()} == {process.pid for process in another.workers()}
    assert set(map(str, Task.objects.values_list("errors", flat=True))) == {"[]"}


def test_running_tasks_have_twenty_seconds() -> None:
    assert cluster.GRACE == 20


def test_a_task_that_was_given_back_runs_as_if_for_the_first_time(start: Start, tmp_path: Path) -> None:
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    first = start(PROBE_GRACE="0.1")
    running(1)
    to_main(first)
    assert first.process.wait(4) == 0

    start()
    running(2)
    (tmp_path / "gate").touch()

    until(lambda: Task.objects.get(pk=task_id).is_final, what="it has ended")
    task = Task.objects.get(pk=task_id)
    assert (task.state, task.attempt, task.claim, task.errors) == (State.COMPLETED, 1, 2, [])


@pytest.mark.parametrize("processes", [1, 2, 3, 5])
def test_a_group_that_is_told_to_stop_while_it_starts_ends_too(processes: int, start: Start) -> None:
    group = start(whole=False)
    until(lambda: len(group.processes()) >= processes, what=f"{processes} processes have started")
    begun = group.processes()

    to_all(group)

    code = ends(group, begun, seconds=4)
    assert code == 0 or (
        processes == 1 and code == -signal.SIGTERM
    )  # before it could take signals, the default ends it


@pytest.mark.parametrize("how", [to_main, to_all])
def test_a_second_signal_changes_nothing(how: Callable[..., None], start: Start, tmp_path: Path) -> None:
    group = start()
    enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    running(1)
    processes = group.children()

    how(group)
    until(lambda: sum(not p.is_running() or p.status() == "zombie" for p in processes) >= 2, what="it is stopping")
    how(group)
    (tmp_path / "gate").touch()

    assert ends(group, processes, seconds=4) == 0
    assert Task.objects.get().state == State.COMPLETED
    assert "Traceback" not in group.said()


def test_signals_in_quick_succession_end_it_without_a_fault(start: Start) -> None:
    group = start("index=4")
    processes = group.children()

    while group.process.poll() is None:
        to_all(group)

    assert ends(group, processes, seconds=4) == 0
    assert "Traceback" not in group.said()


def test_a_worker_that_is_told_to_stop_alone_ends_its_task_and_is_replaced(start: Start, tmp_path: Path) -> None:
    group = start()
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    running(1)
    pid = Effect.objects.get().pid

    os.kill(pid, signal.SIGTERM)
    (tmp_path / "gate").touch()

    until(lambda: not psutil.pid_exists(pid), what="it has ended")
    group.until_whole()
    task = Task.objects.get(pk=task_id)
    assert (task.state, task.attempt, task.errors) == (State.COMPLETED, 1, [])
    assert Worker.objects.count() == 2


def test_a_sentinel_that_is_told_to_stop_alone_ends_its_processes_and_is_replaced(start: Start) -> None:
    group = start()
    old = group.children()

    group.sentinel().terminate()

    assert psutil.wait_procs(old, timeout=4)[1] == []
    group.until_whole()
    assert Worker.objects.count() == 2


def test_a_stop_without_a_database_ends_too(start: Start) -> None:
    group = start(DATABASE_URL="postgresql://nobody@/nowhere?host=/nonexistent", whole=False)
    until(lambda: len(group.processes()) == 6, what="its processes have started")
    processes = group.children()
    until(lambda: "does not answer" in group.said(), what="it misses its database")

    to_all(group)

    began = time.monotonic()
    assert ends(group, processes, seconds=8) in (0, 1)
    assert time.monotonic() - began < 6


def test_a_signal_is_heard_at_every_step_of_a_workers_loop(alone: None) -> None:
    command = [sys.executable, "-m", "tests.probe.stops"]

    done = subprocess.run(command, cwd=ROOT, env=environment(), timeout=60, check=False, capture_output=True, text=True)

    assert done.stdout == "[] of many\n", done.stderr
