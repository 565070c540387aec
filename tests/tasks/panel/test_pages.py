"""The panel's pages as they are asked for, without a browser."""

import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tasks.declare import Caller
from tasks.events.models import Event
from tasks.events.record import record
from tasks.queue.models import Task, TaskAction
from tasks.queue.states import State
from tests.probe.kinds import NOTICED, QUICK, Noticed
from tests.probe.rows import in_state

pytestmark = pytest.mark.django_db(transaction=True)
JOBS, EVENTS = "/admin/tasks/task/", "/admin/tasks/event/"
HOUR = timedelta(hours=1)
HTMX = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def web(client: Client, owner: Any) -> Client:
    client.force_login(owner, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def noticed(by: Caller) -> Event:
    with transaction.atomic():
        return record(NOTICED, Noticed("a bird"), by, owner=by.user, subject="thing/a bird")


def text(answer: Any) -> str:
    return str(answer.content.decode())


def test_the_list_shows_every_declared_kind_before_it_ever_ran(web: Client) -> None:
    said = text(web.get(JOBS))

    assert "<option>access_request.approval_mail</option>" in said
    assert "No job yet" in said
    assert 'data-testid="tasks-count-discarded">0<' in said


def test_a_page_ends_after_fifty_and_the_next_goes_on_where_it_ended(web: Client) -> None:
    ids = [in_state(State.COMPLETED).pk for _ in range(60)][::-1]

    first = text(web.get(JOBS))
    second = text(web.get(f"{JOBS}?before={ids[49]}"))

    assert [f'data-job-id="{id}"' in first for id in ids] == [True] * 50 + [False] * 10
    assert [f'data-job-id="{id}"' in second for id in ids] == [False] * 50 + [True] * 10
    assert f"?before={ids[49]}" in first
    assert "tasks-older" not in second


@pytest.mark.parametrize("query", ["kind=nothing", "state=odd", "queue=none", "kind=%00", "before=x&state=odd"])
def test_a_filter_that_does_not_exist_is_said_and_nothing_breaks(web: Client, query: str) -> None:
    answer = web.get(f"{JOBS}?{query}")

    assert answer.status_code == 400
    assert "There are: " in text(answer)


@pytest.mark.parametrize("id", ["999", "x", "9" * 30, "-1"])
def test_a_job_that_is_not_there_has_a_page_that_says_so(web: Client, id: str) -> None:
    answer = web.get(f"{JOBS}{id}/change/")

    assert answer.status_code == 404
    assert 'data-testid="task-gone"' in text(answer)
    assert web.get(f"{EVENTS}{uuid.uuid4()}/change/").status_code == 404
    assert web.get(f"{EVENTS}x/change/").status_code == 404


def test_a_job_page_shows_arguments_errors_and_who_did_what(web: Client, owner: Any) -> None:
    errors = [{"at": "2026-11-30T04:00:00+00:00", "attempt": n, "error": f"no {n} <b>"} for n in (1, 2)]
    task = in_state(State.DISCARDED, kind=QUICK.name, args={"name": "x<y"}, errors=errors, attempt=2)

    web.post(f"{JOBS}{task.pk}/do/tasks.retry/")
    said = text(web.get(f"{JOBS}{task.pk}/change/"))

    assert said.index("no 2 &lt;b&gt;") < said.index("no 1 &lt;b&gt;")
    assert "x&lt;y" in said
    assert "Olga Owner" in said
    assert "it was discarded" in said
    assert TaskAction.objects.get().via == "admin"


def test_where_the_oldest_job_of_a_kind_is_too_far_back_to_look_the_strip_says_so(
    web: Client, monkeypatch: Any
) -> None:
    for module in ("queries", "strip"):
        monkeypatch.setattr(f"tasks.panel.{module}.LOOKED", 2)
    for _ in range(2):
        in_state(State.PENDING, kind=QUICK.name)
    in_state(State.PENDING, kind="probe.of_yesterday", scheduled_at=timezone.now())

    assert "not among the first 2 of its queue" in text(web.get(f"{JOBS}?kind=probe.of_yesterday"))
    assert "not among" not in text(web.get(f"{JOBS}?kind={QUICK.name}"))


def test_a_poll_answers_with_what_changed_only(web: Client) -> None:
    task, other = in_state(State.PENDING, scheduled_at=timezone.now() + HOUR), in_state(State.COMPLETED)

    fresh = text(web.get(f"{JOBS}rows/?row={task.pk}:x&top={other.pk}"))
    mark = fresh.split(f'value="{task.pk}:')[1].split('"')[0]
    strip = fresh.split('name="strip" value="')[1].split('"')[0]
    same = text(web.get(f"{JOBS}rows/?row={task.pk}:{mark}&top={other.pk}"))
    newer = text(web.get(f"{JOBS}rows/?top={task.pk}"))

    assert f'id="job-{task.pk}"' in fresh
    assert len(strip) == 12
    assert f'id="job-{task.pk}"' not in same
    assert "tasks-newer" not in same
    assert "tasks-newer" in newer


def test_a_signed_out_page_stops_asking_and_a_press_leads_to_the_sign_in(client: Client, db: None) -> None:
    assert client.get(f"{JOBS}rows/").status_code == 286
    pressed = client.post(f"{JOBS}bulk/", **HTMX)
    assert "/admin/login/" in pressed.headers["HX-Redirect"]
    assert client.get(JOBS).status_code == 302


def test_a_press_on_a_filtered_page_leaves_its_counts_filtered(web: Client) -> None:
    in_state(State.DISCARDED)
    task = in_state(State.DISCARDED, kind=QUICK.name)
    page = text(web.get(f"{JOBS}?kind={QUICK.name}&state=discarded"))
    url = page.split('hx-post="/admin/tasks/task/' + str(task.pk))[1].split('"')[0].replace("&amp;", "&")

    said = text(web.post(f"{JOBS}{task.pk}{url}", **HTMX))

    assert 'data-testid="tasks-count-pending">1<' in said
    assert 'data-testid="tasks-count-discarded">0<' in said


def test_many_jobs_are_retried_each_by_itself(web: Client) -> None:
    over, done, gone = in_state(State.DISCARDED), in_state(State.COMPLETED), 10**9

    answer = web.post(f"{JOBS}bulk/", {"do": "tasks.retry", "job": [over.pk, done.pk, gone, "x"]}, **HTMX)

    said = text(answer)
    assert "1 job queued again." in said
    assert f"Job {done.pk} is completed: only" in said
    assert f"There is no job {gone}." in said
    assert Task.objects.get(pk=over.pk).state == State.PENDING


def test_many_jobs_are_cancelled_and_those_that_ran_are_told(web: Client) -> None:
    ids = [in_state(state).pk for state in (State.PENDING, State.RUNNING)]

    said = text(web.post(f"{JOBS}bulk/", {"do": "tasks.cancel", "job": ids}, **HTMX))

    assert "2 jobs cancelled. Of these 1 may have had their effect all the same." in said
    assert set(Task.objects.values_list("state", flat=True)) == {State.CANCELLED}


def test_only_operations_on_jobs_can_be_asked_of_many(web: Client) -> None:
    assert web.post(f"{JOBS}bulk/", {"do": "events.requeue", "job": ["1"]}).status_code == 404
    assert "No job is ticked" in text(web.post(f"{JOBS}bulk/", {"do": "tasks.retry"}, **HTMX))


def test_a_job_pressed_twice_is_retried_once_and_the_second_press_is_told(web: Client) -> None:
    task = in_state(State.DISCARDED)

    first = web.post(f"{JOBS}{task.pk}/do/tasks.retry/", **HTMX)
    second = web.post(f"{JOBS}{task.pk}/do/tasks.retry/", **HTMX)

    assert (first.status_code, second.status_code) == (200, 409)
    assert "is pending and due" in text(second)
    assert TaskAction.objects.count() == 1


def test_a_job_of_an_undeclared_kind_is_shown_without_retry(web: Client) -> None:
    task = in_state(State.DISCARDED, kind="probe.of_yesterday")

    said = text(web.get(f"{JOBS}{task.pk}/change/"))

    assert "does not know the kind probe.of_yesterday" in said
    assert 'data-testid="task-retry"' not in said


def test_who_may_only_look_sees_no_buttons_and_others_see_nothing(client: Client, noticed: Event) -> None:
    reader = get_user_model().objects.create_user("reader@example.org", "a long password", full_name="R", is_staff=True)
    client.force_login(reader, backend="django.contrib.auth.backends.ModelBackend")
    task = in_state(State.DISCARDED)
    assert client.get(JOBS).status_code == client.get(EVENTS).status_code == 403
    reader.user_permissions.add(Permission.objects.get(codename="view_task", content_type__app_label="tasks"))

    said = text(client.get(JOBS)) + text(client.get(EVENTS)) + text(client.get(f"{JOBS}{task.pk}/change/"))
    pressed = client.post(f"{JOBS}{task.pk}/do/tasks.retry/")

    assert f'data-job-id="{task.pk}"' in said
    assert "task-retry" not in said
    assert "tasks-bulk" not in said
    assert pressed.status_code == 403
    assert Task.objects.get(pk=task.pk).state == State.DISCARDED


@pytest.mark.parametrize(
    "press",
    [
        JOBS + "{job}/do/tasks.retry/?detail=1",
        JOBS + "bulk/",
        JOBS + "acknowledge/",
        EVENTS + "{event}/do/events.requeue/",
        "/admin/tasks/period/tasks.check/run/",
    ],
)
def test_a_press_shows_nothing_to_somebody_who_may_not_look(client: Client, noticed: Event, press: str) -> None:
    nobody = get_user_model().objects.create_user("nobody@example.org", "a long password", full_name="N", is_staff=True)
    client.force_login(nobody, backend="django.contrib.auth.backends.ModelBackend")
    task = in_state(State.DISCARDED, args={"name": "a secret"})

    pressed = client.post(press.format(job=task.pk, event=noticed.pk), {"do": "tasks.retry", "job": task.pk}, **HTMX)

    assert (pressed.status_code, text(pressed)) == (403, "You may not see this page.")


def test_the_stream_shows_an_event_with_its_fan_out_and_links(web: Client, noticed: Event) -> None:
    task = Task.objects.get()

    said = text(web.get(f"{EVENTS}?type=probe.noticed&subject=thing/a bird"))

    assert f'data-event-id="{noticed.pk}"' in said
    assert f'data-job-id="{task.pk}"' in said
    assert reverse("admin:tasks_task_change", args=[task.pk]) in said
    assert reverse("admin:tasks_event_change", args=[noticed.pk]) in text(web.get(f"{JOBS}{task.pk}/change/"))
    assert "No event is like that" in text(web.get(f"{EVENTS}?subject=thing"))
    assert web.get(f"{EVENTS}?type=odd").status_code == 400


def test_the_stream_goes_on_where_a_page_ended(web: Client, by: Caller) -> None:
    with transaction.atomic():
        for n in range(55):  # of one moment: the id decides
            record(NOTICED, Noticed(f"bird{n}"), by, owner=by.user, subject="thing/1")

    first = text(web.get(f"{EVENTS}?subject=thing/1"))
    older = first.split('<a href="?subject=thing%2F1&amp;before=')[1].split('"')[0]
    second = text(web.get(f"{EVENTS}?subject=thing/1&before={older}"))

    shown = [first.count('data-testid="event-row"'), second.count('data-testid="event-row"')]
    assert shown == [50, 5]
    assert web.get(f"{EVENTS}?before=nonsense").status_code == 200


@pytest.mark.parametrize("at", ["x", "2026-01-01", "2026-01-01T00:00:00+23:59", "0001-01-01T00:00:00+14:00"])
def test_the_stream_answers_whatever_is_said_of_where_a_page_ended(web: Client, noticed: Event, at: str) -> None:
    answer = web.get(EVENTS, {"before": f"{at}_{noticed.pk}"})

    assert answer.status_code == 200


def test_an_event_is_requeued_from_its_row(web: Client, noticed: Event) -> None:
    Task.objects.update(state=State.DISCARDED, finalized_at=timezone.now())

    answer = web.post(f"{EVENTS}{noticed.pk}/do/events.requeue/", **HTMX)

    assert "The event is sent again: job" in text(answer)
    assert Task.objects.get().state == State.PENDING


def test_a_mail_job_leads_to_its_request_and_the_request_to_its_job(web: Client, supplier: Any, ask: Any) -> None:
    request = ask()
    web.post(f"/admin/requests/accessrequest/{request.pk}/do/access_requests.approve/")
    task = Task.objects.get(kind="access_request.approval_mail")

    job = text(web.get(f"{JOBS}{task.pk}/change/"))
    row = text(web.get(f"/admin/requests/accessrequest/{request.pk}/change/", follow=True))

    assert f"/admin/requests/accessrequest/{request.pk}/change/" in job
    assert f"access request {request.pk}" in job
    assert row.count(' id="request-row-') == 1
    assert f"/admin/tasks/task/{task.pk}/change/" in row


def test_a_mail_that_is_retried_in_the_panel_is_not_offered_again_in_its_list(
    web: Client, supplier: Any, ask: Any
) -> None:
    request = ask()
    web.post(f"/admin/requests/accessrequest/{request.pk}/do/access_requests.approve/")
    task = Task.objects.get(kind="access_request.approval_mail")
    web.post(f"{JOBS}{task.pk}/do/tasks.cancel/")
    failed = text(web.get("/admin/requests/accessrequest/"))

    web.post(f"{JOBS}{task.pk}/do/tasks.retry/")

    again = text(web.get("/admin/requests/accessrequest/"))
    assert ("mail failed" in failed, 'data-testid="request-retry"' in failed) == (True, True)
    assert ("mail sending" in again, 'data-testid="request-retry"' in again) == (True, False)


def test_what_serves_a_page_without_a_row_leads_there(web: Client, owner: Any) -> None:
    args = {"owner_id": owner.pk, "before": "a@example.org", "after": "b@example.org"}
    task = in_state(State.COMPLETED, kind="owner.email_notice", queue="notify", args=args)

    said = text(web.get(f"{JOBS}{task.pk}/change/"))

    assert '<a id="job-serves" href="/admin/accounts/owner/" data-testid="task-serves">account</a>' in said
