"""The one LISTEN connection of a process: shared, found again when lost, and never believed."""

import asyncio
import subprocess
import sys
from concurrent.futures import Future
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection, connections, transaction
from django.utils import timezone

from tasks.queue.completion import Done, wait, wait_async
from tasks.queue.models import Task
from tasks.queue.states import State
from tasks.queue.transitions import change
from tests.probe.rows import hand_of, in_state
from tests.processes import ROOT, environment, until
from tests.tasks.queue.groups import end_sessions, sessions
from tests.tasks.queue.waiting import Answer, complete, until_waiting, waiting_async, within

pytestmark = pytest.mark.django_db(transaction=True)


def test_sync_and_async_callers_share_one_connection(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    calls = [elsewhere(call, [task.pk], 10) for call in (wait, waiting_async) * 10]
    until_waiting(20)
    until(lambda: sessions("standmeet listener"), what="somebody listens")

    listeners = sessions("standmeet listener")
    complete(task)

    assert {type(call.result()) for call in calls} == {Done}
    assert (listeners, sessions("standmeet listener")) == (1, 1)


def test_no_connection_is_opened_before_somebody_waits() -> None:
    assert sessions("standmeet listener") == 0


@pytest.mark.parametrize("times", [1, 3])
def test_a_listener_whose_session_is_ended_while_calls_wait_still_answers(times: int, elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    calls = [elsewhere(call, [task.pk], 10) for call in (wait, waiting_async)]
    until_waiting(2)
    for _ in range(times):
        until(lambda: end_sessions("standmeet listener"), what="the listener was connected")

    complete(task)

    with within(2):
        assert [call.result() for call in calls] == [Done({task.pk: "completed"}, {})] * 2


def test_an_end_that_came_while_the_listener_was_cut_off_is_seen_on_reconnect(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    answer = elsewhere(wait, [task.pk], 10)
    until(lambda: sessions("standmeet listener"), what="somebody listens")

    with transaction.atomic():
        change("complete", **hand_of(task))
        end_sessions("standmeet listener")

    with within(2):
        assert answer.result() == Done({task.pk: "completed"}, {})


def test_an_end_that_nobody_told_is_found_by_the_safety_poll(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    answer = elsewhere(wait, [task.pk], 10)
    until(lambda: sessions("standmeet listener"), what="somebody listens")

    Task.objects.update(state="completed", finalized_at=timezone.now(), lease_until=None, worker=None)

    with within(2):
        assert answer.result() == Done({task.pk: "completed"}, {})


@pytest.mark.parametrize("payload", ["the id", "no id", ""])
def test_the_row_decides_and_never_the_payload(payload: str, elsewhere: Any) -> None:
    task, other = in_state(State.RUNNING), in_state(State.RUNNING)
    answers = [elsewhere(wait, [row.pk], 5) for row in (task, other)]
    until_waiting(2)
    until(lambda: sessions("standmeet listener"), what="somebody listens")

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_notify('standmeet_job_final', %s)", [str(task.pk) if payload == "the id" else payload]
        )
    complete(other)
    after_the_other = (answers[1].result(), answers[0].done())
    complete(task)

    assert after_the_other == (Done({other.pk: "completed"}, {}), False)
    assert answers[0].result() == Done({task.pk: "completed"}, {})


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def is_connected(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [pid])
        return bool(cursor.fetchone()[0])


def test_waiting_holds_no_connection(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    mine: Future[int] = Future()

    def work_and_wait() -> Answer:
        mine.set_result(backend())
        return wait([task.pk], 10)

    answer = elsewhere(work_and_wait)
    until_waiting()
    until(lambda: not is_connected(mine.result()), seconds=3, what="the connection was given back")
    complete(task)

    assert isinstance(answer.result(), Done)


def test_an_async_wait_holds_no_connection_of_the_threads_that_worked_for_it(elsewhere: Any) -> None:
    task = in_state(State.RUNNING)
    mine: Future[int] = Future()

    async def work_and_wait() -> Answer:
        mine.set_result(await sync_to_async(backend)())
        try:
            return await wait_async([task.pk], 10)
        finally:
            await sync_to_async(connections.close_all)()

    answer = elsewhere(asyncio.run, work_and_wait())
    until_waiting()
    try:
        until(lambda: not is_connected(mine.result()), seconds=2, what="the connection was given back")
    finally:
        complete(task)

    assert isinstance(answer.result(), Done)


def test_a_fork_listens_on_a_connection_of_its_own() -> None:
    task = in_state(State.COMPLETED)

    command = [sys.executable, "-m", "tests.probe.forks", str(task.pk)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), timeout=30, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
