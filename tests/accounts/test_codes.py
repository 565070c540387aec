from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AccessCode, Attempt, CodeMember
from tasks.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def code(owner) -> AccessCode:
    return AccessCode.objects.issue(owner_id=owner.pk, email="ana@example.net", at=timezone.now())


def redeem(client: Client, text: str):
    return client.post("/redeem/", {"code": text})


def test_a_code_is_six_base32_characters_and_stored_as_a_hash(code) -> None:
    assert code.text.startswith("inv-")
    assert set(code.text[4:]) <= set("abcdefghijklmnopqrstuvwxyz234567")
    assert len(code.text) == 10
    assert code.text not in f"{code.hash} {code.text_encrypted}"


def test_a_get_of_the_link_uses_nothing_up(client, code) -> None:
    for _ in range(3):
        assert client.get("/", {"code": code.text}).status_code == 200
    assert client.head("/", {"code": code.text}).status_code == 405 or not CodeMember.objects.exists()

    assert not CodeMember.objects.exists()
    assert redeem(client, code.text).status_code == 302


def test_redeeming_opens_a_session_and_records_it(client, code) -> None:
    answer = redeem(client, f"  {code.text.upper()} ")

    assert answer.status_code == 302
    assert "You are in, as public reader" in client.get("/").content.decode()
    assert Event.objects.get().type == "code.redeemed"


def test_a_code_admits_one_member_who_may_come_again(client, code) -> None:
    redeem(client, code.text)

    again = redeem(client, code.text)
    stranger = redeem(Client(), code.text)

    assert again.status_code == 302
    assert stranger.status_code == 400
    assert "already been used" in stranger.content.decode()
    assert CodeMember.objects.count() == 1


@pytest.mark.parametrize("spoil", ["revoked", "expired", "unknown"])
def test_a_code_that_is_not_valid_is_refused_alike(client, code, spoil) -> None:
    text = code.text
    match spoil:
        case "revoked":
            AccessCode.objects.update(revoked_at=timezone.now())
        case "expired":
            past = timezone.now() - timedelta(days=200)
            AccessCode.objects.update(issued_at=past, expires_at=past + timedelta(days=180))
        case "unknown":
            text = "inv-aaaaaa"

    answer = redeem(client, text)

    assert answer.status_code == 400
    assert "This code is not valid. Check it, or ask for access again." in answer.content.decode()


def test_revoking_a_code_ends_its_sessions_at_once(client, code) -> None:
    redeem(client, code.text)

    code.revoke(timezone.now())

    assert "You are in" not in client.get("/").content.decode()


def test_ten_wrong_guesses_from_one_address_close_the_door_for_a_while(client, code) -> None:
    for _ in range(10):
        assert redeem(client, "inv-aaaaaa").status_code == 400

    closed = redeem(client, code.text)
    other = Client(REMOTE_ADDR="192.0.2.9")

    assert closed.status_code == 429
    assert "wait 15 minutes" in closed.content.decode()
    assert redeem(other, code.text).status_code == 302


def test_right_codes_are_not_counted_as_guesses(client, code) -> None:
    for _ in range(12):
        assert redeem(client, code.text).status_code == 302

    assert not Attempt.objects.exists()


@pytest.mark.parametrize("text", ["", "inv-\0aaaaa", "x" * 5000, "'; drop table", "инв-абвгде"])
def test_nonsense_in_place_of_a_code_is_answered_politely(client, owner, text) -> None:
    answer = redeem(client, text)

    assert answer.status_code == 400
    assert "Traceback" not in answer.content.decode()


def test_a_visitor_who_left_may_come_again_in_the_same_browser(client, code) -> None:
    redeem(client, code.text)
    client.post("/leave/")
    assert "You are in" not in client.get("/").content.decode()

    again = redeem(client, code.text)

    assert again.status_code == 302
    assert "You are in" in client.get("/").content.decode()
    assert CodeMember.objects.count() == 1


def test_the_owner_is_warned_before_taking_the_visitors_place(client, owner, code) -> None:
    client.force_login(owner)

    assert "This link is for the visitor" in client.get("/", {"code": code.text}).content.decode()


@pytest.mark.parametrize("path", ["/ask/", "/redeem/"])
def test_the_address_of_a_refused_form_leads_home_when_it_is_asked_for_again(client, owner, path) -> None:
    answer = client.get(path)

    assert (answer.status_code, answer["Location"]) == (302, "/")
