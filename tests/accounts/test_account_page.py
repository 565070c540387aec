import threading

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import errands, operations
from accounts.models import AccessCode, MailSupplier, Owner, PendingEmail, RecoveryPhrase
from tasks.declare import Caller
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/admin/accounts/owner/"


@pytest.fixture
def admin(client, owner) -> Client:
    client.force_login(owner)
    return client


def test_ten_wrong_passwords_in_a_session_are_enough(admin) -> None:
    form = {"do": "account.change_password", "current": "wrong", "new": "another fine password"}
    form["again"] = form["new"]
    for _ in range(10):
        assert admin.post(PAGE, form).status_code == 400

    assert admin.post(PAGE, {**form, "current": PASSWORD}).status_code == 429
    change = {"do": "account.change_email", "current_password": PASSWORD, "address": "n@example.org"}
    assert admin.post(PAGE, {**change, "again": "n@example.org"}).status_code == 429


LONG = f"{'a' * 64}@{'.'.join(c * 60 for c in 'bcde')}.org"


@pytest.mark.parametrize("address", [LONG, '"<"@example.org'])
def test_an_address_that_cannot_be_kept_or_mailed_is_refused(admin, address) -> None:
    form = {"do": "account.change_email", "current_password": PASSWORD, "address": address, "again": address}

    assert admin.post(PAGE, form).status_code == 400
    assert Owner.objects.get().email == "olga@example.org"


def test_a_form_without_its_fields_changes_nothing(admin, owner) -> None:
    Owner.objects.update(introduction="I keep notes.")

    assert admin.post(PAGE, {"do": "account.describe"}).status_code == 400
    assert admin.post(PAGE, {"do": "account.describe", "full_name": "Olga"}).status_code == 302

    owner.refresh_from_db()
    assert (owner.full_name, owner.introduction) == ("Olga", "I keep notes.")


def test_an_introduction_of_many_lines_is_counted_as_the_page_counts_it(admin, owner) -> None:
    form = {"do": "account.describe", "full_name": "Olga", "introduction": "\r\n".join(["ab"] * 660)}

    assert admin.post(PAGE, form).status_code == 302


@pytest.mark.parametrize("method", ["put", "patch", "delete"])
def test_the_page_takes_no_other_methods(admin, method) -> None:
    assert getattr(admin, method)(PAGE).status_code == 405


def test_the_pending_row_stops_asking_when_nobody_is_signed_in(client) -> None:
    assert client.get(f"{PAGE}pending/").status_code == 286


@pytest.mark.parametrize("changed", ["host", "port", "security"])
def test_a_stored_password_goes_to_no_other_door(by, supplier, smtp, changed) -> None:
    given = {"host": smtp.host, "port": smtp.port, "security": "none", "user": "olga", "from_address": "o@example.org"}
    wrong = {"host": "localhost", "port": smtp.port + 1, "security": "starttls"}
    before = smtp.connections

    with pytest.raises(Exception, match="."):
        errands.connect_supplier(by, **{**given, changed: wrong[changed]})

    assert MailSupplier.objects.get().host == smtp.host
    assert smtp.connections - before <= 1


def test_a_password_that_cannot_be_read_is_asked_for_again(by, supplier, smtp) -> None:
    MailSupplier.objects.update(password_encrypted="nonsense")
    given = {"host": smtp.host, "port": smtp.port, "security": "none", "user": "olga", "from_address": "o@example.org"}

    with pytest.raises(Exception, match="Type the password again"):
        errands.connect_supplier(by, **given)


def test_an_owners_sign_in_does_not_inherit_what_the_session_was(owner, by) -> None:
    code = AccessCode.objects.issue(owner_id=owner.pk, email="ana@example.net", at=timezone.now())
    phrase = RecoveryPhrase.new_text()
    operations.keep_phrase(by, text=phrase)
    browser = Client()
    browser.post("/redeem/", {"code": code.text})
    browser.post("/recover/", {"email": owner.email, "phrase": phrase})
    assert browser.session["recovered"]

    browser.post("/admin/login/", {"username": owner.email, "password": PASSWORD})

    assert "recovered" not in browser.session
    assert browser.session.get_expiry_age() <= 14 * 24 * 3600


def test_confirming_changing_and_cancelling_at_once_ends_in_one_of_their_states(owner, supplier) -> None:
    def by() -> Caller:
        return Caller(owner, timezone.now(), "test")

    for round in range(3):
        pending = operations.set_email(by(), address=f"n{round}@example.org", again=f"n{round}@example.org").pending
        token = operations.mint_email_token(by(), pending_id=pending.pk)
        barrier, faults = threading.Barrier(3), []

        def run(do, barrier=barrier, faults=faults) -> None:
            barrier.wait()
            try:
                do()
            except Exception as fault:
                if type(fault).__name__ not in ("NotFound", "BadInput"):
                    faults.append(fault)
            connection.close()

        other = f"m{round}@example.org"
        doings = [
            lambda token=token: operations.confirm_email(by(), token=token),
            lambda other=other: operations.set_email(by(), address=other, again=other),
            lambda: operations.cancel_email_change(by()),
        ]
        threads = [threading.Thread(target=run, args=(do,)) for do in doings]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)

        assert faults == []
        owner.refresh_from_db()
        assert PendingEmail.objects.count() <= 1
