"""/metrics: the queue's figures as Prometheus reads them, for those who may."""

import threading
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import requests
from django.conf import settings as django_settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from standmeet import env
from tasks.queue import completion, figures
from tasks.queue.completion import Receipt, wait
from tasks.queue.direct import connect
from tasks.queue.models import Worker
from tasks.queue.tally import Tally, WaitCount
from tests.probe.rows import in_state
from tests.processes import until

pytestmark = pytest.mark.django_db(transaction=True)
LOCAL = {"host": "127.0.0.1:8000"}
TOKEN = "0123456789abcdefghijklmnopqrstuvwxyz"


@pytest.fixture(autouse=True)
def no_waits_of_before() -> None:
    WaitCount.objects.all().delete()


def scraped(client: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Every sample by its name and labels, read by the official parser."""
    answer = client.get("/metrics", headers=LOCAL)
    assert answer.status_code == 200
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(samples: Any, sample: str, /, **labels: str) -> float:
    return float(samples[sample, frozenset(labels.items())])


def test_jobs_are_counted_by_kind_and_state_and_so_are_their_retries(client) -> None:
    for state in ("pending", "running", "retryable", "completed", "discarded", "cancelled"):
        in_state(state)
    in_state("pending", kind="probe.quick", queue="index")
    in_state("completed", kind="probe.quick", attempt=3)
    in_state("discarded", kind="probe.quick", attempt=3)

    samples = scraped(client)

    for state in ("pending", "running", "retryable", "completed", "discarded", "cancelled"):
        assert value(samples, "standmeet_jobs", kind="probe.by_hand", state=state) == 1
        assert value(samples, "standmeet_jobs_estimated", state=state) == 0
    assert value(samples, "standmeet_jobs", kind="probe.quick", state="pending") == 1
    assert value(samples, "standmeet_job_retries", kind="probe.quick", state="completed") == 2
    assert value(samples, "standmeet_job_retries", kind="probe.quick", state="discarded") == 2


def test_a_kind_that_never_ran_is_there_with_0_and_one_that_nobody_declares_is_there_too(client) -> None:
    in_state("completed", kind="gone.kind")

    samples = scraped(client)

    assert value(samples, "standmeet_jobs", kind="probe.noop", state="discarded") == 0
    assert value(samples, "standmeet_jobs", kind="gone.kind", state="completed") == 1


def test_the_age_of_a_queue_is_that_of_its_oldest_due_job(client) -> None:
    in_state("pending", queue="notify", scheduled_at=timezone.now() - timedelta(seconds=90))
    in_state("pending", queue="index", scheduled_at=timezone.now() + timedelta(hours=1))
    Worker.objects.create(group=uuid4(), machine="here", host="here", pid=1, started=1, queue="notify")

    samples = scraped(client)

    assert 90 <= value(samples, "standmeet_queue_age_seconds", queue="notify") < 100
    assert value(samples, "standmeet_queue_age_seconds", queue="index") == 0
    assert value(samples, "standmeet_workers", queue="notify") == 1
    assert value(samples, "standmeet_workers", queue="index") == 0
    assert value(samples, "standmeet_alert", name="queue_late") == 1
    assert value(samples, "standmeet_alert", name="jobs_discarded") == 0


def test_waits_are_counted_by_how_they_ended_with_their_times(client, monkeypatch) -> None:
    wait([in_state("completed").pk], 5)
    wait([in_state("running").pk], 0.3)
    monkeypatch.setattr(completion, "MOST_WAITING", 0)
    assert isinstance(wait([1], 5), Receipt)
    until(lambda: WaitCount.objects.count() == 3, what="they are written down")

    samples = scraped(client)

    for outcome in ("done", "receipt", "capped"):
        assert value(samples, "standmeet_wait_seconds_count", outcome=outcome) == 1
    assert 0.3 <= value(samples, "standmeet_wait_seconds_sum", outcome="receipt") < 1
    assert value(samples, "standmeet_wait_seconds_bucket", outcome="receipt", le="0.25") == 0
    assert value(samples, "standmeet_wait_seconds_bucket", outcome="receipt", le="1.0") == 1
    assert value(samples, "standmeet_wait_seconds_bucket", outcome="capped", le="0.05") == 1


def test_waits_of_several_processes_add_up(client) -> None:
    def one_process() -> None:
        tally = Tally()
        with connect("a process") as conn:
            for _ in range(20):
                tally.add("done", 0.02)
                tally.add("receipt", 2.0)
                tally.write(conn)

    threads = [threading.Thread(target=one_process) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)

    samples = scraped(client)

    assert value(samples, "standmeet_wait_seconds_count", outcome="done") == 80
    assert value(samples, "standmeet_wait_seconds_bucket", outcome="done", le="0.025") == 80
    assert value(samples, "standmeet_wait_seconds_sum", outcome="receipt") == 160
    assert value(samples, "standmeet_wait_seconds_bucket", outcome="receipt", le="2.0") == 80


def test_what_could_not_be_written_down_is_written_down_later() -> None:
    tally = Tally()
    tally.add("done", 1)
    with connect("cut") as conn:
        conn.close()
        with pytest.raises(Exception, match="closed"):
            tally.write(conn)

    with connect("whole") as conn:
        tally.write(conn)
        tally.write(conn)

    assert WaitCount.objects.get().waits == 1


def test_a_wait_just_before_the_process_ends_is_counted() -> None:
    wait([in_state("completed").pk], 5)

    completion.waits().close()

    assert WaitCount.objects.get().waits == 1


def many(number: int, **given: str) -> None:
    row = {"kind": "'probe.quick'", "queue": "'index'", "state": "'completed'", "finalized_at": "now()", **given}
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO tasks_task (args, attempt, max_attempts, claim, errors, created_at, scheduled_at, "  # noqa: S608
            f"{', '.join(row)}) SELECT '{{}}', 1, 2, 1, '[]', now(), now(), {', '.join(row.values())} "
            f"FROM generate_series(1, {number})"
        )


def test_many_jobs_of_a_state_are_estimated_which_is_said_and_few_are_still_exact(client) -> None:
    many(figures.EXACT + 2000)
    many(figures.EXACT + 3000, state="'pending'", finalized_at="null")
    in_state("discarded", kind="probe.quick")
    in_state("completed", kind="probe.noop")

    samples = scraped(client)

    estimated = {s: value(samples, "standmeet_jobs_estimated", state=s) for s in ("completed", "pending", "discarded")}
    assert estimated == {"completed": 1, "pending": 1, "discarded": 0}
    assert value(samples, "standmeet_jobs", kind="probe.quick", state="discarded") == 1
    assert value(samples, "standmeet_jobs", kind="probe.noop", state="completed") == 1
    for state, true in (("completed", figures.EXACT + 2000), ("pending", figures.EXACT + 3000)):
        assert abs(value(samples, "standmeet_jobs", kind="probe.quick", state=state) / true - 1) < 0.1


def test_no_look_at_the_jobs_goes_through_the_whole_table() -> None:
    many(20_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks_task")
        cursor.execute(
            "EXPLAIN " + figures.sql.statement("jobs_by_kind"),
            {"queues": ["index", "notify"], "kinds": ["probe.quick", "probe.noop"], "limit": figures.EXACT},
        )
        plan = [line for (line,) in cursor.fetchall()]

    assert not [line for line in plan if "Seq Scan" in line]


def test_from_this_machine_it_is_answered_and_not_kept(client) -> None:
    answer = client.get("/metrics", headers=LOCAL)

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain; version=")
    assert answer["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", ["localhost:8000", "localhost", "[::1]:8000"])
def test_this_machine_has_several_names(client, name: str) -> None:
    assert client.get("/metrics", headers={"host": name}, REMOTE_ADDR="::1").status_code == 200


def test_another_machine_is_refused_with_a_sentence(client) -> None:
    answer = client.get("/metrics", headers=LOCAL, REMOTE_ADDR="192.0.2.1")

    assert (answer.status_code, "METRICS_TOKEN" in answer.text) == (403, True)


@pytest.mark.parametrize("header", ["x-forwarded-for", "x-forwarded-proto", "x-real-ip", "forwarded", "via"])
def test_what_comes_through_a_proxy_on_this_machine_is_not_from_this_machine(client, header: str) -> None:
    assert client.get("/metrics", headers={**LOCAL, header: "127.0.0.1"}).status_code == 403


@pytest.mark.parametrize("host", ["evil.example", "meet.example.org", "127.0.0.1.evil.example", ""])
def test_a_browser_that_was_told_another_name_for_this_machine_is_refused(client, host: str) -> None:
    assert client.get("/metrics", headers={"host": host}).status_code == 403


def test_with_a_token_only_who_has_it_is_answered_from_anywhere(client, settings) -> None:
    settings.METRICS_TOKEN = TOKEN

    def ask(authorization: str = "", **given: str) -> Any:
        return client.get("/metrics", headers={"authorization": authorization, "host": "10.0.0.1"}, **given)

    assert ask(f"Bearer {TOKEN}", REMOTE_ADDR="192.0.2.1").status_code == 200
    assert ask(f"bearer {TOKEN}").status_code == 200
    for wrong in ("", "Bearer", f"Bearer {TOKEN}x", "Bearer é", f"Basic {TOKEN}", TOKEN):
        answer = ask(wrong)
        assert (answer.status_code, answer["WWW-Authenticate"]) == (401, 'Bearer realm="metrics"')


def test_a_token_that_is_easy_to_guess_does_not_start(monkeypatch) -> None:
    assert django_settings.METRICS_TOKEN == ""
    monkeypatch.setenv("METRICS_TOKEN", "secret")

    with pytest.raises(ImproperlyConfigured, match="METRICS_TOKEN is too easy to guess"):
        env.optional_secret("METRICS_TOKEN")


def test_a_scraper_that_speaks_openmetrics_gets_it(client) -> None:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse

    answer = client.get("/metrics", headers={**LOCAL, "accept": "application/openmetrics-text;version=1.0.0"})

    assert answer["Content-Type"].startswith("application/openmetrics-text")
    assert "standmeet_jobs" in {family.name for family in parse(answer.text)}


def test_two_web_servers_give_the_same_figures_and_neither_to_who_comes_through_a_proxy(start_web) -> None:
    one, other = start_web(), start_web()
    wait([in_state("completed").pk], 5)
    in_state("discarded", kind="probe.quick")
    until(WaitCount.objects.exists, what="the wait is written down")

    said = [requests.get(f"{web.url}/metrics", timeout=20) for web in (one, other)]
    proxied = requests.get(f"{one.url}/metrics", headers={"X-Forwarded-For": "127.0.0.1"}, timeout=20)

    assert [answer.status_code for answer in said] == [200, 200]
    assert said[0].text == said[1].text
    assert 'standmeet_wait_seconds_count{outcome="done"} 1.0' in said[0].text
    assert 'standmeet_jobs{kind="probe.quick",state="discarded"} 1.0' in said[0].text
    assert proxied.status_code == 403


def test_without_a_database_it_says_so(web) -> None:
    web.gate.shut()

    answer = requests.get(f"{web.url}/metrics", timeout=30)

    assert (answer.status_code, answer.text) == (503, "The database does not answer.\n")


def test_only_get_and_head(client) -> None:
    assert client.post("/metrics", headers=LOCAL).status_code == 405
