from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction

from accounts import events
from accounts.models import ApiToken, Owner
from accounts.queries import scopes_there_are
from tasks.declare import Caller
from tasks.errors import BadInput, NotFound
from tasks.events.record import record

LONGEST = 3650  # days


@dataclass(frozen=True)
class NewToken:
    """`text` is not to be had again."""

    id: int
    name: str
    text: str
    scopes: list[str]
    expires_at: datetime | None


@transaction.atomic(durable=True)
def create_token(by: Caller, *, name: str, scopes: str, days: int | None = None) -> NewToken:
    """Issue a token with these scopes (separated by spaces), for so many days, or without an end."""
    name, asked = name.strip(), sorted(set(scopes.split()))
    wrong = {}
    Owner.objects.select_for_update().get(pk=by.user.pk)  # one at a time: a form sent twice finds what it made
    if not 1 <= len(name) <= 100 or not name.isprintable():
        wrong["name"] = "must be one line of 1 to 100 characters, and say what the token is for"
    elif ApiToken.objects.live_at(by.at).filter(owner=by.user, name=name).exists():
        wrong["name"] = "is that of a token that still works: revoke that one first, or choose another name"
    if unknown := [scope for scope in asked if scope not in scopes_there_are()]:
        wrong["scopes"] = f"must be of {', '.join(scopes_there_are())}; {', '.join(unknown)[:100]} is not one"
    elif not asked:
        wrong["scopes"] = "must be chosen, at least one"
    if days is not None and not 1 <= days <= LONGEST:
        wrong["days"] = f"must be from 1 to {LONGEST}, or left out for a token without an end"
    if wrong:
        raise BadInput(" ".join(f"{field.capitalize()} {what}." for field, what in wrong.items()), wrong)
    ends = by.at + timedelta(days=days) if days is not None else None
    token = ApiToken.objects.issue(owner_id=by.user.pk, name=name, scopes=asked, at=by.at, ends=ends)
    created = events.TokenRef(token.pk, name)
    record(events.TOKEN_CREATED, created, by, owner=by.user, subject=f"api_token/{token.pk}")
    return NewToken(token.pk, name, token.text, asked, ends)


@transaction.atomic(durable=True)
def revoke_token(by: Caller, *, token_id: int) -> ApiToken:
    """End a token at once."""
    token = ApiToken.objects.select_for_update().filter(owner=by.user, pk=token_id).first()
    if token is None:
        raise NotFound("There is no such token.")
    if token.revoked_at is None:
        token.revoked_at = by.at
        token.save(update_fields=["revoked_at"])
        revoked = events.TokenRef(token.pk, token.name)
        record(events.TOKEN_REVOKED, revoked, by, owner=by.user, subject=f"api_token/{token.pk}")
    return token
