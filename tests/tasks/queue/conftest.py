import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connection

from tasks.events.models import Event
from tasks.queue.direct import connect
from tasks.queue.models import Task, Worker
from tests.probe.models import Effect, Settled
from tests.tasks.queue.groups import Ear, Group


@contextmanager
def connected_to(name: str) -> Iterator[None]:
    """Move Django's connections of this process, and what asks for their parameters, to another database."""
    usual = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = name
    ContentType.objects.clear_cache()
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = usual
        ContentType.objects.clear_cache()


@pytest.fixture(scope="session")
def empty_database(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """One more database: the session's worker, which may be running, would repair what a test breaks in its own."""
    name = f"{connection.settings_dict['NAME']}_alone"
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:
            cursor.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            cursor.execute(f'CREATE DATABASE "{name}"')
        with connected_to(name):
            call_command("migrate", verbosity=0, run_syncdb=True)
    yield name
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture(scope="session")
def parked(empty_database: str) -> Iterator[list[Group]]:
    """A group that one test left whole and idle, for the next: to start one takes a second."""
    groups: list[Group] = []
    yield groups
    for group in groups:
        group.kill()


@pytest.fixture
def alone(transactional_db: None, empty_database: str, parked: list[Group], request: Any) -> Iterator[None]:
    """A database where no worker group but the test's own is at work."""
    if "start" not in request.fixturenames and parked:
        parked.pop().kill()
    with connected_to(empty_database):
        yield
        kept = [process.pid for group in parked for process in group.workers()]
        Worker.objects.exclude(pid__in=kept).delete()
        for model in (Task, Event, Effect, Settled):
            model.objects.all().delete()


@pytest.fixture
def start(alone: None, parked: list[Group], tmp_path: Path) -> Iterator[Callable[..., Group]]:
    """Start a worker group of the test's own (or take over the parked one), and wait until it is whole."""
    groups: list[Group] = []

    def start(queues: str = "index=2", *, whole: bool = True, **env: str) -> Group:
        group = parked.pop() if parked else None
        if group and (not whole or env or group.queues != queues):
            group.kill()
            Worker.objects.all().delete()
            group = None
        if group is None:
            group = Group(tmp_path / f"log{len(groups)}", queues, **env)
        group.read = len(group.log.read_text())
        groups.append(group)
        if whole:
            group.until_whole()
        return group

    yield start
    for group in groups:
        sys.stdout.write(f"--- worker group {group.main.pid}\n{group.said()}")
    if len(groups) == 1 and not groups[0].env and groups[0].is_idle():
        parked += groups
    else:
        for group in groups:
            group.kill()


@pytest.fixture
def ear(transactional_db: None) -> Iterator[Ear]:
    """Somebody who listens on a connection of their own."""
    with connect("ear") as conn:
        yield Ear(conn)


@pytest.fixture
def elsewhere() -> Iterator[Callable[..., "Future[Any]"]]:
    """Call a function in a thread of its own."""
    with ThreadPoolExecutor(100) as pool:
        yield pool.submit
