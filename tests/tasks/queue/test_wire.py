"""A worker's connection, on which statements are sent together, keeps every promise of an ordinary transaction."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from tasks.queue import wire
from tasks.queue.direct import connect
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task
from tasks.queue.signals import post_transition
from tasks.queue.transitions import change
from tests.probe.kinds import QUICK, Probe
from tests.probe.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def on_the_wire(alone: None) -> Iterator[None]:
    connection.ensure_connection()
    wire.use()
    yield
    connection.close()


@pytest.fixture
def listening() -> Iterator[psycopg.Connection]:
    with connect("test") as heard:
        heard.execute("LISTEN standmeet_job_final")
        yield heard


def heard(listening: psycopg.Connection) -> list[str]:
    return [note.payload for note in listening.notifies(timeout=0.2)]


def test_a_change_is_committed_with_its_notification(listening) -> None:
    task = enqueue(QUICK, Probe())

    rows = change("cancel", ids=[task])

    assert rows == [(task, "probe.quick", "pending", "cancelled")]
    assert heard(listening) == [str(task)]
    assert not connection.in_atomic_block
    assert connection.connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE


def test_a_receiver_may_use_the_orm_and_savepoints_in_the_same_transaction(listening) -> None:
    task = enqueue(QUICK, Probe())

    def receiver(transitions, **kwargs) -> None:
        with transaction.atomic():
            Effect.objects.create(name="seen", pid=0)

    post_transition.connect(receiver)
    try:
        change("cancel", ids=[task])
    finally:
        post_transition.disconnect(receiver)

    assert Effect.objects.get().name == "seen"
    assert heard(listening) == [str(task)]


def test_a_receiver_that_raises_takes_everything_back(listening) -> None:
    task = enqueue(QUICK, Probe())

    def receiver(transitions, **kwargs) -> None:
        Effect.objects.create(name="seen", pid=0)
        raise RuntimeError("no")

    post_transition.connect(receiver)
    try:
        with pytest.raises(RuntimeError, match="no"):
            change("cancel", ids=[task])
    finally:
        post_transition.disconnect(receiver)

    assert Task.objects.get(pk=task).state == "pending"
    assert not Effect.objects.exists()
    assert heard(listening) == []
    change("cancel", ids=[task])
    assert heard(listening) == [str(task)]


def test_an_error_of_what_was_sent_with_the_commit_takes_everything_back(monkeypatch) -> None:
    task = enqueue(QUICK, Probe())

    def receiver(transitions, **kwargs) -> None:
        wire.do("find_once", kind="x" * 9, key=None)
        wire.do("heartbeat", group="not a uuid")

    post_transition.connect(receiver)
    try:
        with pytest.raises(Exception, match="uuid"):
            change("cancel", ids=[task])
    finally:
        post_transition.disconnect(receiver)

    assert Task.objects.get(pk=task).state == "pending"


def test_a_refused_statement_leaves_the_connection_usable() -> None:
    with pytest.raises(Exception, match="int"):
        change("cancel", ids=["x"])

    assert Task.objects.count() == 0


def test_a_lost_connection_is_an_operational_error() -> None:
    task = enqueue(QUICK, Probe())
    pid = connection.connection.info.backend_pid
    with connect("test") as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])

    with pytest.raises(OperationalError):
        change("cancel", ids=[task])

    connection.close()
    assert Task.objects.get(pk=task).state == "pending"


def test_inside_a_callers_transaction_it_waits_for_the_callers_commit(listening) -> None:
    task = enqueue(QUICK, Probe())

    with transaction.atomic():
        change("cancel", ids=[task])
        assert heard(listening) == []

    assert heard(listening) == [str(task)]
