import pytest
from django.utils import timezone

from requests_app.models import AccessRequest
from tasks import registry
from tasks.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/requests/accessrequest/"


@pytest.fixture
def admin(client, owner):
    client.force_login(owner)
    return client


@pytest.mark.parametrize("rows", [3, 40])
def test_the_list_takes_the_same_number_of_queries_whatever_its_rows(
    admin, ask, by, supplier, rows, django_assert_max_num_queries
) -> None:
    for _ in range(rows):
        perform(registry.operations()["access_requests.approve"], by, request_id=ask().pk)

    with django_assert_max_num_queries(11):
        answer = admin.get(LIST)

    assert answer.content.decode().count('class="live-row"') == rows


@pytest.mark.parametrize("rows", [3, 40])
def test_one_poll_asks_for_all_rows_with_the_same_number_of_queries(
    admin, ask, by, supplier, rows, django_assert_max_num_queries
) -> None:
    pks = [ask().pk for _ in range(rows)]
    for pk in pks:
        perform(registry.operations()["access_requests.approve"], by, request_id=pk)

    with django_assert_max_num_queries(6):
        answer = admin.get(f"{LIST}rows/", {"row": [f"{pk}:" for pk in pks]})

    assert answer.status_code == 200
    assert answer.content.decode().count('data-state="sending"') == rows


def test_a_poll_answers_only_with_what_has_changed(admin, ask, by, supplier) -> None:
    request = ask()
    perform(registry.operations()["access_requests.approve"], by, request_id=request.pk)
    first = admin.get(f"{LIST}rows/", {"row": f"{request.pk}:"}).content.decode()
    mark = first.partition('name="row" value="')[2].partition('"')[0]

    again = admin.get(f"{LIST}rows/", {"row": mark})

    assert again.status_code == 200
    assert "data-state" not in again.content.decode()


def test_a_poll_of_final_rows_ends_the_polling(admin, ask, by, supplier, work) -> None:
    request = ask()
    perform(registry.operations()["access_requests.approve"], by, request_id=request.pk)
    work()

    answer = admin.get(f"{LIST}rows/", {"row": f"{request.pk}:"})

    assert answer.status_code == 286
    assert 'data-state="sent"' in answer.content.decode()


def test_a_poll_after_signing_out_ends_the_polling(client) -> None:
    answer = client.get(f"{LIST}rows/", {"row": "1:"})

    assert (answer.status_code, answer.content) == (286, b"")


@pytest.mark.parametrize("row", ["x", "9" * 30, "-1:", "1", ":", "1:a:b", "\0:"])
def test_nonsense_in_a_poll_is_passed_over(admin, owner, row) -> None:
    assert admin.get(f"{LIST}rows/", {"row": row}).status_code == 286


@pytest.mark.parametrize(
    ("operation", "status"), [("access_requests.nope", 404), ("codes.revoke", 404), ("access_requests.submit", 404)]
)
def test_only_operations_on_these_rows_can_be_done_here(admin, ask, operation, status) -> None:
    assert admin.post(f"{LIST}{ask().pk}/do/{operation}/").status_code == status


def test_a_visitor_cannot_approve(client, ask, supplier) -> None:
    answer = client.post(f"{LIST}{ask().pk}/do/access_requests.approve/")

    assert answer.status_code == 302
    assert "/admin/login/" in answer["Location"]


def test_closing_a_request_that_is_closed_changes_nothing(admin, ask) -> None:
    request = ask()
    AccessRequest.objects.filter(pk=request.pk).update(status="closed", closed_at=timezone.now())

    assert admin.post(f"{LIST}{request.pk}/do/access_requests.close/").status_code == 302


def test_a_closed_request_is_opened_again_and_an_open_one_stays_so(admin, ask) -> None:
    request = ask()
    admin.post(f"{LIST}{request.pk}/do/access_requests.close/")
    assert "request-reopen" in admin.get(f"{LIST}?status=closed").content.decode()

    for _ in range(2):
        assert admin.post(f"{LIST}{request.pk}/do/access_requests.reopen/").status_code == 302

    request.refresh_from_db()
    assert (request.status, request.closed_at) == ("open", None)
    assert "request-reopen" not in admin.get(LIST).content.decode()


def test_the_state_is_still_told_when_the_job_row_is_gone(admin, ask, by, supplier, work) -> None:
    from tasks.models import Task

    request = ask()
    perform(registry.operations()["access_requests.approve"], by, request_id=request.pk)
    work()
    Task.objects.all().delete()

    text = admin.get(f"{LIST}?status=all").content.decode()

    assert 'data-testid="request-mail-state" data-state="sent"' in text


def test_no_page_carries_anything_inline(admin, ask, supplier, client) -> None:
    ask()
    for url in (LIST, "/admin/accounts/mailsupplier/", "/admin/accounts/accesscode/", "/", "/?code=x"):
        answer = admin.get(url)
        text = answer.content.decode()
        assert "script-src 'self'" in answer["Content-Security-Policy"]
        assert "style-src 'self'" in answer["Content-Security-Policy"]
        assert "unsafe" not in answer["Content-Security-Policy"]
        assert " style=" not in text
        assert "<style" not in text
        assert " onclick=" not in text


def test_a_button_pressed_after_signing_out_leads_to_the_sign_in_page(client, ask, supplier) -> None:
    answer = client.post(f"{LIST}{ask().pk}/do/access_requests.approve/", headers={"HX-Request": "true"})

    assert answer.status_code == 204
    assert answer["HX-Redirect"].startswith("/admin/login/?next=")


def test_a_search_goes_through_all_statuses(admin, ask) -> None:
    request = ask(name="Carla Closed")
    AccessRequest.objects.filter(pk=request.pk).update(status="closed", closed_at=timezone.now())

    assert "Carla Closed" not in admin.get(LIST).content.decode()
    assert "Carla Closed" in admin.get(LIST, {"q": "carla"}).content.decode()
    assert "Carla Closed" not in admin.get(LIST, {"q": "carla", "status": "open"}).content.decode()


def test_a_status_that_does_not_exist_shows_the_open_ones(admin, ask) -> None:
    ask(name="Ana Open")

    text = admin.get(LIST, {"status": "bogus"}).content.decode()

    assert "Ana Open" in text
    assert 'data-testid="filter-open" aria-current="page"' in text


def test_a_revoked_code_is_shown_as_revoked(admin, ask, by, supplier) -> None:
    approval = perform(registry.operations()["access_requests.approve"], by, request_id=ask().pk)
    AccessRequest.objects.get().code.revoke(timezone.now())

    text = admin.get(LIST).content.decode()

    assert approval.code in text
    assert approval.link not in text
    assert "revoked" in text
