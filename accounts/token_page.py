"""The page of API tokens: what may be chosen, what there is, and the token that has just been made."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from accounts.models import ApiToken
from accounts.operations import NewToken
from accounts.queries import scopes_there_are
from tasks import registry
from tasks.panel.rows import by
from tasks.perform import perform

DAYS = {"30": "30 days", "90": "90 days", "365": "a year", "": "no end"}


def create(request: HttpRequest) -> NewToken:
    given: dict[str, Any] = {"name": request.POST.get("name", ""), "scopes": " ".join(request.POST.getlist("scope"))}
    given["days"] = request.POST.get("days") or None
    made: NewToken = perform(registry.operations()["tokens.create"], by(request), **given)
    return made


def revoke(request: HttpRequest) -> str:
    gone = perform(registry.operations()["tokens.revoke"], by(request), id=request.POST.get("revoke", ""))
    return f"Revoked: {gone.name} can do nothing any more."


def choices() -> list[dict[str, Any]]:
    """The scopes by group, each with what its operations do."""
    groups: dict[str, dict[str, Any]] = {}
    for scope in scopes_there_are()[1:]:
        group, _, verb = scope.partition(":")
        shown = groups.setdefault(group, {"title": group.replace("_", " ").capitalize(), "scopes": []})
        shown["scopes"].append({"scope": scope, "verb": verb, "does": does(scope)})
    return list(groups.values())


def does(scope: str) -> str:
    names = (
        op.name.partition(".")[2] for op in registry.operations().values() if "mcp" in op.faces and op.scope == scope
    )
    return ", ".join(sorted(name.replace("_", " ") for name in names))


def context(request: HttpRequest) -> dict[str, Any]:
    now = by(request).at
    tokens = ApiToken.objects.filter(owner=request.user.pk).order_by("-created_at", "-pk")
    rows = [{"token": token, "scopes": scopes_of(token), "live": token.is_live_at(now)} for token in tokens]
    return {
        "rows": sorted(rows, key=lambda row: not row["live"]),
        "choices": choices(),
        "days": DAYS,
        "typed_scopes": request.POST.getlist("scope"),
        "typed_days": request.POST.get("days", "90"),
        "mcp_url": f"{settings.PUBLIC_URL}/mcp",
    }


def scopes_of(token: ApiToken) -> str:
    return "everything" if "*" in token.scopes else ", ".join(token.scopes)
