"""The admin's site: its first page says what waits for the owner, and its menu is in the order of use."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from accounts.queries import verified_supplier
from requests_app.queries import NO_SUPPLIER, open_requests
from tasks.queue.alerts import alerts

MENU = ["AccessRequest", "AccessCode", "Owner", "MailSupplier", "ApiToken", "Task", "Period", "Event"]


class SignInForm(AdminAuthenticationForm):
    error_messages = {  # noqa: RUF012
        **AdminAuthenticationForm.error_messages,
        "invalid_login": "This e-mail address and password do not sign in. Check both.",
    }


class Site(admin.AdminSite):
    site_header = site_title = "StandMeet"
    index_title = "Your page"
    login_form = SignInForm

    def index(self, request: HttpRequest, extra_context: Any = None) -> HttpResponseBase:
        waits = {
            "open_requests": open_requests(request.user.pk),
            "mail_hint": "" if verified_supplier(request.user) else NO_SUPPLIER,
            "alerts": alerts() if request.user.has_perm("tasks.view_task") else [],
        }
        return super().index(request, {**waits, **(extra_context or {})})

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        for app in apps:
            app["models"].sort(key=place)
        return sorted(apps, key=lambda app: min(map(place, app["models"])))


def place(model: dict[str, Any]) -> int:
    name = model["object_name"]
    return MENU.index(name) if name in MENU else len(MENU)
