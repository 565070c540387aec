import secrets
from typing import Any

from django.utils import timezone

from accounts.models import ApiToken, Attempt, Owner
from requests_app.models import AccessRequest
from tasks import registry
from tasks.declare import Caller
from tasks.perform import perform

EMAIL = "olga@example.org"
REQUESTS = (
    ("Marta Lindqvist", "Nordlys Press", "marta@example.net", "I am writing about self-hosted pages. May I read on?"),
    ("王小明", "", "xiaoming@example.net", "您好，我想阅读您关于数据库的笔记。"),
)


def owner_with_supplier(smtp_port: int) -> tuple[Owner, str]:
    """The demo's owner with a new password, and this run's mail sink connected, checked for real."""
    owner = Owner.objects.filter(email=EMAIL).first() or Owner.objects.create_superuser(
        EMAIL, full_name="Olga Owner", introduction="I keep notes on databases, and will answer from them here."
    )
    Attempt.objects.all().delete()  # of earlier plays
    password = secrets.token_urlsafe(9)
    owner.set_password(password)
    owner.save()
    sink: dict[str, Any] = {"host": "127.0.0.1", "port": smtp_port, "security": "none", "from_address": EMAIL}
    perform(registry.operations()["suppliers.connect"], Caller(owner, timezone.now(), "shell"), **sink)
    return owner, password


def token_of_the_day(owner: Owner) -> str:
    """For an AI client; those of earlier plays end."""
    at = timezone.now()
    ApiToken.objects.filter(owner=owner, name="demo", revoked_at=None).update(revoked_at=at)
    asked: dict[str, Any] = {"name": "demo", "scopes": "*", "days": 1}
    text: str = perform(registry.operations()["tokens.create"], Caller(owner, at, "shell"), **asked).text
    return text


def two_requests(owner: Owner) -> None:
    if AccessRequest.objects.filter(owner=owner).exists():
        return
    submit = registry.operations()["access_requests.submit"]
    for name, organisation, email, message in REQUESTS:
        by = Caller(None, timezone.now(), "public")
        asked = {"name": name, "organisation": organisation, "email": email, "message": message}
        perform(submit, by, **asked, client="demo")
