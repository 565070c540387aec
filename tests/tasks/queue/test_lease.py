"""Who is frozen or cut off keeps a task for as long as its lease, and cannot overwrite what another did."""

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, Worker
from tasks.queue.processes import machine
from tasks.queue.states import State
from tests.probe.kinds import QUICK, Probe
from tests.probe.rows import CUT_OFF, DIED, as_told, begun, completed, ended, in_state
from tests.processes import until
from tests.tasks.queue.groups import Start

SOON = timedelta(seconds=2)


def test_a_frozen_group_loses_its_task_with_the_lease_and_cannot_overwrite_what_another_did(
    start: Start, tmp_path: Path
) -> None:
    frozen = start("index=1")
    task_id = enqueue(QUICK, Probe("held", "until mine", str(tmp_path / "gate")))
    first = begun("held")
    frozen.send(signal.SIGSTOP)
    start("index=1")

    Task.objects.filter(pk=task_id).update(lease_until=timezone.now())
    second = begun("held", but=first.pid)
    frozen.send(signal.SIGCONT)
    Path(f"{tmp_path / 'gate'}.{first.pid}").touch()
    until(lambda: "what this run said is dropped" in frozen.said(), what="the late one has ended")

    task = Task.objects.get(pk=task_id)
    assert (task.state, task.attempt, task.claim, as_told(task)) == (State.RUNNING, 2, 2, [(1, CUT_OFF)])
    Path(f"{tmp_path / 'gate'}.{second.pid}").touch()
    task = ended(task_id)
    assert (task.state, task.attempt, task.claim, as_told(task)) == (State.COMPLETED, 2, 2, [(1, CUT_OFF)])
    frozen.until_whole()


def test_a_group_that_was_suspended_for_a_while_goes_on_when_it_is_resumed(start: Start) -> None:
    group = start("index=1")
    suspended_at = time.monotonic()

    group.send(signal.SIGSTOP)
    until(lambda: time.monotonic() > suspended_at + 1.2)  # longer than any of its waits
    group.send(signal.SIGCONT)

    completed("after it")
    group.until_whole()
    assert group.process.poll() is None


def test_a_lease_is_at_most_60_s_and_renewed_while_the_task_runs(start: Start, tmp_path: Path) -> None:
    group = start("index=1")
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    begun("held")
    before = Task.objects.get(pk=task_id).lease_until

    group.housekeeper().kill()  # the next one renews at once, and then every quarter of the lease
    until(lambda: Task.objects.get(pk=task_id).lease_until > before, what="the lease is renewed")
    lease = Task.objects.get(pk=task_id).lease_until - timezone.now()
    (tmp_path / "gate").touch()

    assert timedelta(seconds=50) < lease <= timedelta(seconds=60)
    assert ended(task_id).errors == []


def test_a_worker_that_somebody_froze_is_not_kept_alive_by_its_housekeeper(start: Start, tmp_path: Path) -> None:
    group = start("index=2")
    task_id = enqueue(QUICK, Probe("held", "until mine", str(tmp_path / "gate")))
    first = begun("held")

    os.kill(first.pid, signal.SIGSTOP)
    Task.objects.filter(pk=task_id).update(lease_until=timezone.now() + timedelta(seconds=0.5))
    second = begun("held", but=first.pid)
    Path(f"{tmp_path / 'gate'}.{second.pid}").touch()

    task = ended(task_id)
    assert (task.state, task.attempt, as_told(task)) == (State.COMPLETED, 2, [(1, CUT_OFF)])
    os.kill(first.pid, signal.SIGCONT)
    Path(f"{tmp_path / 'gate'}.{first.pid}").touch()
    until(lambda: "what this run said is dropped" in group.said(), what="the late one has ended")
    assert Task.objects.get(pk=task_id).state == State.COMPLETED


def test_workers_that_live_are_not_forgotten_after_a_pause_of_all_processes(start: Start) -> None:
    start()
    Worker.objects.update(seen_at=timezone.now() - timedelta(minutes=10))  # as after a night's sleep of the machine
    lost = in_state(State.RUNNING, lease_until=timezone.now() - timedelta(minutes=9))

    until(lambda: Task.objects.get(pk=lost.pk).state == State.RETRYABLE, what="the house was kept once")
    completed("after it")

    assert Worker.objects.filter(machine=machine()).count() == 2


def test_a_process_id_used_again_by_another_process_is_not_taken_for_the_worker(start: Start) -> None:
    start("index=1")
    alive = Worker.objects.get()
    gone = Worker.objects.create(
        group=alive.group, machine=alive.machine, host="h", pid=os.getpid(), started=1, queue="index"
    )
    task = in_state(State.RUNNING, kind=QUICK.name, queue="index", worker_id=gone.pk)

    began = time.monotonic()
    task = ended(task.pk)

    assert as_told(task) == [(1, DIED)]
    assert time.monotonic() - began < SOON.total_seconds()
    assert list(Worker.objects.filter(machine=machine())) == [alive]


def test_workers_of_another_machine_are_judged_by_their_leases_alone(start: Start) -> None:
    start("index=1")
    far = Worker.objects.create(
        group=Worker.objects.get().group, machine="another", host="far", pid=2**22, started=1, queue="index"
    )
    leased = in_state(State.RUNNING, kind=QUICK.name, queue="index", worker_id=far.pk)
    passed = in_state(State.RUNNING, kind=QUICK.name, queue="index", worker_id=far.pk, lease_until=timezone.now())

    rescued = ended(passed.pk)

    assert as_told(rescued) == [(1, CUT_OFF)]
    assert Task.objects.get(pk=leased.pk).state == State.RUNNING
    assert Worker.objects.filter(pk=far.pk).exists()
