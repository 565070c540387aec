"""/healthz says whether web, database and worker are alive, soon, whatever the database does."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import requests
from django.contrib.sessions.models import Session
from django.utils import timezone

from tasks.queue import completion
from tasks.queue.completion import wait
from tasks.queue.models import Worker
from tests.probe.rows import in_state
from tests.processes import until
from tests.standmeet.conftest import Web

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = timedelta(seconds=1)


@pytest.fixture
def a_worker() -> Worker:
    return Worker.objects.create(group=uuid4(), machine="here", host="here", pid=1, started=1, queue="notify")


def test_when_all_is_well_it_says_so(client, a_worker) -> None:
    answer = client.get("/healthz")

    assert answer.status_code == 200
    said = answer.json()
    assert said.pop("worker_seen_seconds_ago") < 5
    assert said == {
        "status": "ok",
        "web": "ok",
        "database": "ok",
        "worker": "ok",
        "listener": "not needed yet",
        "oldest_due_job_seconds": 0,
    }


def test_without_a_worker_in_the_last_minute_it_is_a_503(client, a_worker) -> None:
    Worker.objects.update(seen_at=timezone.now() - 61 * SECOND)
    silent = client.get("/healthz")
    Worker.objects.all().delete()
    none = client.get("/healthz")

    assert (silent.status_code, none.status_code) == (503, 503)
    assert silent.json()["worker"] == none.json()["worker"] == "none seen in the last minute"
    assert silent.json()["worker_seen_seconds_ago"] >= 61
    assert none.json()["worker_seen_seconds_ago"] is None


def test_it_says_for_how_long_the_oldest_due_job_waits_but_not_on_a_queue_without_workers(client, a_worker) -> None:
    in_state("pending", queue="webhook", scheduled_at=timezone.now() - timedelta(days=9))
    in_state("pending", queue="index", scheduled_at=timezone.now() + SECOND * 600)
    in_state("retryable", queue="index", scheduled_at=timezone.now() - SECOND * 90)

    answer = client.get("/healthz")

    assert answer.status_code == 200
    assert 90 <= answer.json()["oldest_due_job_seconds"] < 95


def test_it_says_how_this_process_hears_of_the_ends_of_jobs(client, a_worker) -> None:
    wait([in_state("completed").pk], 5)
    until(lambda: client.get("/healthz").json()["listener"] == "listening", what="it listens")

    listener = completion.waits().listener
    assert listener
    listener.connected = False

    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["listener"]) == (200, "polling")


def test_it_answers_any_address_makes_no_session_and_is_not_kept(client, a_worker) -> None:
    answer = client.get("/healthz", headers={"host": "10.1.2.3:8000"})

    assert answer.status_code == 200
    assert answer["Cache-Control"] == "no-store"
    assert not answer.cookies
    assert not Session.objects.exists()


def test_it_takes_get_and_head_only(client, a_worker) -> None:
    assert client.head("/healthz").status_code == 200
    assert client.post("/healthz").status_code == 405


def test_a_web_server_says_within_seconds_that_the_database_is_stopped_or_hangs_and_that_it_is_back(
    web: Web, a_worker: Worker
) -> None:
    assert web.ask()[:2] == (200, "ok")

    web.gate.shut()
    stopped = web.ask()
    web.gate.open()
    back = web.ask()
    web.gate.silence()
    silent = web.ask()
    with ThreadPoolExecutor(10) as pool:
        before = web.gate.taken
        many = list(pool.map(lambda _: web.ask(), range(10)))
        taken = web.gate.taken - before
    web.gate.shut()
    web.gate.open()

    assert stopped[:2] == (503, "no answer")
    assert stopped[2] < 1
    assert back[:2] == (200, "ok")
    assert silent[:2] == (503, "no answer")
    assert silent[2] < 4
    assert {answer[:2] for answer in many} == {(503, "no answer")}
    assert max(took for _, _, took in many) < 8
    assert taken <= 3  # they share two looks; the pool of the pages may try as well
    assert web.ask()[:2] == (200, "ok")


def test_what_it_says_of_a_database_that_is_down_gives_nothing_away(web: Web) -> None:
    web.gate.shut()

    answer = requests.get(f"{web.url}/healthz", timeout=30)

    assert answer.json() == {
        "status": "failing",
        "web": "ok",
        "database": "no answer",
        "worker": "unknown",
        "worker_seen_seconds_ago": None,
        "listener": "not needed yet",
        "oldest_due_job_seconds": None,
    }


def test_a_query_that_hangs_is_given_up_by_us(client: Any, a_worker: Worker) -> None:
    from tasks.queue.direct import connect

    with connect("holder") as holder, holder.transaction():
        holder.execute("LOCK TABLE tasks_worker IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        answer = client.get("/healthz")

    assert (answer.status_code, answer.json()["database"]) == (503, "no answer")
    assert time.monotonic() - began < 3
