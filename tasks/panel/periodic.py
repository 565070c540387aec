"""The admin's page of periodic work: how often, last and next run, earlier runs, Run now; one poll for the page."""

import hashlib
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_GET, require_POST

from tasks import registry
from tasks.errors import Refused
from tasks.panel.rows import PLAIN, STOP_POLLING, RowsAdmin, by
from tasks.panel.strip import tabs
from tasks.perform import allowed, perform
from tasks.queue.alerts import alerts
from tasks.queue.periodic_operations import Queued
from tasks.queue.periods import Period
from tasks.queue.timetable import PeriodicRun, PeriodicWork

BUSY, QUIET = 1, 5  # seconds between polls: while a run is under way, and else
LIVE = ("state", "times", "runs")  # the parts of a row that change
WORDS = {"pending": "queued", "retryable": "queued", "running": "running", "completed": "done", "discarded": "failed"}


@admin.register(Period)
class PeriodicAdmin(RowsAdmin):
    """One page in the place of a list: its rows are what the apps declare, not what the table holds."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.has_perm("tasks.view_task"))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def get_urls(self) -> list[URLPattern]:
        page = self.admin_site.admin_view(self.page_view)
        return [
            path("", page, name="tasks_periodic"),
            path("", page, name="tasks_period_changelist"),
            path("rows/", require_GET(self.poll_view), name="tasks_periodic_rows"),
            path("<str:name>/run/", self.signed_in(require_POST(self.run_view)), name="tasks_periodic_run"),
        ]

    def page_view(self, request: HttpRequest) -> HttpResponse:
        if not self.has_view_permission(request):
            return HttpResponse("You may not see periodic work.", status=403, content_type=PLAIN)
        rows = self.shown(request)
        context = {
            **self.admin_site.each_context(request),
            "title": "Periodic work",
            "tabs": tabs("periodic work"),
            "rows": rows,
            "poll": self.pace(rows),
            "hint": next((alert.sentence for alert in alerts() if alert.name == "no_worker"), ""),
        }
        return render(request, "tasks/periodic/page.html", context)

    def poll_view(self, request: HttpRequest) -> HttpResponse:
        """What has changed since the page was last told, by the marks it names. Signed out, it stops asking."""
        if not self.has_view_permission(request):
            return HttpResponse(status=STOP_POLLING)
        told = dict(value.rpartition(":")[::2] for value in request.GET.getlist("row")[:500])
        rows = self.shown(request)
        poll = self.pace(rows)
        slower_or_faster = request.GET.get("pace") != str(poll["seconds"])
        changed = [row for row in rows if told.get(row["work"].name) != row["mark"]]
        return self.changes(request, changed, poll if slower_or_faster else None)

    def run_view(self, request: HttpRequest, name: str) -> HttpResponseBase:
        status = 200
        try:
            queued: Queued = perform(registry.operations()["tasks.run_periodic"], by(request), name=name)
            messages.success(request, said(queued))
        except Refused as refused:
            status = refused.status
            messages.error(request, str(refused))
        if getattr(request, "htmx", False):
            rows = self.shown(request)
            return self.changes(request, [r for r in rows if r["work"].name == name], self.pace(rows), status)
        if status == 200 or request.headers.get("Sec-Fetch-Mode") == "navigate":
            return redirect(reverse("admin:tasks_periodic"))
        text = "\n".join(str(message) for message in messages.get_messages(request))
        return HttpResponse(text, status=status, content_type=PLAIN)

    def shown(self, request: HttpRequest) -> list[dict[str, Any]]:
        """Each row with what changes in it, rendered, and a mark of that."""
        table = perform(registry.operations()["tasks.periodic"], by(request))
        may_run = allowed(registry.operations()["tasks.run_periodic"], request.user)
        rows = []
        for work in table.periodic:
            context = {"work": work, "runs": [run_shown(run) for run in work.runs], "slug": work.name.replace(".", "-")}
            live = {
                part: render_to_string(f"tasks/periodic/{part}.html", context) for part in ("state", "times", "runs")
            }
            mark = hashlib.sha256("".join(live.values()).encode()).hexdigest()[:12]
            rows.append({**context, **live, "mark": mark, "every": every(work), "may_run": may_run})
        return rows

    def pace(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        seconds = BUSY if any(row["work"].is_live for row in rows) else QUIET
        query = QueryDict(mutable=True)
        query["pace"] = str(seconds)
        return {"url": f"{reverse('admin:tasks_periodic_rows')}?{query.urlencode()}", "seconds": seconds}

    def changes(
        self, request: HttpRequest, changed: list[dict[str, Any]], poll: dict[str, Any] | None, status: int = 200
    ) -> HttpResponse:
        context = {"changed": changed, "poll": poll, "messages": messages.get_messages(request)}
        html = render_to_string("tasks/periodic/changes.html", context, request)
        return HttpResponse(html, status=status, headers={"Cache-Control": "no-store"})


def said(queued: Queued) -> str:
    if queued.already_pending:
        return f"{queued.name} was queued already, as job {queued.job_id}."
    return f"{queued.name} is queued, as job {queued.job_id}."


def run_shown(run: PeriodicRun) -> dict[str, Any]:
    return {
        "run": run,
        "word": WORDS.get(run.state, run.state),
        "url": reverse("admin:tasks_task_change", args=[run.job_id]),
    }


def every(work: PeriodicWork) -> str:
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        number, rest = divmod(work.every_seconds, size)
        if number and not rest:
            return f"every {unit}" if number == 1 else f"every {number} {unit}s"
    return f"every {work.every_seconds} seconds"
