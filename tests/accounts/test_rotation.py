import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import AccessCode, MailSupplier

OLD, NEW = "o" * 20 + "ld secret of 32 characters", "n" * 20 + "ew secret of 32 characters"


@pytest.mark.django_db(transaction=True)
def test_after_a_rotation_the_previous_secret_is_not_needed_any_more(settings, owner, capsys) -> None:
    settings.INSTANCE_SECRET, settings.INSTANCE_SECRET_PREVIOUS = OLD, ""
    code = AccessCode.objects.issue(owner_id=owner.pk, email="ana@example.net", at=timezone.now())
    text = code.text
    supplier = MailSupplier(owner=owner, host="h", from_address="o@example.org", state="disconnected")
    supplier.password = "secret"
    supplier.save()
    settings.INSTANCE_SECRET, settings.INSTANCE_SECRET_PREVIOUS = NEW, OLD

    call_command("rotate_secrets")

    settings.INSTANCE_SECRET_PREVIOUS = ""
    assert "1 mail suppliers and 1 access codes" in capsys.readouterr().out
    assert MailSupplier.objects.get().password == "secret"
    assert AccessCode.objects.with_text(text).get().text == text
