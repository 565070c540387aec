"""The states as data, the statements that change them, and the constraints behind both."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from tasks.queue import sql
from tasks.queue.models import Task
from tasks.queue.signals import post_transition
from tasks.queue.states import COMBINED, TERMINAL, TRANSITIONS, WAITING, State
from tasks.queue.transitions import Transition, change
from tests.probe.rows import SOMEONE_ELSE, in_state

pytestmark = pytest.mark.django_db


def hold(task: Task) -> dict[str, Any]:
    """As it is in memory."""
    return {"id": task.pk, "claim": task.claim, "worker": task.worker_id}


# How each statement is asked to change one row.
GIVEN: dict[str, Callable[[Task], dict[str, Any]]] = {
    "claim": lambda t: {"queue": t.queue, "worker": 7, "lease": 60},
    "complete": lambda t: {"ids": [t.pk], "claims": [t.claim], "worker": t.worker_id},
    "fail": lambda t: {**hold(t), "error": "no", "delay": 1},
    "discard": lambda t: {**hold(t), "error": "no"},
    "snooze": lambda t: {**hold(t), "delay": 1},
    "release": lambda t: {"workers": [SOMEONE_ELSE], "except_for": []},
    "hand_back": lambda t: {"ids": [t.pk], "claims": [t.claim], "worker": t.worker_id},
    "rescue": lambda t: {"dead": [SOMEONE_ELSE], "limit": 10},
    "cancel": lambda t: {"ids": [t.pk]},
    "retry": lambda t: {"id": t.pk, "attempts": 3},
}
FENCED = ("complete", "fail", "discard", "snooze", "hand_back")
NEXT = {"queue": "webhook", "lease": 60}


@contextmanager
def announced() -> Iterator[list[list[Transition]]]:
    """The lists of transitions that were sent, one for each time."""
    sent: list[list[Transition]] = []

    def hear(transitions: list[Transition], **kwargs: Any) -> None:
        sent.append(transitions)

    post_transition.connect(hear)
    try:
        yield sent
    finally:
        post_transition.disconnect(hear)


def in_memory(task: Task, **given: Any) -> Task:
    """The row as somebody remembers it."""
    remembered = Task.objects.get(pk=task.pk)
    for name, value in given.items():
        setattr(remembered, name, value)
    return remembered


def row(task: Task) -> dict[str, Any]:
    return Task.objects.filter(pk=task.pk).values().get()


def test_every_statement_that_writes_a_state_is_declared() -> None:
    files = {path.stem: path.read_text() for path in Path(sql.__file__).parent.glob("*.sql")}

    writers = {name for name, text in files.items() if re.search(r"UPDATE tasks_task\b[^;]*?\bSET state\b", text, re.S)}

    assert writers == {*TRANSITIONS, *COMBINED}
    assert set(GIVEN) == set(TRANSITIONS)


def test_nothing_else_in_the_house_writes_a_state() -> None:
    root = Path(sql.__file__).parents[3]
    folders = ("tasks", "accounts", "requests_app", "jobs", "corpus", "standmeet")
    texts = {path: path.read_text() for folder in folders for path in (root / folder).rglob("*.py")}

    by_orm = [p for p, text in texts.items() if re.search(r"Task\.objects\b[^\n]*\.(update|create|bulk_\w+)\(", text)]
    by_sql = [p for p, text in texts.items() if re.search(r"(UPDATE|INSERT INTO) tasks_task\b", text)]

    assert (by_orm, by_sql) == ([], [])


@pytest.mark.parametrize("state", State.values)
@pytest.mark.parametrize("name", TRANSITIONS)
def test_a_statement_changes_the_states_it_is_declared_for_and_refuses_every_other(name: str, state: str) -> None:
    sources, targets = TRANSITIONS[name]
    task = in_state(state)
    before = row(task)

    with announced() as sent:
        rows = change(name, **GIVEN[name](task))

    if state in sources:
        after = row(task)["state"]
        assert after in targets
        assert [r[:4] for r in rows] == [(task.pk, task.kind, state, after)]
        assert sent == [[Transition(task.pk, task.kind, state, after)]]
    else:
        assert (rows, sent, row(task)) == ([], [], before)


@pytest.mark.parametrize("name", [name for name, (_, targets) in TRANSITIONS.items() if len(targets) > 1])
def test_of_two_targets_the_attempts_decide(name: str) -> None:
    one_left, spent = in_state(State.RUNNING, attempt=2), in_state(State.RUNNING, attempt=3)

    for task in (one_left, spent):
        change(name, **GIVEN[name](task))

    assert (row(one_left)["state"], row(spent)["state"]) == (State.RETRYABLE, State.DISCARDED)
    assert TRANSITIONS[name][1] == {State.RETRYABLE, State.DISCARDED}


def test_completing_and_claiming_are_announced_together_each_as_its_own_transition() -> None:
    done, due = in_state(State.RUNNING), in_state(State.RETRYABLE)

    with announced() as sent:
        change("complete_and_claim", **hold(done), **NEXT)

    assert sent == [
        [
            Transition(done.pk, done.kind, "running", "completed"),
            Transition(due.pk, due.kind, "retryable", "running"),
        ]
    ]


@pytest.mark.parametrize("state", sorted(set(State.values) - {State.RUNNING}))
def test_completing_what_is_no_longer_held_changes_nothing_and_still_claims_the_next(state: str) -> None:
    lost = in_state(state, queue="elsewhere")
    due = in_state(State.PENDING)
    before = row(lost)

    rows = change("complete_and_claim", **{**hold(lost), "worker": SOMEONE_ELSE}, **NEXT)

    assert [r[:4] for r in rows] == [(due.pk, due.kind, "pending", "running")]
    assert row(lost) == before


@pytest.mark.parametrize("name", FENCED)
def test_a_claim_that_is_over_changes_nothing(name: str) -> None:
    task = in_state(State.RUNNING, claim=5, attempt=2)
    before = row(task)

    given = [GIVEN[name](in_memory(task, claim=claim)) for claim in (4, 6)]
    rows = [change(name, **each) for each in given]

    assert rows == [[], []]
    assert row(task) == before


@pytest.mark.parametrize("name", FENCED)
def test_the_same_claim_number_in_another_workers_hand_changes_nothing(name: str) -> None:
    """A crash of Postgres can forget a claim, and its number is given out again."""
    task = in_state(State.RUNNING)
    before = row(task)

    rows = change(name, **GIVEN[name](in_memory(task, worker_id=8)))

    assert rows == []
    assert row(task) == before


def test_a_lease_is_prolonged_only_for_the_claim_that_holds_it() -> None:
    held, taken, over = in_state(State.RUNNING), in_state(State.RUNNING, claim=2), in_state(State.COMPLETED)
    others = in_state(State.RUNNING, worker_id=8)
    tasks = [held, taken, over, others]
    before = [row(task) for task in tasks]

    sql.do("renew", ids=[t.pk for t in tasks], claims=[1] * 4, workers=[SOMEONE_ELSE] * 4, lease=600)

    assert row(held)["lease_until"] > before[0]["lease_until"]
    assert [row(task) for task in tasks[1:]] == before[1:]


def test_giving_back_leaves_what_the_worker_still_runs() -> None:
    running, unheard, others = in_state(State.RUNNING), in_state(State.RUNNING), in_state(State.RUNNING, worker_id=8)

    change("release", workers=[SOMEONE_ELSE], except_for=[running.pk])

    assert [row(task)["state"] for task in (running, unheard, others)] == ["running", "pending", "running"]
    assert row(unheard)["attempt"] == 0


def test_the_claim_number_only_grows_apart_from_the_attempt_count() -> None:
    task = in_state(State.PENDING)
    seen = [(0, 0)]

    for name in (
        "claim",
        "snooze",
        "claim",
        "release",
        "claim",
        "fail",
        "claim",
        "cancel",
        "retry",
        "claim",
        "complete",
    ):
        Task.objects.filter(pk=task.pk).update(scheduled_at="2020-01-01T00:00:00Z")
        given = GIVEN[name](Task.objects.get(pk=task.pk))
        change(name, **{**given, **({"workers": [7]} if name == "release" else {})})
        now = row(task)
        seen.append((now["claim"], now["attempt"]))

    assert seen == [(0, 0), (1, 1), (1, 0), (2, 1), (2, 0), (3, 1), (3, 1), (4, 2), (4, 2), (5, 2), (6, 3), (6, 3)]


def test_a_statement_on_a_set_is_announced_once_with_the_whole_list() -> None:
    tasks = [in_state(state) for state in ("pending", "running", "retryable", "completed")]

    with announced() as sent:
        change("cancel", ids=[task.pk for task in tasks])

    [transitions] = sent
    assert [(t.task_id, t.before, t.after) for t in transitions] == [
        (task.pk, task.state, "cancelled") for task in tasks[:3]
    ]


@pytest.mark.parametrize("name", TRANSITIONS)
def test_the_failure_of_a_receiver_rolls_the_change_back(name: str) -> None:
    task = in_state(next(iter(TRANSITIONS[name][0])))
    before = row(task)

    def refuse(**kwargs: Any) -> None:
        raise RuntimeError("not with me")

    post_transition.connect(refuse)
    try:
        with pytest.raises(RuntimeError, match="not with me"):
            change(name, **GIVEN[name](task))
    finally:
        post_transition.disconnect(refuse)

    assert row(task) == before


def test_a_receiver_sees_the_change_made() -> None:
    task = in_state(State.RUNNING)
    seen: list[str] = []

    def look(transitions: list[Transition], **kwargs: Any) -> None:
        seen.append(Task.objects.get(pk=transitions[0].task_id).state)

    post_transition.connect(look)
    try:
        change("complete", **GIVEN["complete"](task))
    finally:
        post_transition.disconnect(look)

    assert seen == [State.COMPLETED]


HALF_STATES = [
    ("running", "lease_until = NULL"),
    ("running", "worker_id = NULL"),
    *((state, "lease_until = now()") for state in sorted({*WAITING, *TERMINAL})),
    *((state, "worker_id = 1") for state in sorted({*WAITING, *TERMINAL})),
    *((state, "finalized_at = now()") for state in sorted({*WAITING, State.RUNNING})),
    *((state, "finalized_at = NULL") for state in sorted(TERMINAL)),
    *((state, "attempt = max_attempts + 1") for state in State.values),
    *((state, "attempt = max_attempts") for state in sorted(WAITING)),
    *((state, f"state = '{other}'") for state, other in (("pending", "running"), ("running", "completed"))),
    *((state, "state = 'pending'") for state in sorted({*TERMINAL, State.RUNNING})),
    ("running", "attempt = 0"),
    ("pending", "state = 'sleeping'"),
    ("pending", "key = 'k'"),
    ("pending", "key_scope = 'once'"),
    ("pending", "key = 'k', key_scope = 'twice'"),
]


@pytest.mark.parametrize(("state", "update"), HALF_STATES, ids=[f"{s}: {u}" for s, u in HALF_STATES])
def test_the_table_refuses_half_states_whoever_writes_them(state: str, update: str) -> None:
    task = in_state(state)
    before = row(task)

    with pytest.raises(IntegrityError, match="check constraint"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE tasks_task SET {update} WHERE id = %s", [task.pk])  # noqa: S608

    assert row(task) == before
