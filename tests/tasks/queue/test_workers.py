"""The heartbeat row of each worker process."""

import os
import signal
import socket
from collections import Counter
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task, Worker
from tasks.queue.processes import machine, started
from tests.probe.kinds import QUICK, Probe
from tests.probe.models import Effect
from tests.probe.rows import ended
from tests.processes import until
from tests.tasks.queue.groups import Start


def test_each_worker_process_leaves_a_row_that_tells_who_and_where_it_is(start: Start) -> None:
    before = timezone.now()

    group = start("index=2,notify=1")

    rows = list(Worker.objects.all())
    assert {row.pid for row in rows} == {process.pid for process in group.workers()}
    assert Counter(row.queue for row in rows) == {"index": 2, "notify": 1}
    assert {row.host for row in rows} == {socket.gethostname()}
    assert {row.machine for row in rows} == {machine()}
    assert [row.started for row in rows] == [started(row.pid) for row in rows]
    assert len({row.group for row in rows}) == 1
    assert all(before <= row.started_at <= row.seen_at <= timezone.now() for row in rows)


def test_the_row_tells_what_its_worker_runs(start: Start, tmp_path: Path) -> None:
    start()
    task_id = enqueue(QUICK, Probe("held", "until", str(tmp_path / "gate")))
    until(lambda: Effect.objects.exists(), what="it has begun")
    pid = Effect.objects.get().pid

    while_it_runs = {row.pid: row.running for row in Worker.objects.all()}
    (tmp_path / "gate").touch()
    ended(task_id)

    assert while_it_runs.pop(pid) == Task.objects.get(pk=task_id)
    assert list(while_it_runs.values()) == [None]
    assert [row.running for row in Worker.objects.all()] == [None, None]


def test_the_rows_are_seen_again_and_again(start: Start) -> None:
    group = start()
    long_ago = timezone.now() - timedelta(minutes=2)
    Worker.objects.update(seen_at=long_ago)

    group.housekeeper().kill()  # the next one begins with a heartbeat; they are 10 s apart

    until(lambda: not Worker.objects.filter(seen_at=long_ago).exists(), what="the workers were seen")
    assert Worker.objects.count() == 2


def test_the_rows_go_when_their_group_stops(start: Start) -> None:
    group, another = start(), start("index=1")

    assert group.stop() == 0

    assert [row.pid for row in Worker.objects.all()] == [process.pid for process in another.workers()]


def test_the_row_of_a_killed_worker_goes_and_its_successor_has_one(start: Start) -> None:
    group = start()
    [victim, survivor] = group.workers()

    victim.kill()

    until(lambda: not Worker.objects.filter(pid=victim.pid).exists(), seconds=3, what="the row has gone")
    group.until_whole()
    assert Worker.objects.filter(pid=survivor.pid).exists()
    assert Worker.objects.count() == 2


def test_the_rows_of_a_killed_group_go_when_another_is_there(start: Start) -> None:
    group, another = start(), start("index=1")

    os.kill(group.process.pid, signal.SIGKILL)

    mine = {process.pid for process in another.workers()}
    until(lambda: set(Worker.objects.values_list("pid", flat=True)) == mine, seconds=3, what="the rows have gone")


def test_the_rows_of_a_machine_that_is_not_heard_of_for_long_go_too(start: Start) -> None:
    group = start("index=1")
    gone = Worker.objects.create(
        group="00000000-0000-0000-0000-00000000000f",
        machine="another",
        host="far",
        pid=1,
        started=1,
        queue="index",
    )
    Worker.objects.filter(pk=gone.pk).update(seen_at=timezone.now() - timedelta(hours=1))

    group.workers()[0].kill()

    until(lambda: not Worker.objects.filter(pk=gone.pk).exists(), seconds=5, what="the row has gone")
