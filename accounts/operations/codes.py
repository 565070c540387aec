from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from django.db import transaction

from accounts import events
from accounts.models import AccessCode, Attempt, CodeMember
from tasks.declare import Caller
from tasks.errors import NotFound
from tasks.events.record import record

WRONG_CODES = 10
WRONG_CODES_WITHIN = timedelta(minutes=15)


@dataclass(frozen=True)
class Redemption:
    """`member` is None for a code that does not let this visitor in; `refusal` says so in words."""

    member: CodeMember | None
    refusal: str = ""


@dataclass(frozen=True)
class Revoked:
    id: int
    code: str
    email: str
    revoked_at: datetime


@transaction.atomic(durable=True)
def redeem(by: Caller, *, code: str, client: str, member_id: int | None = None) -> Redemption:
    """Let a visitor in. `member_id` is who their session says they are already. A wrong code is counted, not raised."""
    found = AccessCode.objects.with_text(code).valid_at(by.at).select_for_update().first()
    attempt = Attempt.objects.spend("code", client, most=WRONG_CODES, within=WRONG_CODES_WITHIN, at=by.at)
    if found is None:
        return Redemption(None, "This code is not valid. Check it, or ask for access again.")
    members = list(found.members.all())
    for member in members:
        if member.pk == member_id:
            attempt.delete()
            return Redemption(member)
    if len(members) >= found.members_allowed:
        return Redemption(None, "This code has already been used in another browser. Ask for access again.")
    member = CodeMember.objects.create(code=found, joined_at=by.at)
    attempt.delete()
    redeemed = events.CodeRedeemed(found.pk, member.pk)
    record(events.CODE_REDEEMED, redeemed, by, owner=found.owner, subject=f"code/{found.pk}")
    return Redemption(member)


@transaction.atomic(durable=True)
def revoke_code(by: Caller, *, code_id: Annotated[int, "of the code: code.id in access_requests.list"]) -> Revoked:
    """End a code at once; visitors who came in with it are out."""
    code = AccessCode.objects.select_for_update().filter(owner=by.user, pk=code_id).first()
    if code is None:
        raise NotFound("There is no such code.")
    if code.revoked_at is None:
        code.revoke(by.at)
        record(events.CODE_REVOKED, events.CodeRef(code.pk), by, owner=by.user, subject=f"code/{code.pk}")
    return Revoked(code.pk, code.text, code.email, code.revoked_at or by.at)
