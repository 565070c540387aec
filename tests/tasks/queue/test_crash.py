"""Whatever dies, and whenever: no task is lost, nobody who comes late overwrites, and the group is whole again."""

import os
import random
import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

import psutil
import pytest
from django.db import connection
from django.utils import timezone

from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, Worker
from tasks.queue.states import TERMINAL, State
from tests.probe.kinds import LIMITED, MANY, QUICK, Probe
from tests.probe.models import Effect
from tests.probe.rows import DIED, OVER, as_told, begun, completed, ended
from tests.processes import until
from tests.tasks.queue.groups import Start

SOON = timedelta(seconds=2)


def test_a_task_of_a_killed_worker_runs_again_within_two_seconds_with_the_attempt_counted(
    start: Start, tmp_path: Path
) -> None:
    group = start()
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    first = begun("held")

    killed_at = timezone.now()
    os.kill(first.pid, signal.SIGKILL)
    second = begun("held", but=first.pid)
    (tmp_path / "gate").touch()

    task = ended(task_id)
    assert second.at - killed_at < SOON
    assert (task.state, task.attempt, task.claim) == (State.COMPLETED, 2, 2)
    assert as_told(task) == [(1, DIED)]
    assert killed_at <= datetime.fromisoformat(task.errors[0]["at"]) <= second.at
    group.until_whole()


@pytest.mark.parametrize("all_of_them", [False, True], ids=["one", "all"])
def test_idle_workers_that_are_killed_are_replaced_and_the_next_task_runs(all_of_them: bool, start: Start) -> None:
    group = start()
    victims = group.workers()[: None if all_of_them else 1]

    for victim in victims:
        victim.kill()
    task = completed("next")

    assert (task.attempt, task.errors) == (1, [])
    assert task.claimed_at - task.scheduled_at < SOON
    group.until_whole()
    assert not {victim.pid for victim in victims} & {worker.pid for worker in group.workers()}


def test_a_killed_bell_is_replaced_and_the_next_task_runs(start: Start) -> None:
    group = start()
    bell = group.bell()

    bell.kill()
    task = completed("next")

    assert task.claimed_at - task.scheduled_at < SOON
    group.until_whole()
    assert group.bell() != bell


def test_a_killed_housekeeper_is_replaced_and_keeps_house_as_before(start: Start, tmp_path: Path) -> None:
    group = start()
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    first = begun("held")
    overdue = enqueue(LIMITED, Probe("overdue", "sleep", seconds=60))
    begun("overdue")

    group.housekeeper().kill()
    os.kill(first.pid, signal.SIGKILL)
    begun("held", but=first.pid)
    (tmp_path / "gate").touch()

    assert as_told(ended(task_id)) == [(1, DIED)]
    assert as_told(ended(overdue)) == [(1, OVER), (2, OVER)]
    group.until_whole()


def test_a_killed_sentinel_takes_its_processes_along_and_a_new_group_goes_on(start: Start, tmp_path: Path) -> None:
    group = start()
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    first = begun("held")
    old = group.children()

    group.sentinel().kill()
    second = begun("held", but=first.pid)
    (tmp_path / "gate").touch()

    task = ended(task_id)
    assert second.at - datetime.fromisoformat(task.errors[0]["at"]) < SOON
    assert (task.state, task.attempt, as_told(task)) == (State.COMPLETED, 2, [(1, DIED)])
    assert psutil.wait_procs(old, timeout=3)[1] == []
    group.until_whole()
    assert Worker.objects.count() == 2


def test_a_task_that_kills_every_worker_is_discarded_when_its_attempts_are_spent(start: Start) -> None:
    group = start()

    task = ended(enqueue(QUICK, Probe("deadly", "die")))

    assert (task.state, task.attempt) == (State.DISCARDED, 3)
    assert as_told(task) == [(1, DIED), (2, DIED), (3, DIED)]
    assert Effect.objects.filter(name="deadly").count() == 3
    group.until_whole()
    completed("after it")


def test_a_process_that_a_handler_forked_does_not_go_on_as_a_second_worker(start: Start) -> None:
    group = start("index=1")
    before = group.processes()

    tasks = [ended(enqueue(QUICK, Probe(f"{n}", "fork"))) for n in range(3)]

    assert [(task.state, task.attempt) for task in tasks] == [(State.COMPLETED, 1)] * 3
    assert Effect.objects.count() == 3
    left = [process for process in group.processes() if process not in before]
    until(lambda: all(process.status() == psutil.STATUS_ZOMBIE for process in left), what="the forks have ended")
    assert {process for process in group.processes() if process not in left} == {*before}
    assert "Traceback" not in group.said()


def test_a_storm_of_kills_loses_no_task_and_no_strength(start: Start) -> None:
    group = start("index=3")
    ids = [enqueue(MANY, Probe(f"{n}", "sleep", seconds=0.02)) for n in range(150)]
    kills = 0

    def left() -> int:
        return Task.objects.exclude(state__in=TERMINAL).count()

    while remaining := left():
        if workers := group.workers():
            random.choice(workers).kill()
            kills += 1
        until(lambda remaining=remaining: left() < max(1, remaining - 3), seconds=10, what="tasks go on")

    assert kills >= 5
    assert set(Task.objects.filter(pk__in=ids).values_list("state", flat=True)) == {State.COMPLETED}
    assert set(Effect.objects.values_list("name", flat=True)) == {f"{n}" for n in range(150)}
    assert Effect.objects.count() <= 150 + kills
    group.until_whole()
    completed("after it")


def test_when_the_main_process_is_killed_nothing_lives_on_and_another_group_takes_over(
    start: Start, tmp_path: Path
) -> None:
    group = start()
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    first = begun("held")
    processes = group.children()

    group.process.kill()

    assert psutil.wait_procs(processes, timeout=3)[1] == []
    assert Task.objects.get(pk=task_id).state == State.RUNNING
    another = start()
    whole_at = timezone.now()
    second = begun("held", but=first.pid)
    (tmp_path / "gate").touch()
    task = ended(task_id)
    assert second.at - whole_at < SOON
    assert (task.state, task.attempt, as_told(task)) == (State.COMPLETED, 2, [(1, DIED)])
    assert set(Worker.objects.values_list("pid", flat=True)) == {p.pid for p in another.workers()}


def test_the_group_of_the_same_machine_takes_over_what_a_killed_group_held(start: Start, tmp_path: Path) -> None:
    group, another = start("index=1"), start("index=1")
    ids = [enqueue(QUICK, Probe(f"{n}", "until", str(tmp_path / "gate"))) for n in range(2)]
    for n in range(2):
        begun(f"{n}")

    processes = group.children()
    group.process.kill()
    assert psutil.wait_procs(processes, timeout=3)[1] == []
    died_at = timezone.now()
    (tmp_path / "gate").touch()

    tasks = [ended(task_id) for task_id in ids]
    assert sorted(task.attempt for task in tasks) == [1, 2]
    assert {task.state for task in tasks} == {State.COMPLETED}
    assert max(task.claimed_at for task in tasks) - died_at < SOON
    another.until_whole()


@pytest.fixture
def slow_commit(alone: None) -> Iterator[Callable[[], None]]:
    """Claims hang in their COMMIT until this is called."""
    with connect("gate") as gate, connection.cursor() as cursor:
        gate.execute("SELECT pg_advisory_lock(7)")
        cursor.execute(
            "CREATE FUNCTION pass() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$"
        )
        cursor.execute(
            "CREATE CONSTRAINT TRIGGER slow AFTER UPDATE ON tasks_task DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW WHEN (NEW.state = 'running') EXECUTE FUNCTION pass()"
        )
        yield lambda: gate.execute("SELECT pg_advisory_unlock(7)") and None
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION pass CASCADE")


def test_a_claim_that_commits_only_after_its_workers_death_was_noticed_is_rescued_too(
    slow_commit: Callable[[], None], start: Start
) -> None:
    group = start("index=1")
    [victim] = group.workers()
    task_id = enqueue(QUICK, Probe("claimed by the dead"))
    until(lambda: blocked() == 1, what="the claim is about to commit")

    victim.kill()
    until(lambda: not Worker.objects.filter(pid=victim.pid).exists(), what="the death was noticed")
    group.until_whole()
    freed_at = timezone.now()
    slow_commit()

    task = ended(task_id, seconds=6)
    assert (task.state, task.attempt, as_told(task)) == (State.COMPLETED, 2, [(1, DIED)])
    assert task.claimed_at - freed_at < SOON


def blocked() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted")
        return int(cursor.fetchone()[0])
