"""The account page's forms: which operation each one is, and what it says afterwards."""

import zoneinfo
from typing import Any

from django.contrib.auth import update_session_auth_hash
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import PendingEmail
from accounts.queries import verified_supplier
from accounts.visitors import RECOVERED
from tasks import registry
from tasks.errors import Refused
from tasks.panel.chips import chip, tasks_of
from tasks.panel.rows import by
from tasks.perform import perform

FORMS = {
    "account.describe": ("full_name", "introduction"),
    "account.set_time_zone": ("time_zone",),
    "account.change_password": ("current", "new", "again"),
    "account.change_email": ("current_password", "address", "again"),
    "account.resend_email_confirmation": (),
    "account.cancel_email_change": (),
    "account.generate_recovery": (),
}


class NotSent(Refused):
    """The mail of an errand was refused while the owner waited."""

    code = "not_sent"
    status = 502


def do(request: HttpRequest, name: str) -> str:
    """Perform the form's operation; the sentence for its toast."""
    given: dict[str, Any] = {field: request.POST[field] for field in FORMS[name] if field in request.POST}
    if name == "account.change_password":
        given["recovered"] = bool(request.session.get(RECOVERED))
    result = perform(registry.operations()[name], by(request), **given)
    match name:
        case "account.describe":
            return f"Saved: your page {'answers for ' + result.full_name if result.full_name else 'names nobody'}."
        case "account.set_time_zone":
            return f"Saved: times are shown for {result.time_zone}."
        case "account.change_password":
            update_session_auth_hash(request, result)
            request.session.pop(RECOVERED, None)
            return "Saved: your new password is in force."
        case "account.change_email" if result.pending is None:
            return f"Changed: you sign in with {result.address} now."
        case "account.change_email":
            return f"The mail to {result.address} is queued. Your present address works until its link is confirmed."
        case "account.resend_email_confirmation":
            return f"Another mail to {result.address} is queued. Links that were mailed before work too."
        case "account.cancel_email_change":
            return f"Cancelled: your address stays {by(request).user.email}."
    if not result.sent:
        raise NotSent(f"The recovery phrase was not sent to {result.address}. {result.trouble}")
    return f"A recovery phrase was sent to {result.address}. Earlier phrases have ended."


def pending_context(request: HttpRequest) -> dict[str, Any]:
    pending = PendingEmail.objects.filter(owner=request.user.pk).first()
    if pending is None:
        return {"pending": None}
    task = tasks_of([pending.pending_email_job_id]).get(pending.pending_email_job_id)
    mail = chip(task, kept=pending.mail_state, reason=pending.mail_reason)
    return {"pending": pending, "mail": mail, "expired": not pending.is_open_at(timezone.now())}


def context(request: HttpRequest) -> dict[str, Any]:
    return {
        **pending_context(request),
        "account": request.user,
        "can_mail": verified_supplier(request.user) is not None,
        "recovered": bool(request.session.get(RECOVERED)),
        "zones": sorted(zoneinfo.available_timezones()),
    }
