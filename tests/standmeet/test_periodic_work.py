"""The periodic work that the product declares: each runs to its end on a fresh database."""

import pytest

from tasks import registry
from tasks.declare import Caller
from tasks.perform import perform
from tasks.queue.periodic import tick

pytestmark = pytest.mark.django_db(transaction=True)
DECLARED = {
    "tasks.prune",
    "events.prune",
    "tasks.check",
    "accounts.clear_sessions",
    "accounts.prune_codes",
    "accounts.prune_email_changes",
    "accounts.prune_attempts",
    "accounts.prune_mails",
}


@pytest.fixture(autouse=True)
def product(settings):
    settings.CATALOG = "standmeet.catalog.CATALOG"
    registry.forget()
    yield
    settings.CATALOG = "tests.catalog.CATALOG"
    registry.forget()


def test_everything_that_is_declared_runs_and_is_done(work, by: Caller) -> None:
    tick()

    ran = work()

    assert set(ran) == DECLARED
    table = perform(registry.operations()["tasks.periodic"], by)
    assert {entry.name: entry.last_result for entry in table.periodic} == dict.fromkeys(DECLARED, "completed")


def test_each_can_be_run_now_and_a_second_time_says_that_it_is_queued(work, by: Caller) -> None:
    run = registry.operations()["tasks.run_periodic"]

    first = perform(run, by, name="tasks.check")
    second = perform(run, by, name="tasks.check")

    assert (first.already_pending, second.already_pending) == (False, True)
    assert first.job_id == second.job_id
    assert work() == ["tasks.check"]
    assert perform(run, by, name="tasks.check").already_pending is False
