"""The periodic work that the product declares: each runs to its end on a fresh database."""

import json

import pytest
from django.contrib.auth.models import Permission
from django.core.management import call_command

from tasks import registry
from tasks.declare import Caller
from tasks.errors import NotFound
from tasks.perform import allowed, perform
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


def test_the_shell_lists_it_and_runs_it_now(work, owner, capsys) -> None:
    call_command("op", "tasks.run_periodic", "--name", "tasks.check")
    queued = json.loads(capsys.readouterr().out)
    work()
    call_command("op", "tasks.periodic")
    [check] = [w for w in json.loads(capsys.readouterr().out)["periodic"] if w["name"] == "tasks.check"]

    assert queued == {"name": "tasks.check", "job_id": check["job_id"], "already_pending": False}
    assert (check["last_result"], check["every_seconds"], check["overdue"]) == ("completed", 300, False)
    assert [run["asked_by"] for run in check["runs"]] == ["Olga Owner"]


def test_a_name_that_nobody_declares_is_refused_with_the_names_there_are(by: Caller) -> None:
    with pytest.raises(NotFound, match=r"no periodic work tasks\.prun\. There is: tasks\.prune, events\.prune"):
        perform(registry.operations()["tasks.run_periodic"], by, name="tasks.prun")


@pytest.mark.parametrize(("granted", "may"), [((), 0), (("view_task",), 1), (("view_task", "change_task"), 2)])
def test_looking_and_running_ask_for_a_permission_each(owner, granted: tuple[str, ...], may: int) -> None:
    owner.is_superuser = False
    owner.save()
    owner.user_permissions.set(Permission.objects.filter(content_type__app_label="tasks", codename__in=granted))

    names = ("tasks.periodic", "tasks.run_periodic")
    assert [allowed(registry.operations()[name], owner) for name in names].count(True) == may
