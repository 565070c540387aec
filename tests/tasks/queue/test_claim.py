"""Who gets which task, in which order, and how many at once."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from tasks.declare import TaskKind
from tasks.queue import sql
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import BY_HAND, FETCH, NOTIFY, ONE, QUICK, Probe
from tests.probe.models import Effect
from tests.probe.rows import ended, in_state
from tests.processes import WorkerProcess, until
from tests.tasks.queue.groups import Group

OF_QUEUE: dict[str, TaskKind] = {"index": QUICK, "notify": NOTIFY, "fetch": FETCH, "maintenance": ONE}
CLAIM = {"queue": BY_HAND.queue, "worker": 7, "lease": 60}


def claimed() -> int | None:
    rows = change("claim", **CLAIM)
    return rows[0][0] if rows else None


@pytest.mark.django_db
def test_tasks_are_claimed_in_the_order_in_which_they_were_enqueued() -> None:
    ids = [enqueue(BY_HAND, Probe(f"{n}")) for n in range(5)]

    order = [claimed() for _ in range(6)]

    assert order == [*ids, None]


@pytest.mark.django_db
def test_a_task_that_became_due_earlier_goes_first_whatever_its_id() -> None:
    now = timezone.now()
    late = in_state(State.PENDING, scheduled_at=now - timedelta(seconds=1))
    retry = in_state(State.RETRYABLE, scheduled_at=now - timedelta(seconds=3))
    early = in_state(State.PENDING, scheduled_at=now - timedelta(seconds=2))

    order = [claimed() for _ in range(3)]

    assert order == [retry.pk, early.pk, late.pk]


@pytest.mark.django_db
def test_a_task_is_not_claimed_before_it_is_due() -> None:
    enqueue(BY_HAND, Probe(), delay=timedelta(seconds=30))
    in_state(State.RETRYABLE, scheduled_at=timezone.now() + timedelta(seconds=30))

    assert claimed() is None


@pytest.mark.django_db
def test_a_claim_takes_from_its_own_queue_only() -> None:
    enqueue(QUICK, Probe())

    assert claimed() is None


@pytest.mark.django_db
def test_a_claim_counts_the_attempt_and_takes_a_lease_of_at_most_a_minute() -> None:
    task_id = enqueue(BY_HAND, Probe())

    claimed()

    task = Task.objects.get(pk=task_id)
    assert (task.state, task.attempt, task.claim, task.worker_id) == (State.RUNNING, 1, 1, 7)
    assert task.lease_until - task.claimed_at <= timedelta(seconds=60)


@pytest.mark.django_db(transaction=True)
def test_a_task_that_another_is_just_claiming_is_passed_over_without_waiting() -> None:
    first, second = enqueue(BY_HAND, Probe("first")), enqueue(BY_HAND, Probe("second"))

    with connect("other") as other, other.transaction():
        [theirs] = other.execute(sql.statement("claim"), CLAIM).fetchall()
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '1ms'")
        ours = claimed()
    connection.close()

    assert (theirs[0], ours) == (first, second)


@pytest.mark.django_db(transaction=True)
def test_a_task_whose_enqueuer_has_not_committed_is_not_there_to_be_claimed(worker: WorkerProcess) -> None:
    with transaction.atomic():
        held = enqueue(QUICK, Probe("held"))
        with connect("other") as other:
            [(seen,)] = other.execute("SELECT count(*) FROM tasks_task").fetchall()

    assert seen == 0
    assert ended(held).state == State.COMPLETED


def test_no_task_runs_twice_however_many_workers_there_are(worker: WorkerProcess, tmp_path: Path) -> None:
    another = Group(tmp_path / "log", "index=2,notify=1")
    try:
        another.until_whole()
        for n in range(200):
            enqueue(QUICK, Probe(f"{n}"))

        until(lambda: Task.objects.filter(state=State.COMPLETED).count() == 200, what="all have run")
    finally:
        code = another.stop()

    assert code == 0
    assert sorted(Effect.objects.values_list("name", flat=True)) == sorted(f"{n}" for n in range(200))
    assert set(Task.objects.values_list("state", "attempt", "claim")) == {(State.COMPLETED, 1, 1)}
    groups = Counter(pid in {p.pid for p in worker.children()} for pid in Effect.objects.values_list("pid", flat=True))
    assert set(groups) == {True, False}


def most_at_once(queue: str) -> int:
    """From when each task was claimed and ended; one that ends as another begins frees its place first."""
    moments = []
    for begun, over in Task.objects.filter(queue=queue).values_list("claimed_at", "finalized_at"):
        moments += [(begun, 1), (over, -1)]
    most = now = 0
    for _, step in sorted(moments):
        now += step
        most = max(most, now)
    return most


def test_each_queue_runs_exactly_as_many_tasks_at_once_as_it_has_workers(worker: WorkerProcess) -> None:
    ids = [
        enqueue(kind, Probe(queue, "sleep", seconds=0.05))
        for queue, kind in OF_QUEUE.items()
        for _ in range(settings.QUEUES[queue] * 5)
    ]

    for task_id in ids:
        ended(task_id)

    assert {queue: most_at_once(queue) for queue in OF_QUEUE} == {q: settings.QUEUES[q] for q in OF_QUEUE}


def test_the_queues_have_their_sizes() -> None:
    assert settings.QUEUES == {"index": 4, "notify": 2, "webhook": 0, "fetch": 3, "maintenance": 1}


@pytest.mark.parametrize("free", OF_QUEUE)
def test_queues_full_of_slow_tasks_hold_up_no_other(free: str, worker: WorkerProcess, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    full = {queue: kind for queue, kind in OF_QUEUE.items() if queue != free}
    slow = [
        enqueue(kind, Probe("slow", "until", str(gate)))
        for queue, kind in full.items()
        for _ in range(settings.QUEUES[queue] + 2)
    ]
    sizes = sum(settings.QUEUES[queue] for queue in full)
    until(lambda: Task.objects.filter(state=State.RUNNING).count() == sizes, what="the others are full")

    quick = [enqueue(OF_QUEUE[free], Probe("quick")) for _ in range(20)]
    states = [ended(task_id).state for task_id in quick]
    still_running = Task.objects.filter(state=State.RUNNING).count()
    gate.touch()

    assert states == [State.COMPLETED] * 20
    assert still_running == sizes
    assert [ended(task_id).state for task_id in slow] == [State.COMPLETED] * len(slow)


def test_a_queue_without_workers_keeps_its_tasks(worker: WorkerProcess) -> None:
    kept = enqueue(BY_HAND, Probe("kept"))
    after = enqueue(QUICK, Probe("after"))

    ended(after)

    assert Task.objects.get(pk=kept).state == State.PENDING


@pytest.fixture
def planner(transactional_db: None) -> Iterator[psycopg.Connection[Any]]:
    """A session that keeps the plan it makes first, like a worker that started on an empty table."""
    with connect("planner") as conn:
        conn.execute("SET plan_cache_mode = force_generic_plan")
        yield conn


TYPES = {"queue": "text", "worker": "bigint", "lease": "float8", "id": "bigint", "claim": "bigint", "limit": "int"}
TYPES |= {
    "queues": "text[]",
    "sizes": "int[]",
    "ids": "bigint[]",
    "dead": "bigint[]",
    "error": "text",
    "delay": "float8",
}
TYPES |= {"claims": "bigint[]", "attempts": "int", "workers": "bigint[]", "except_for": "bigint[]"}
TYPES |= {"most": "int", "quick": "text[]"}
# Statements that workers repeat, and the indexes that may find their rows (task_leased holds the few that run).
INDEXES = {
    "claim": {"task_due", "tasks_task_pkey"},
    "complete_and_claim": {"task_due", "tasks_task_pkey", "task_leased"},
    "due": {"task_due"},
    "complete": {"tasks_task_pkey", "task_leased"},
    "fail": {"tasks_task_pkey", "task_leased"},
    "hand_back": {"tasks_task_pkey", "task_leased"},
    "renew": {"tasks_task_pkey", "task_leased"},
    "rescue": {"tasks_task_pkey", "task_leased"},
}


def prepare(conn: psycopg.Connection[Any], name: str) -> str:
    """PREPARE the statement; the EXECUTE that shows its plan."""
    names: list[str] = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql.statement(name))))
    body = re.sub(r"%\((\w+)\)s", lambda m: f"${names.index(m[1]) + 1}", sql.statement(name))
    types = ", ".join(TYPES[n] for n in names)
    conn.execute(f"PREPARE {name} ({types}) AS {body}")
    values = ", ".join(f"'{{}}'::{TYPES[n]}" if TYPES[n].endswith("[]") else "'1'" for n in names)
    return f"EXPLAIN EXECUTE {name} ({values})"


def fill() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tasks_task (kind, queue, state, args, max_attempts, attempt, claim, errors, finalized_at) "
            "SELECT 'k', 'index', 'completed', '{}', 3, 1, 1, '[]', now() FROM generate_series(1, 5000)"
        )
        cursor.execute(
            "INSERT INTO tasks_task (kind, queue, state, args, max_attempts, attempt, claim, errors) "
            "SELECT 'k', 'fetch', 'pending', '{}', 3, 0, 0, '[]' FROM generate_series(1, 5000)"
        )


@pytest.mark.parametrize("name", INDEXES)
def test_a_plan_made_on_the_empty_table_walks_the_index_also_when_the_table_is_full(
    name: str, planner: psycopg.Connection[Any]
) -> None:
    execute = prepare(planner, name)
    on_empty = "\n".join(row[0] for row in planner.execute(execute))

    fill()
    kept = "\n".join(row[0] for row in planner.execute(execute))
    planner.execute("ANALYZE tasks_task")
    on_full = "\n".join(row[0] for row in planner.execute(execute))

    for plan in (on_empty, kept, on_full):
        scans = set(re.findall(r"Scan (?:using \w+ )?on (tasks?_\w+)", plan))
        used = set(re.findall(r"using (\w+)", plan)) | (scans - {"tasks_task"})
        used = {index for index in used if not index.startswith("tasks_worker")}
        assert "Seq Scan on tasks_task" not in plan, plan
        assert used <= INDEXES[name], plan
        if "task_due" in INDEXES[name]:
            assert "task_due" in used, plan
            assert "Sort" not in plan, plan


@pytest.mark.parametrize("analyzed", [True, False])
def test_a_hand_is_found_by_the_index_in_a_full_table(analyzed: bool, planner: psycopg.Connection[Any]) -> None:
    fill()
    if analyzed:
        planner.execute("ANALYZE tasks_task")
    planner.execute("SET plan_cache_mode = force_custom_plan")  # it is not prepared

    plan = "\n".join(row[0] for row in planner.execute(prepare(planner, "complete_and_claim_hand")))

    assert "Seq Scan on tasks_task" not in plan, plan
    assert "using task_due" in plan, plan
