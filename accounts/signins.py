"""The third-party signals we receive: Django's, when somebody signs in."""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.utils import timezone

from accounts import operations
from accounts.visitors import RECOVERED
from tasks.declare import Caller


@receiver(user_logged_in)
def record_login(user: Any, request: Any = None, **kwargs: Any) -> None:
    if request is not None:  # what the session was before: a visitor's, or one that began with a recovery phrase
        request.session.set_expiry(None)
        request.session.pop(RECOVERED, None)
    operations.record_login(Caller(user, timezone.now(), "admin"))
