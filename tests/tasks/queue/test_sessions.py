"""Workers that lose their database sessions."""

from datetime import timedelta
from pathlib import Path

from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.states import TERMINAL, State
from tests.probe.kinds import MANY, QUICK, Probe
from tests.probe.models import Effect
from tests.probe.rows import begun, completed, ended
from tests.processes import until
from tests.tasks.queue.groups import Start, end_sessions

SOON = timedelta(seconds=2)


def test_database_sessions_that_are_all_ended_in_mid_task_cost_no_attempt(start: Start, tmp_path: Path) -> None:
    group = start()
    ids = [enqueue(QUICK, Probe(f"{n}", "until", str(tmp_path / "gate"))) for n in range(2)]
    for n in range(2):
        begun(f"{n}")

    assert end_sessions() >= 4
    (tmp_path / "gate").touch()

    tasks = [ended(task_id) for task_id in ids]
    assert [(t.state, t.attempt, t.claim, t.errors) for t in tasks] == [(State.COMPLETED, 1, 1, [])] * 2
    assert Effect.objects.count() == 2
    group.until_whole()
    assert completed("after it").claim == 1
    assert "reincarnated" not in group.said()


def test_database_sessions_that_are_ended_again_and_again_lose_no_task(start: Start) -> None:
    start("index=3")
    ids = [enqueue(MANY, Probe(f"{n}")) for n in range(150)]

    def left() -> int:
        return Task.objects.exclude(state__in=TERMINAL).count()

    while remaining := left():
        end_sessions()
        until(lambda remaining=remaining: left() < max(1, remaining - 20), seconds=10, what="tasks go on")

    assert set(Task.objects.filter(pk__in=ids).values_list("state", flat=True)) == {State.COMPLETED}
    assert set(Effect.objects.values_list("name", flat=True)) == {f"{n}" for n in range(150)}
