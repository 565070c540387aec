import pytest
from django.db import transaction

from tasks.declare import TaskKind
from tasks.queue.enqueue import UnknownKind, enqueue
from tasks.queue.models import Task
from tests.probe.kinds import NOOP, ONCE, QUICK, WHILE_PENDING, Probe, kind
from tests.probe.models import Effect

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
