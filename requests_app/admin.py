from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.queries import verified_supplier
from requests_app.models import AccessRequest
from requests_app.operations import Approval
from requests_app.queries import NO_SUPPLIER, OPEN_FIRST
from requests_app.states import MailState, Status
from tasks.declare import Operation
from tasks.panel.chips import chip, tasks_of
from tasks.panel.rows import RowsAdmin


class StatusFilter(admin.SimpleListFilter):
    title = "status"
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*Status.choices, ("all", "All")]

    def choices(self, changelist: Any) -> Any:
        for value, title in self.lookup_choices:
            yield {
                "selected": self.shown == value,
                "query_string": changelist.get_query_string({self.parameter_name: value}, ["p"]),
                "display": title,
                "value": value,
            }

    def queryset(self, request: HttpRequest, queryset: QuerySet[AccessRequest]) -> QuerySet[AccessRequest]:
        return queryset if self.shown == "all" else queryset.filter(status=self.shown)

    @property
    def shown(self) -> str:
        """A search goes through all of them, unless a status is asked for."""
        if self.value() in {*Status.values, "all"}:
            return str(self.value())
        return "all" if self.searching else Status.OPEN

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        super().__init__(request, *args)
        self.searching = bool(request.GET.get("q", "").strip())


@admin.register(AccessRequest)
class AccessRequestAdmin(RowsAdmin):
    row_template = "requests_app/row.html"
    live_template = "requests_app/row_live.html"
    act_template = "requests_app/row_act.html"
    list_filter = (StatusFilter,)
    row_filters = {"status": "all"}
    search_fields = ("name", "organisation", "email", "message")
    search_help_text = "Name, organisation, e-mail or message"
    ordering = OPEN_FIRST
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessRequest]:
        return super().get_queryset(request).filter(owner=request.user).select_related("code")

    def present(self, request: HttpRequest, rows: list[AccessRequest]) -> list[dict[str, Any]]:
        tasks = tasks_of(row.mail_job_id for row in rows)
        shown = []
        for row in rows:
            mail = chip(tasks.get(row.mail_job_id or 0), kept=row.mail_state, reason=row.mail_reason)
            if mail and not mail.final:  # retried in the Tasks panel: what was kept of its failure is no longer so
                row.mail_state = MailState.SENDING
            shown.append({"row": row, "mail": mail, "live": mail is not None and not mail.final})
        return shown

    def offered(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        offered = super().offered(request, row)
        return (
            offered
            if self.can_mail(request)
            else [o for o in offered if o["operation"].name != "access_requests.approve"]
        )

    def can_mail(self, request: HttpRequest) -> bool:
        """Asked once per page, whatever the number of its rows."""
        if not hasattr(request, "can_mail"):
            request.can_mail = verified_supplier(request.user) is not None  # type: ignore[attr-defined]
        return bool(request.can_mail)  # type: ignore[attr-defined]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        hint = "" if self.can_mail(request) else NO_SUPPLIER
        extra = {"title": "Access requests", "hint": hint, "filters_label": "Show", "empty": "No requests here."}
        return super().changelist_view(request, {**extra, **(extra_context or {})})

    def said(self, operation: Operation, result: Any) -> str:
        if isinstance(result, Approval):
            if operation.name == "access_requests.retry_mail":
                return "The mail is being sent again."
            mail = "was sent" if result.mail.state == "sent" else "is being sent"
            return f"The code {result.code} is issued. Its mail {mail}."
        if operation.name == "access_requests.reopen":
            return "The request is open again."
        if result.mail and result.mail.state == MailState.FAILED:
            return "The request is closed. Its mail does not go out."
        return "The request is closed."
