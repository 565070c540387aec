import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections, transaction

from tasks.declare import TaskKind
from tasks.queue import sql
from tasks.queue.direct import connect
from tasks.queue.enqueue import UnknownKind, enqueue
from tasks.queue.models import Task
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import FETCH, NOOP, ONCE, QUICK, WHILE_PENDING, Probe, kind
from tests.probe.models import Effect
from tests.probe.rows import hold_of, in_state
from tests.processes import until

pytestmark = pytest.mark.django_db


def test_a_task_enqueued_in_a_transaction_that_rolls_back_never_existed() -> None:
    with transaction.atomic():
        enqueue(NOOP, Probe())
        transaction.set_rollback(True)

    assert not Task.objects.exists()


def test_a_kind_that_nobody_declares_cannot_be_enqueued() -> None:
    stranger: TaskKind = kind("probe.stranger")

    with pytest.raises(UnknownKind, match="probe.stranger is not in the catalog"):
        enqueue(stranger, Probe())


def test_arguments_of_another_type_are_refused() -> None:
    with pytest.raises(TypeError, match="takes Probe, not str"):
        enqueue(NOOP, "probe")


def test_a_once_key_gives_the_first_id_even_after_it_has_completed(work) -> None:
    first = enqueue(ONCE, Probe("first"), key="k")
    assert work() == ["probe.once"]

    again = enqueue(ONCE, Probe("again"), key="k")

    assert again == first
    assert work() == []
    assert [e.name for e in Effect.objects.all()] == ["first"]


def test_a_while_pending_key_adds_nothing_while_one_is_pending(work) -> None:
    first = enqueue(WHILE_PENDING, Probe("first"), key="k")

    assert enqueue(WHILE_PENDING, Probe("again"), key="k") == first
    assert enqueue(WHILE_PENDING, Probe("other"), key="another") != first

    assert work() == ["probe.while_pending"] * 2
    assert enqueue(WHILE_PENDING, Probe("later"), key="k") != first


def test_a_snoozed_task_counts_as_pending_for_its_key(work) -> None:
    first = enqueue(WHILE_PENDING, Probe("first", "snooze", seconds=3600), key="k")
    assert work() == ["probe.while_pending"]

    assert enqueue(WHILE_PENDING, Probe("again"), key="k") == first


def test_a_key_needs_a_kind_that_declares_what_it_does() -> None:
    with pytest.raises(ValueError, match="takes no key"):
        enqueue(QUICK, Probe(), key="k")
    with pytest.raises(ValueError, match="takes a key"):
        enqueue(ONCE, Probe())


def test_a_key_holds_for_its_kind_alone() -> None:
    assert enqueue(ONCE, Probe(), key="k") != enqueue(WHILE_PENDING, Probe(), key="k")


@pytest.mark.parametrize("state", State.values)
def test_a_once_key_is_held_in_every_state(state: str) -> None:
    held = in_state(state, kind=ONCE.name, key="k", key_scope="once")

    assert enqueue(ONCE, Probe(), key="k") == held.pk


@pytest.mark.parametrize("state", State.values)
def test_a_while_pending_key_is_held_by_a_pending_task_only(state: str) -> None:
    held = in_state(state, kind=WHILE_PENDING.name, key="k", key_scope="while_pending")

    again = enqueue(WHILE_PENDING, Probe(), key="k")

    assert (again == held.pk) == (state == State.PENDING)
    assert enqueue(WHILE_PENDING, Probe(), key="k") == again


def test_a_task_that_comes_back_while_a_newer_one_is_pending_adds_to_it_and_is_not_refused() -> None:
    running = in_state(State.RUNNING, kind=WHILE_PENDING.name, key="k", key_scope="while_pending")
    newer = enqueue(WHILE_PENDING, Probe(), key="k")

    change("snooze", **hold_of(running), delay=0)

    assert set(Task.objects.filter(state=State.PENDING).values_list("pk", flat=True)) == {running.pk, newer}
    assert enqueue(WHILE_PENDING, Probe(), key="k") == running.pk


def test_a_new_task_is_as_its_kind_says_and_due_after_the_delay() -> None:
    task = Task.objects.get(pk=enqueue(FETCH, Probe("n", seconds=1.5), delay=timedelta(minutes=5)))

    assert (task.kind, task.queue, task.state) == ("probe.fetch", "fetch", State.PENDING)
    assert (task.attempt, task.max_attempts, task.claim, task.errors) == (0, FETCH.attempts, 0, [])
    assert task.args == {"name": "n", "do": "", "text": "", "seconds": 1.5, "times": 0}
    assert task.scheduled_at - task.created_at == timedelta(minutes=5)


@pytest.fixture
def another() -> Iterator[Callable[..., "Future[Any]"]]:
    """Enqueue in a thread with a connection of its own, in a transaction that ends when the event is set."""

    def enqueue_there(commit: threading.Event, kind: TaskKind, key: str, *, keep: bool = True) -> int:
        try:
            with transaction.atomic():
                task_id = enqueue(kind, Probe("there"), key=key, delay=timedelta(hours=1))
                there.set_result(None)
                commit.wait(10)
                transaction.set_rollback(not keep)
            return task_id
        finally:
            connections.close_all()

    there: Future[None] = Future()
    with ThreadPoolExecutor(1) as pool:

        def begin(*args: Any, **given: Any) -> "Future[Any]":
            theirs = pool.submit(enqueue_there, *args, **given)
            there.result(10)
            return theirs

        yield begin


def one_waits() -> bool:
    """Whether somebody waits for another's transaction to end."""
    with connect("observer") as conn:
        [[n]] = conn.execute(
            "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
        ).fetchall()
    return bool(n)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("keep", [True, False], ids=["committed", "rolled back"])
@pytest.mark.parametrize("kind", [ONCE, WHILE_PENDING], ids=["once", "while_pending"])
def test_of_two_who_enqueue_one_key_at_once_the_second_waits_for_the_first(
    kind: TaskKind, keep: bool, another: Callable[..., "Future[Any]"]
) -> None:
    commit = threading.Event()
    theirs = another(commit, kind, "k", keep=keep)
    release = threading.Thread(target=lambda: (until(one_waits), commit.set()))
    release.start()

    ours = enqueue(kind, Probe("here"), key="k", delay=timedelta(hours=1))
    release.join()

    [task] = Task.objects.all()
    assert task.pk == ours
    assert (ours == theirs.result(), task.args["name"]) == ((True, "there") if keep else (False, "here"))


@pytest.mark.django_db(transaction=True)
def test_a_pending_task_found_by_its_key_is_not_claimed_before_its_enqueuer_has_committed() -> None:
    held = in_state(State.PENDING, kind=WHILE_PENDING.name, key="k", key_scope="while_pending")
    claim = {"queue": held.queue, "worker": 7, "lease": 60}

    with connect("worker") as worker:
        with transaction.atomic():
            assert enqueue(WHILE_PENDING, Probe(), key="k") == held.pk
            before = worker.execute(sql.statement("claim"), claim).fetchall()
        after = worker.execute(sql.statement("claim"), claim).fetchall()

    assert (before, after[0][0]) == ([], held.pk)


@pytest.mark.django_db(transaction=True)
def test_a_pending_task_that_is_being_claimed_counts_no_longer() -> None:
    held = in_state(State.PENDING, kind=WHILE_PENDING.name, key="k", key_scope="while_pending")
    claim = {"queue": held.queue, "worker": 7, "lease": 60}

    with connect("worker") as worker, worker.transaction():
        worker.execute(sql.statement("claim"), claim)
        release = threading.Timer(0, lambda: (until(one_waits), worker.execute("COMMIT")))
        release.start()
        new = enqueue(WHILE_PENDING, Probe(), key="k", delay=timedelta(hours=1))
        release.join()

    assert new != held.pk
    assert Task.objects.count() == 2
