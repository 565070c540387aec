import pytest

from accounts.models import MailSupplier
from tasks import registry
from tasks.errors import BadInput, NotAllowed
from tasks.models import Event
from tasks.perform import perform
from tests.smtpd import SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)


def connect(by, smtp: SmtpServer, **given: object) -> MailSupplier:
    values = {
        "host": smtp.host,
        "port": str(smtp.port),
        "security": "none",
        "user": "olga",
        "password": "secret",
        "from_address": "olga@example.org",
        **given,
    }
    return perform(registry.operations()["suppliers.connect"], by, **values)


def test_connecting_signs_in_for_real_and_keeps_the_password_encrypted(by, smtp) -> None:
    connect(by, smtp)

    supplier = MailSupplier.objects.get()
    assert smtp.connections == 1
    assert supplier.state == "verified"
    assert supplier.password == "secret"
    assert "secret" not in supplier.password_encrypted
    assert Event.objects.get().type == "supplier.connected"


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"host": " "}, "host"),
        ({"host": "a b"}, "host"),
        ({"port": "0"}, "port"),
        ({"port": "x"}, "port"),
        ({"security": "maybe"}, "security"),
        ({"from_address": "olga"}, "from_address"),
        ({"user": "o\0lga"}, "user"),
        ({"password": "wrong"}, "host"),
    ],
)
def test_a_wrong_input_is_refused_by_name_and_nothing_is_kept(by, smtp, wrong, field) -> None:
    with pytest.raises(BadInput) as refused:
        connect(by, smtp, **wrong)

    assert field in refused.value.fields
    assert not MailSupplier.objects.exists()


def test_an_empty_password_keeps_the_stored_one(by, smtp) -> None:
    connect(by, smtp)

    connect(by, smtp, password="", from_address="post@example.org")

    supplier = MailSupplier.objects.get()
    assert (supplier.password, supplier.from_address) == ("secret", "post@example.org")


def test_the_stored_password_is_not_sent_to_another_host(by, smtp) -> None:
    connect(by, smtp)

    with SmtpServer(users={"olga": "secret"}) as other, pytest.raises(BadInput):
        connect(by, other, host="localhost", password="")

    assert MailSupplier.objects.get().host == smtp.host


def test_disconnecting_forgets_the_password(by, smtp) -> None:
    connect(by, smtp)

    perform(registry.operations()["suppliers.disconnect"], by)

    supplier = MailSupplier.objects.get()
    assert (supplier.state, supplier.password_encrypted) == ("disconnected", "")
    assert Event.objects.filter(type="supplier.disconnected").count() == 1


def test_a_visitor_may_not_connect_a_supplier(visitor, smtp) -> None:
    with pytest.raises(NotAllowed):
        connect(visitor, smtp)
