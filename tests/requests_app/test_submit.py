import pytest
from django.conf import settings
from django.test import Client

from requests_app.models import AccessRequest
from tasks import registry
from tasks.models import Event
from tasks.perform import perform

pytestmark = pytest.mark.django_db

GOOD = {"name": "Ana", "organisation": "Acme", "email": "ana@example.net", "message": "May I read?"}


def test_a_submission_is_kept_and_says_received_and_no_more(client, owner, supplier) -> None:
    answer = client.post("/ask/", GOOD, follow=True)

    request = AccessRequest.objects.get()
    assert (request.name, request.email, request.status) == ("Ana", "ana@example.net", "open")
    assert Event.objects.get().type == "access_request.created"
    text = answer.content.decode()
    assert "Your request is received" in text
    assert "told" not in text


def test_an_owner_without_a_name_is_not_named_by_the_address(client, owner, supplier, ask, by, work, smtp):
    owner.full_name = ""
    owner.save()
    perform(registry.operations()["access_requests.approve"], by, id=ask().pk)
    work()

    pages = [client.get("/"), client.get("/?code=inv-aaaaaa"), client.get("/received/"), client.get("/recover/")]
    assert not [page.content.decode() for page in pages if owner.email in page.content.decode()]
    [mail] = smtp.mails
    assert mail["Subject"] == f"Your access to {settings.PUBLIC_URL.partition('://')[2]}"
    assert owner.email not in mail.get_content()


def test_a_submission_without_a_supplier_is_kept_too(client, owner) -> None:
    assert client.post("/ask/", GOOD).status_code == 302
    assert AccessRequest.objects.count() == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("email", ""),
        ("email", "ana"),
        ("email", "a@b@example.net"),
        ("email", "a" * 250 + "@example.net"),
        ("message", ""),
        ("message", "   "),
        ("message", "x" * 20_001),
        ("message", "x" * 1_000_000),
        ("name", "x" * 201),
        ("name", "a\0b"),
        ("organisation", "a\0b"),
        ("message", "a\0b"),
        ("email", "ana\0@example.net"),
    ],
)
def test_bad_input_is_an_error_at_its_field_and_what_was_typed_stays(client, owner, supplier, field, value) -> None:
    answer = client.post("/ask/", {**GOOD, field: value})

    text = answer.content.decode()
    assert answer.status_code == 400
    assert f'data-testid="error-{field}"' in text
    assert "Acme" in text or field == "organisation"
    assert not AccessRequest.objects.exists()


def test_optional_fields_may_be_empty(client, owner) -> None:
    assert client.post("/ask/", {"email": "ana@example.net", "message": "Hello"}).status_code == 302


def test_thirty_submissions_an_hour_from_one_address_and_no_more(client, owner, supplier) -> None:
    for _ in range(30):
        assert client.post("/ask/", GOOD).status_code == 302

    refused = client.post("/ask/", GOOD)

    assert refused.status_code == 429
    assert "wait an hour" in refused.content.decode()
    assert "May I read?" in refused.content.decode()
    assert Client(REMOTE_ADDR="192.0.2.77").post("/ask/", GOOD).status_code == 302
    assert AccessRequest.objects.count() == 31


def test_the_client_is_told_apart_behind_the_trusted_number_of_proxies(client, owner, settings) -> None:
    settings.TRUSTED_PROXIES = 1
    for n in range(31):
        assert client.post("/ask/", GOOD, HTTP_X_FORWARDED_FOR=f"spoofed, 192.0.2.{n}").status_code == 302
    settings.TRUSTED_PROXIES = 0
    answers = {client.post("/ask/", GOOD, HTTP_X_FORWARDED_FOR=f"192.0.2.{n}").status_code for n in range(31)}

    assert answers == {302, 429}


def test_markup_in_a_request_is_shown_as_text(client, owner, supplier, ask, rf) -> None:
    ask(name="<script>alert(1)</script>", message="<img src=x onerror=alert(1)>")
    client.force_login(owner)

    text = client.get("/admin/requests/accessrequest/").content.decode()

    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_a_page_without_an_owner_says_how_to_make_one(client) -> None:
    assert "createsuperuser" in client.get("/").content.decode()
    assert client.post("/ask/", GOOD).status_code == 404
