"""What a handler says, and what becomes of its task: by real workers."""

from datetime import datetime, timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from tasks.declare import Backoff
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.states import State
from tests.probe.kinds import FETCH, LIMITED, ONE, QUICK, SLOW_BACKOFF, Probe
from tests.probe.models import Effect
from tests.probe.rows import as_told, ended, in_state
from tests.processes import until
from tests.tasks.queue.groups import Start

works = pytest.mark.usefixtures("worker")


def delay(task: Task) -> float:
    """Seconds from the last failed attempt to the next."""
    failed_at = datetime.fromisoformat(task.errors[-1]["at"])
    return (task.scheduled_at - failed_at).total_seconds()


def reached(task_id: int, **expected: object) -> Task:
    until(lambda: Task.objects.filter(pk=task_id, **expected).exists(), what=f"task {task_id} is {expected}")
    return Task.objects.get(pk=task_id)


@works
def test_a_handler_that_returns_has_completed_its_task() -> None:
    task_id = enqueue(QUICK, Probe("done"))

    task = ended(task_id)

    assert (task.state, task.attempt, task.errors) == (State.COMPLETED, 1, [])
    assert (task.lease_until, task.worker_id) == (None, None)
    assert task.created_at <= task.claimed_at <= task.finalized_at
    assert Effect.objects.filter(name="done").count() == 1


@works
def test_a_snoozed_task_runs_again_at_that_time_with_no_attempt_spent() -> None:
    task_id = enqueue(QUICK, Probe("later", "snooze", seconds=0.4, times=1))

    task = ended(task_id)

    first, second = Effect.objects.filter(name="later").order_by("at")
    assert timedelta(seconds=0.4) <= second.at - first.at < timedelta(seconds=1.4)
    assert (task.state, task.attempt, task.errors) == (State.COMPLETED, 1, [])


@works
def test_a_snoozed_task_waits_as_one_that_was_never_tried() -> None:
    task_id = enqueue(QUICK, Probe("later", "snooze", seconds=3600))

    task = reached(task_id, claim=1, state=State.PENDING)

    assert (task.attempt, task.errors, task.lease_until, task.worker_id) == (0, [], None, None)
    assert timedelta(seconds=3600) <= task.scheduled_at - task.claimed_at < timedelta(seconds=3605)


@works
def test_a_task_may_snooze_more_often_than_it_has_attempts() -> None:
    task_id = enqueue(QUICK, Probe("often", "snooze", seconds=0, times=7))

    task = ended(task_id)

    assert (task.state, task.attempt, task.claim, task.errors) == (State.COMPLETED, 1, 8, [])


@works
def test_a_snooze_to_a_time_that_has_passed_is_due_at_once() -> None:
    task_id = enqueue(QUICK, Probe("past", "snooze", seconds=-3600, times=1))

    task = ended(task_id)

    assert task.state == State.COMPLETED
    assert task.scheduled_at > task.created_at


@works
def test_a_discard_ends_the_task_at_once_with_its_reason() -> None:
    task_id = enqueue(QUICK, Probe("hopeless", "discard", "the address does not exist"))

    task = ended(task_id)

    assert (task.state, task.attempt, task.max_attempts) == (State.DISCARDED, 1, 3)
    assert as_told(task) == [(1, "the address does not exist")]
    assert Effect.objects.filter(name="hopeless").count() == 1


@works
def test_any_other_exception_makes_the_task_retryable_on_its_kinds_backoff_with_jitter() -> None:
    ids = [enqueue(SLOW_BACKOFF, Probe(f"{n}", "fail", "no")) for n in range(40)]

    until(lambda: Task.objects.filter(state=State.RETRYABLE).count() == 40, what="all have failed once")

    delays = [delay(task) for task in Task.objects.filter(pk__in=ids)]
    assert all(3600 * 0.9 <= seconds <= 3600 * 1.1 for seconds in delays)
    assert min(delays) < 3600 * 0.97
    assert max(delays) > 3600 * 1.03


@works
def test_the_backoff_grows_with_the_attempts() -> None:
    task_id = enqueue(SLOW_BACKOFF, Probe("grows", "fail", "no"))
    reached(task_id, state=State.RETRYABLE, attempt=1)

    Task.objects.filter(pk=task_id).update(scheduled_at=timezone.now())

    task = reached(task_id, state=State.RETRYABLE, attempt=2)
    assert 7200 * 0.9 <= delay(task) <= 7200 * 1.1


def test_a_backoff_takes_its_steps_and_then_goes_on_by_its_factor() -> None:
    webhook = Backoff((5, 300, 1800, 7200, 18000, 36000))
    mail = Backoff((20,), factor=3)

    assert [webhook.delay(n) for n in (1, 2, 3, 4, 5, 6, 7, 17)] == [5, 300, 1800, 7200, 18000, 36000, 36000, 36000]
    assert [mail.delay(n) for n in range(1, 8)] == [20, 60, 180, 540, 1620, 4860, 14580]


@works
def test_a_task_whose_attempts_are_spent_is_discarded_with_every_attempts_error() -> None:
    task_id = enqueue(QUICK, Probe("never", "fail", "still no"))

    task = ended(task_id)

    assert (task.state, task.attempt) == (State.DISCARDED, 3)
    assert as_told(task) == [(1, "still no"), (2, "still no"), (3, "still no")]
    at = [datetime.fromisoformat(error["at"]) for error in task.errors]
    assert task.created_at < at[0] < at[1] < at[2] == task.finalized_at


@works
def test_a_task_that_fails_and_then_succeeds_is_completed_and_keeps_its_errors() -> None:
    task_id = enqueue(QUICK, Probe("second try", "fail", "not yet", times=1))

    task = ended(task_id)

    assert (task.state, task.attempt) == (State.COMPLETED, 2)
    assert as_told(task) == [(1, "not yet")]


def test_whatever_a_handler_raises_is_a_failed_attempt_and_its_worker_lives_on(start: Start) -> None:
    start("maintenance=1")
    odd = [
        "builtins.SystemExit",
        "asyncio.CancelledError",
        "builtins.KeyboardInterrupt",
        "tests.probe.handlers.Unspeakable",
    ]

    ids = [enqueue(ONE, Probe(path, "raise", path)) for path in odd]

    tasks = [ended(task_id) for task_id in ids]
    assert [as_told(task) for task in tasks] == [[(1, path.rsplit(".")[-1])] for path in odd]
    assert {task.state for task in tasks} == {State.DISCARDED}
    assert len(set(Effect.objects.values_list("pid", flat=True))) == 1


@works
@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("„Größe“ — 名前 🙂\nsecond line\ttab \\ %s {} '\"", "„Größe“ — 名前 🙂\nsecond line\ttab \\ %s {} '\""),
        ("a\0b", "a\ufffdb"),
        ("\\u0000 in words", "\\u0000 in words"),
        ("half \ud83d of a pair", "half ? of a pair"),
        ("x" * 1_000_000, "x" * 1_000_000),
    ],
    ids=["any letters", "NUL", "an escape", "lone surrogate", "a megabyte"],
)
def test_the_message_is_kept_as_it_was_but_for_what_postgres_refuses(message: str, kept: str) -> None:
    task_id = enqueue(ONE, Probe("says", "say", ascii(message)))

    task = ended(task_id)

    assert as_told(task) == [(1, kept)]


@works
@pytest.mark.parametrize(
    ("raised", "said"), [("builtins.RuntimeError", "RuntimeError"), ("builtins.KeyError", "KeyError")]
)
def test_an_exception_without_a_message_is_kept_by_its_name(raised: str, said: str) -> None:
    task_id = enqueue(ONE, Probe("mute", "raise", raised))

    task = ended(task_id)

    assert as_told(task) == [(1, said)]


@works
def test_arguments_that_no_longer_fit_are_a_failed_attempt() -> None:
    task = in_state(State.PENDING, kind=ONE.name, queue="maintenance", args={"gone": 1}, max_attempts=1)

    task = ended(task.pk)

    assert task.state == State.DISCARDED
    assert "unexpected keyword argument 'gone'" in task.last_error


@works
def test_a_task_of_a_kind_that_this_version_does_not_know_is_left_for_one_that_does() -> None:
    task = in_state(State.PENDING, kind="probe.of_tomorrow", queue="maintenance")

    task = reached(task.pk, claim=1, state=State.PENDING)

    assert (task.attempt, task.errors) == (0, [])
    assert task.scheduled_at > timezone.now()


@works
def test_a_handler_runs_outside_any_transaction() -> None:
    task_id = enqueue(ONE, Probe("looks", "look"))

    task = ended(task_id)

    assert as_told(task) == [(1, "in a transaction: False")]


@pytest.mark.parametrize("do", ["leave atomic", "leave begun"])
def test_a_transaction_that_a_handler_left_open_harms_neither_its_task_nor_the_next(do: str, start: Start) -> None:
    start("index=1")
    careless = enqueue(LIMITED, Probe("careless", do))
    following = enqueue(LIMITED, Probe("following"))

    tasks = [ended(careless), ended(following)]

    assert [(t.state, t.attempt, t.errors) for t in tasks] == [(State.COMPLETED, 1, [])] * 2
    assert len(set(Effect.objects.values_list("pid", flat=True))) == 1


@works
def test_a_worker_that_loses_its_database_session_in_a_handler_still_completes_the_task_exactly_once() -> None:
    ids = [enqueue(FETCH, Probe(f"cut {n}", "cut")) for n in range(9)]

    tasks = [ended(task_id) for task_id in ids]

    assert [(t.state, t.attempt, t.claim, t.errors) for t in tasks] == [(State.COMPLETED, 1, 1, [])] * 9
    assert Effect.objects.count() == 9


@works
def test_the_attempts_never_pass_their_number() -> None:
    ids = [enqueue(QUICK, Probe(f"{n}", "fail", "no")) for n in range(20)]

    tasks = [ended(task_id) for task_id in ids]

    assert not Task.objects.filter(attempt__gt=F("max_attempts")).exists()
    assert {(t.state, t.attempt, len(t.errors)) for t in tasks} == {(State.DISCARDED, 3, 3)}
    assert Effect.objects.count() == 60
