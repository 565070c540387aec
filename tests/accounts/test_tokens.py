from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import ApiToken
from accounts.queries import scopes_there_are, token_with
from tasks import registry
from tasks.declare import Caller
from tasks.errors import BadInput, NotAllowed, NotFound
from tasks.models import Event
from tasks.perform import perform

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/admin/accounts/apitoken/"


def do(by, operation, /, **given):
    return perform(registry.operations()[operation], by, **given)


def test_a_token_is_kept_as_a_hash_and_found_by_its_text(by) -> None:
    made = do(by, "tokens.create", name=" Laptop ", scopes="codes:write access_requests:read", days=30)

    token = token_with(made.text, timezone.now())
    assert token
    assert made.text not in str(ApiToken.objects.values().get())
    assert (token.name, token.scopes) == ("Laptop", ["access_requests:read", "codes:write"])
    assert token.expires_at == by.at + timedelta(days=30)
    assert [event.type for event in Event.objects.all()] == ["api_token.created"]


@pytest.mark.parametrize("text", ["", "smt_", "smt__", "smt_00000000_", "Bearer x", "smt_é_é", "smt_00000000_x" * 1000])
def test_nonsense_is_no_token(by, text) -> None:
    do(by, "tokens.create", name="x", scopes="*")

    assert token_with(text, timezone.now()) is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": " ", "scopes": "*"}, "name"),
        ({"name": "x" * 101, "scopes": "*"}, "name"),
        ({"name": "x\ny", "scopes": "*"}, "name"),
        ({"name": "x", "scopes": ""}, "scopes"),
        ({"name": "x", "scopes": "tokens:write"}, "scopes"),
        ({"name": "x", "scopes": "*", "days": 0}, "days"),
        ({"name": "x", "scopes": "*", "days": 99_999}, "days"),
    ],
)
def test_what_makes_no_token_is_refused_at_its_field(by, given, field) -> None:
    with pytest.raises(BadInput) as refused:
        do(by, "tokens.create", **given)

    assert list(refused.value.fields) == [field]
    assert not ApiToken.objects.exists()


def test_a_form_that_is_sent_again_makes_no_second_token(client, owner) -> None:
    client.force_login(owner)
    form = {"name": "Laptop", "scope": "*", "days": "90"}
    first, again = client.post(PAGE, form), client.post(PAGE, form)

    assert (first.status_code, again.status_code) == (200, 400)
    assert "a token that still works" in again.content.decode()
    assert ApiToken.objects.count() == 1


def test_the_name_of_a_token_that_ended_is_free_again(by) -> None:
    made = do(by, "tokens.create", name="x", scopes="*")
    do(by, "tokens.revoke", id=made.id)

    assert do(by, "tokens.create", name="x", scopes="*").id != made.id


def test_a_token_cannot_be_given_the_making_of_tokens() -> None:
    assert not [scope for scope in scopes_there_are() if scope.startswith("tokens")]


def test_a_revoked_token_stays_revoked_and_that_is_recorded_once(by) -> None:
    made = do(by, "tokens.create", name="x", scopes="*")

    do(by, "tokens.revoke", id=made.id)
    do(by, "tokens.revoke", id=made.id)

    assert token_with(made.text, timezone.now()) is None
    assert Event.objects.filter(type="api_token.revoked").count() == 1


def test_another_owners_token_is_out_of_reach(by, django_user_model) -> None:
    other = django_user_model.objects.create_superuser("other@example.org", "x" * 12)
    made = do(Caller(other, timezone.now(), "test"), "tokens.create", name="x", scopes="*")

    with pytest.raises(NotFound):
        do(by, "tokens.revoke", id=made.id)


def test_scopes_limit_a_caller_in_every_face(owner) -> None:
    by = Caller(owner, timezone.now(), "test", frozenset({"codes:write"}))

    with pytest.raises(NotAllowed, match="access_requests:read"):
        do(by, "access_requests.list")


def test_a_page_of_a_signed_out_session_shows_nothing(client, owner) -> None:
    assert client.get(PAGE).status_code == 302
    assert client.post(PAGE, {"name": "x", "scope": "*"}).status_code == 302
    assert not ApiToken.objects.exists()


def test_the_page_with_a_new_token_is_kept_by_no_cache(client, owner) -> None:
    client.force_login(owner)

    page = client.post(PAGE, {"name": "Laptop", "scope": ["codes:write", "account:write"], "days": "365"})

    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert "smt_" in page.content.decode()
    assert client.post(PAGE, {"revoke": "999"}).status_code == 404
    assert client.post(PAGE, {"revoke": "x"}).status_code == 400
