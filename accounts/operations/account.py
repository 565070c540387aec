import zoneinfo
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.models import Attempt, Owner
from tasks.declare import Caller
from tasks.errors import BadInput

TRIES = 10
TRIES_WITHIN = timedelta(minutes=15)


@dataclass(frozen=True)
class Description:
    full_name: str
    introduction: str


@transaction.atomic(durable=True)
def describe(
    by: Caller,
    *,
    full_name: Annotated[str, "200 characters at most; empty: the page names nobody"],
    introduction: Annotated[str | None, "2000 characters at most; left out: stays as it is"] = None,
) -> Description:
    """Set the name and the short introduction on the public page."""
    owner: Owner = by.user
    owner.full_name = full_name.strip()
    if introduction is not None:
        owner.introduction = introduction.replace("\r\n", "\n").strip()
    try:
        owner.clean_fields(exclude={field.name for field in owner._meta.fields} - {"full_name", "introduction"})
    except ValidationError as error:
        fields = {field: " ".join(said) for field, said in error.message_dict.items()}
        raise BadInput(" ".join(fields.values()), fields) from None
    owner.save(update_fields=["full_name", "introduction"])
    return Description(owner.full_name, owner.introduction)


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
def prove_password(by: Caller, *, password: str) -> bool:
    """Whether this is the owner's password. Wrong ones are counted, and a session has only so many."""
    attempt = Attempt.objects.spend("password", str(by.user.pk), most=TRIES, within=TRIES_WITHIN, at=by.at)
    right: bool = Owner.objects.get(pk=by.user.pk).check_password(password)
    if right:
        attempt.delete()
    return right


@transaction.atomic(durable=True)
def set_password(by: Caller, *, new: str, again: str) -> Owner:
    """Set a new password, once it is proved that the owner asks."""
    owner = Owner.objects.select_for_update().get(pk=by.user.pk)
    if new != again:
        raise BadInput("The two new passwords differ.", {"again": "must be the same as the new password"})
    try:
        validate_password(new, owner)
    except ValidationError as error:
        raise BadInput(" ".join(error.messages), {"new": " ".join(error.messages)}) from None
    owner.set_password(new)
    owner.save(update_fields=["password"])
    return owner
