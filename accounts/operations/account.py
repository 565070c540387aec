import zoneinfo

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import Owner
from tasks.declare import Caller
from tasks.errors import BadInput


@transaction.atomic(durable=True)
def describe(by: Caller, *, full_name: str, introduction: str = "") -> Owner:
    """Set the name and the short introduction on the public page."""
    owner: Owner = by.user
    owner.full_name, owner.introduction = full_name.strip(), introduction.strip()
    try:
        owner.clean_fields(exclude={field.name for field in owner._meta.fields} - {"full_name", "introduction"})
    except ValidationError as error:
        fields = {field: " ".join(said) for field, said in error.message_dict.items()}
        raise BadInput(" ".join(fields.values()), fields) from None
    owner.save(update_fields=["full_name", "introduction"])
    return owner


@transaction.atomic(durable=True)
def set_time_zone(by: Caller, *, time_zone: str) -> Owner:
    """Set the zone in which the admin shows times."""
    if time_zone not in zoneinfo.available_timezones():
        raise BadInput(f"{time_zone[:64]} is not a time zone.", {"time_zone": "must be one of the list"})
    owner: Owner = by.user
    owner.time_zone = time_zone
    owner.save(update_fields=["time_zone"])
    return owner


@transaction.atomic(durable=True)
def change_password(by: Caller, *, new: str, again: str, current: str = "", recovered: bool = False) -> Owner:
    """Set a new password. The current one is asked for, except after signing in by a recovery phrase."""
    owner = Owner.objects.select_for_update().get(pk=by.user.pk)
    if not recovered and not owner.check_password(current):
        raise BadInput("The current password is not right.", {"current": "is not right"})
    if new != again:
        raise BadInput("The two new passwords differ.", {"again": "must be the same as the new password"})
    try:
        validate_password(new, owner)
    except ValidationError as error:
        raise BadInput(" ".join(error.messages), {"new": " ".join(error.messages)}) from None
    owner.set_password(new)
    owner.save(update_fields=["password"])
    return owner
