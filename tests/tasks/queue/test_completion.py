"""Waiting for tasks to become final: sync and async, three answers."""

import asyncio
import time
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connections, transaction
from django.utils import timezone

from tasks.queue import completion
from tasks.queue.completion import Done, Receipt, wait, wait_async
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.kinds import ONE, QUICK, Probe
from tests.probe.rows import as_told, ended, hand_of, hold_of, in_state
from tests.processes import WorkerProcess
from tests.tasks.queue.waiting import AT_ONCE, Answer, Call, both, complete, until_waiting, waiting_async, within

pytestmark = pytest.mark.django_db(transaction=True)


@both
def test_who_comes_after_the_end_is_answered_at_once(call: Call) -> None:
    task = in_state(State.COMPLETED)

    with within(1):
        answer = call([task.pk], 10)

    assert answer == Done({task.pk: "completed"}, {})


@both
def test_who_waits_is_answered_when_the_task_ends(call: Call, elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    answer = elsewhere(call, [task.pk], 10)
    until_waiting()

    complete(task)

    with within(1.5):
        assert answer.result() == Done({task.pk: "completed"}, {})


@both
def test_who_waits_for_a_real_worker_is_answered_as_soon_as_it_is_done(call: Call, worker: WorkerProcess) -> None:
    call([in_state(State.COMPLETED).pk], 1)
    took = []

    for n in range(10):
        task_id = enqueue(QUICK, Probe(f"{n}"))
        began = time.monotonic()
        assert call([task_id], 10) == Done({task_id: "completed"}, {})
        took.append(time.monotonic() - began)

    assert sorted(took)[5] < 0.1


@pytest.mark.parametrize(
    ("state", "errors", "reasons"),
    [
        (State.DISCARDED, [{"attempt": 1, "error": "first"}, {"attempt": 2, "error": "then this"}], ["then this"]),
        (State.CANCELLED, [], []),
    ],
)
def test_the_answer_names_the_state_and_the_reason(state: str, errors: list[Any], reasons: list[str]) -> None:
    task = in_state(state, errors=errors)

    answer = wait([task.pk], 10)

    assert answer == Done({task.pk: state}, dict.fromkeys([task.pk] if reasons else [], *reasons or [""]))


def test_a_time_out_is_a_receipt_with_the_ids_in_their_order() -> None:
    first, second = in_state(State.RUNNING), in_state(State.COMPLETED)

    with within(1.3, least=0.4):
        answer = wait([second.pk, first.pk, second.pk], 0.4)

    assert answer == Receipt((second.pk, first.pk))


@both
def test_several_tasks_are_waited_for_on_one_deadline_until_the_last_has_ended(call: Call, elsewhere: Any) -> None:
    tasks = [in_state(State.RUNNING) for _ in range(3)]
    answer = elsewhere(call, [task.pk for task in tasks], 10)
    until_waiting()

    for task in tasks:
        assert not answer.done()
        complete(task)

    assert answer.result() == Done({task.pk: "completed" for task in tasks}, {})


@both
@pytest.mark.parametrize("state", [State.PENDING, State.RETRYABLE])
def test_a_task_whose_next_attempt_is_due_after_the_deadline_gives_the_receipt_at_once(state: str, call: Call) -> None:
    call([in_state(State.COMPLETED).pk], 1)
    running = in_state(State.RUNNING)
    late = in_state(state, scheduled_at=timezone.now() + timedelta(seconds=30))

    with within(AT_ONCE):
        answer = call([running.pk, late.pk], 10)

    assert answer == Receipt((running.pk, late.pk))


def test_a_task_that_is_due_before_the_deadline_is_waited_for(worker: WorkerProcess) -> None:
    task_id = enqueue(QUICK, Probe("soon"), delay=timedelta(seconds=0.5))

    answer = wait([task_id], 10)

    assert answer == Done({task_id: "completed"}, {})


def test_a_task_that_is_put_off_past_the_deadline_meanwhile_gives_the_receipt_then(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    answer = elsewhere(wait, [task.pk], 10)
    until_waiting()

    change("fail", **hold_of(task), error="no", delay=3600)

    with within(2):
        assert answer.result() == Receipt((task.pk,))


@both
def test_an_id_that_nobody_knows_gives_the_receipt_at_once(call: Call) -> None:
    call([in_state(State.COMPLETED).pk], 1)

    with within(AT_ONCE):
        answer = call([2**50], 10)

    assert answer == Receipt((2**50,))


def test_a_row_that_is_pruned_meanwhile_gives_the_receipt(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    answer = elsewhere(wait, [task.pk], 10)
    until_waiting()

    Task.objects.all().delete()

    with within(2):
        assert answer.result() == Receipt((task.pk,))


def test_at_most_64_calls_wait_however_many_ids_each_and_the_65th_has_its_receipt_at_once(elsewhere: Any) -> None:
    tasks = [in_state(State.RUNNING) for _ in range(3)]
    ids = [task.pk for task in tasks]

    async def many() -> list[Answer]:
        return await asyncio.gather(*(wait_async(ids, 10) for _ in range(32)))

    calls = [elsewhere(wait, ids, 10) for _ in range(32)]
    coroutines = elsewhere(asyncio.run, many())
    until_waiting(64)
    with within(AT_ONCE):
        one_more = wait(ids, 10)
    with within(AT_ONCE):
        one_more_async = waiting_async(ids, 10)
    for task in tasks:
        complete(task)

    assert (one_more, one_more_async) == (Receipt(tuple(ids)), Receipt(tuple(ids)))
    done = Done(dict.fromkeys(ids, "completed"), {})
    assert [call.result() for call in calls] + coroutines.result() == [done] * 64
    assert wait(ids, 10) == done


def test_an_end_that_is_rolled_back_answers_nobody(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    answer = elsewhere(wait, [task.pk], 1)
    until_waiting()

    with transaction.atomic():
        change("complete", **hand_of(task))
        transaction.set_rollback(True)

    assert answer.result() == Receipt((task.pk,))


@pytest.mark.parametrize("call", [wait, async_to_sync(wait_async)], ids=["sync", "async"])
def test_a_wait_inside_a_transaction_is_refused(call: Call) -> None:
    task = in_state(State.COMPLETED)

    with pytest.raises(RuntimeError, match="transaction"), transaction.atomic():
        call([task.pk], 1)

    assert completion.waits().waiting == 0


def test_a_wait_inside_a_handler_is_refused(worker: WorkerProcess) -> None:
    task = ended(enqueue(ONE, Probe("waits", "wait")))

    [(attempt, error)] = as_told(task)

    assert (task.state, attempt) == (State.DISCARDED, 1)
    assert "a handler must not wait" in error


def test_a_coroutine_that_is_cancelled_gives_its_place_back() -> None:
    task = in_state(State.RUNNING)

    async def give_up() -> int:
        waiting = asyncio.create_task(wait_async([task.pk], 10))
        while completion.waits().waiting == 0:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return completion.waits().waiting

    assert asyncio.run(give_up()) == 0


def test_waiting_coroutines_do_not_hold_up_their_loop(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)

    async def other_work() -> tuple[int, Answer]:
        waiting = asyncio.create_task(wait_async([task.pk], 10))
        turns = 0
        while completion.waits().waiting == 0 or turns < 20:
            await asyncio.sleep(0)
            turns += 1
        await sync_to_async(finish)()
        return turns, await waiting

    def finish() -> None:
        complete(task)
        connections.close_all()

    work: Coroutine[Any, Any, tuple[int, Answer]] = other_work()
    turns, answer = elsewhere(asyncio.run, work).result()

    assert turns >= 20
    assert isinstance(answer, Done)
