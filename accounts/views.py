from typing import Any

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.operations import Confirmation, find_token
from accounts.queries import page_owner
from accounts.visitors import RECOVERED, client_of
from tasks import registry
from tasks.declare import Caller
from tasks.errors import BadInput, Refused
from tasks.perform import perform

STATUS = {"confirmed": 200, "expired": 410, "invalid": 404}


def public(request: HttpRequest) -> Caller:
    return Caller(None, timezone.now(), "public")


@never_cache
@require_http_methods(["GET", "POST"])
def confirm_email(request: HttpRequest, token: str) -> HttpResponse:
    """A GET shows who and what, and a button; only a POST confirms. No login is needed, in any browser."""
    if request.method == "POST":
        ending = confirmed(request, token)
        return render(request, "accounts/email_ending.html", {"ending": ending}, status=STATUS[ending.ending])
    found = find_token(token) if "\0" not in token else None
    if found is None:
        return render(request, "accounts/email_ending.html", {"ending": Confirmation("invalid")}, status=404)
    if not found.pending.is_open_at(timezone.now()):
        return render(request, "accounts/email_ending.html", {"ending": Confirmation("expired")}, status=410)
    return render(request, "accounts/email_confirm.html", {"pending": found.pending, "owner": found.pending.owner})


def confirmed(request: HttpRequest, token: str) -> Confirmation:
    try:
        ending: Confirmation = perform(registry.operations()["account.confirm_email"], public(request), token=token)
    except BadInput:
        return Confirmation("invalid")
    return ending


@never_cache
@require_http_methods(["GET", "POST"])
def recover(request: HttpRequest) -> HttpResponse:
    """Signs in by a phrase, which is spent; then a new password can be chosen without the old one."""
    if request.method == "GET":
        return render(request, "accounts/recover.html", {"owner": page_owner()})
    given = {name: request.POST.get(name, "") for name in ("email", "phrase")}
    status, refusal = 400, "This phrase and address do not sign in. A phrase works once; check both."
    try:
        owner = perform(registry.operations()["account.recover"], public(request), **given, client=client_of(request))
    except BadInput:
        owner = None
    except Refused as refused:
        owner, refusal, status = None, str(refused), refused.status
    if owner is None:
        context = {"owner": page_owner(), "email": given["email"].replace("\0", ""), "refusal": refusal}
        return render(request, "accounts/recover.html", context, status=status)
    login(request, owner, backend="django.contrib.auth.backends.ModelBackend")
    request.session[RECOVERED] = True
    return redirect(reverse("admin:accounts_owner_changelist"))


def locked_out(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """What axes answers after too many wrong passwords."""
    return render(request, "accounts/locked_out.html", {"owner": None}, status=429)
