import pytest
from django.test import Client

from accounts.models import Attempt, RecoveryPhrase
from tasks.models import Event
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(password: str, client: Client | None = None, email: str = "olga@example.org"):
    return (client or Client(REMOTE_ADDR="192.0.2.1")).post(
        "/admin/login/?next=/admin/", {"username": email, "password": password}
    )


def test_a_sign_in_is_recorded(owner) -> None:
    assert sign_in(PASSWORD).status_code == 302
    assert Event.objects.get().type == "owner.login"


def test_ten_wrong_passwords_close_the_door_for_that_client_only(owner) -> None:
    for _ in range(9):
        assert sign_in("wrong").status_code == 200
    assert sign_in("wrong").status_code == 429

    refused = sign_in(PASSWORD)

    assert refused.status_code == 429
    assert "Wait 15 minutes" in refused.content.decode()
    assert sign_in(PASSWORD, Client(REMOTE_ADDR="198.51.100.7")).status_code == 302


def test_another_spelling_of_the_address_is_no_new_set_of_tries(owner) -> None:
    for n in range(9):
        sign_in("wrong", email="olga@example.org".upper() if n % 2 else "Olga@example.org")

    assert sign_in("wrong").status_code == 429


def test_the_session_cookie_is_kept_from_scripts_and_other_sites(owner) -> None:
    cookie = sign_in(PASSWORD).cookies["standmeet_session"]

    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_nul_characters_in_the_sign_in_are_an_error_at_the_field(owner) -> None:
    assert sign_in("x", email="olga\0@example.org").status_code == 200


def recover(client: Client, email: str, phrase: str = "aaaa"):
    return client.post("/recover/", {"email": email, "phrase": phrase})


def test_recovery_is_limited_per_client(owner) -> None:
    client = Client(REMOTE_ADDR="192.0.2.1")
    for n in range(10):
        assert recover(client, f"nobody{n}@example.org").status_code == 400

    assert recover(client, owner.email).status_code == 429


def test_recovery_is_limited_per_address_too(owner) -> None:
    for n in range(100):
        assert recover(Client(REMOTE_ADDR=f"192.0.2.{n}"), "Olga@example.org").status_code == 400

    assert recover(Client(REMOTE_ADDR="198.51.100.7"), owner.email).status_code == 429


@pytest.mark.parametrize("phrase", ["", "\0", "x" * 5000, "漢字"])
def test_nonsense_in_place_of_a_phrase_is_refused_politely(owner, phrase) -> None:
    assert recover(Client(), owner.email, phrase).status_code == 400


def test_a_right_phrase_is_spent_and_its_tries_are_not_counted(owner, by) -> None:
    from accounts.operations import keep_phrase

    text = RecoveryPhrase.new_text()
    keep_phrase(by, text=text)
    client = Client()

    assert recover(client, owner.email, text).status_code == 302

    assert not RecoveryPhrase.objects.exists()
    assert not Attempt.objects.exists()
    assert client.get("/admin/accounts/owner/").status_code == 200
