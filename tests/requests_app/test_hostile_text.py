"""What visitors type ends in mails, and nowhere but where it belongs."""

import pytest
from django.test import Client

from requests_app.models import AccessRequest

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "name",
    [
        "=?utf-8?q?=0D=0ABcc:_evil@example.org=0D=0A=0D=0AClick?=",
        "=?utf-8?b?DQpCY2M6IGV2aWxAZXhhbXBsZS5vcmcNCg0KQ2xpY2s=?=",
        "Ana\r\nBcc: evil@example.org",
        "Ana\u2028Bcc: evil@example.org",
    ],
)
def test_a_name_adds_no_header_and_no_text_to_the_owners_mail(supplier, smtp, work, name) -> None:
    Client().post("/ask/", {"name": name, "email": "ana@example.net", "message": "Hello"})

    work()

    [mail] = smtp.mails
    assert mail["Bcc"] is None
    assert mail.envelope_to == ["olga@example.org"]
    assert mail["Reply-To"] == "ana@example.net"
    assert "Hello" in mail.get_content()


@pytest.mark.parametrize("email", ["=?utf-8?q?b?=@example.net", '"\x01"@example.net', '"<"@example.net', "a" * 260])
def test_an_address_that_no_mail_could_carry_is_an_error_at_its_field(owner, supplier, email) -> None:
    answer = Client().post("/ask/", {"email": email, "message": "Hello"})

    assert answer.status_code == 400
    assert 'data-testid="error-email"' in answer.content.decode()
    assert not AccessRequest.objects.exists()
