"""The third-party signals we receive: Django's, when somebody signs in."""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.utils import timezone

from accounts import operations
from tasks.declare import Caller


@receiver(user_logged_in)
def record_login(user: Any, **kwargs: Any) -> None:
    operations.record_login(Caller(user, timezone.now(), "admin"))
