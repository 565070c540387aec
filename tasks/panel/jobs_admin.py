"""Jobs in the admin: the list with its strip, one job, and what can be done to them."""

import hashlib
import json
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.csrf import get_token
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.views.decorators.http import require_POST

from tasks import registry
from tasks.declare import Operation
from tasks.errors import BadInput, Refused
from tasks.panel import bulk, queries, serving
from tasks.panel.results import Acknowledged, Job
from tasks.panel.rows import STOP_POLLING, RowsAdmin, by, without_token
from tasks.panel.strip import strip, tabs
from tasks.panel.words import age
from tasks.perform import allowed, perform
from tasks.queue.models import Task, TaskAction
from tasks.queue.states import State

PAGE = 50
SECONDS = 2
FILTERS = ("kind", "state", "queue")


class TaskAdmin(RowsAdmin):
    fragments_template = "tasks/panel/fragments.html"

    def get_urls(self) -> list[URLPattern]:
        def post(view: Any) -> Any:
            return self.signed_in(require_POST(view))

        return [
            path("bulk/", post(self.bulk_view), name="tasks_task_bulk"),
            path("acknowledge/", post(self.acknowledge_view), name="tasks_task_acknowledge"),
            *super().get_urls(),
        ]

    def asked(self, request: HttpRequest) -> dict[str, str]:
        """The filters, of the page or of the page that polls or posts."""
        return {name: request.GET.get(name, "").strip() for name in FILTERS}

    def kept(self, request: HttpRequest) -> dict[str, str]:
        return {name: value for name, value in self.asked(request).items() if value}

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        asked, kept = self.asked(request), self.kept(request)
        before = self.read_pk(request.GET.get("before", "")) or queries.LATEST
        refused, tasks = "", []
        try:
            tasks = queries.newest(**kept, before=before, limit=PAGE + 1)
        except BadInput as error:
            refused, asked, kept = str(error), dict.fromkeys(FILTERS, ""), {}
        rows = self.rendered(request, tasks[:PAGE])
        first_page = before == queries.LATEST
        context = {
            **self.admin_site.each_context(request),
            "title": "Tasks",
            "tabs": tabs("jobs"),
            "strip": strip(request, asked["kind"] or None, asked["state"] or None),
            "rows": rows,
            "refused": refused,
            "asked": asked,
            "filtered": bool(kept),
            "kinds": queries.known_kinds(),
            "states": State.values,
            "queues": list(settings.QUEUES),
            "older": urlencode({**kept, "before": tasks[PAGE - 1].pk}) if len(tasks) > PAGE else "",
            "first_page": first_page,
            "newest": f"?{urlencode(kept)}" if kept else self.url("changelist"),
            "poll": self.poll_of(request, {**kept, "top": tasks[0].pk if tasks else 0} if first_page else kept),
            "bulk_url": f"{self.url('bulk')}?{urlencode(kept)}",
            "may_change": request.user.has_perm("tasks.change_task"),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "tasks/panel/jobs.html", context, status=400 if refused else 200)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """One job. The address is what links to a job lead to."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        pk = self.read_pk(object_id)
        task = Task.objects.filter(pk=pk).first() if pk is not None else None
        context = {**self.admin_site.each_context(request), "title": f"Job {object_id}", "tabs": tabs("")}
        if task is None:
            return TemplateResponse(request, "tasks/panel/gone.html", context, status=404)
        request.detailed = True  # type: ignore[attr-defined]
        [shown] = self.rendered(request, [task])
        context |= {"shown": shown, "poll": self.poll_of(request, {"detail": 1})}
        return TemplateResponse(request, "tasks/panel/job_page.html", context)

    def detailed(self, request: HttpRequest) -> bool:
        """Whether the page shows one job."""
        return "detail" in request.GET or hasattr(request, "detailed")

    def poll_of(self, request: HttpRequest, asked: dict[str, Any]) -> dict[str, Any]:
        return {"url": f"{self.url('rows')}?{urlencode(asked)}", "seconds": SECONDS}

    def rendered(self, request: HttpRequest, rows: list[Any]) -> list[dict[str, Any]]:
        detailed = self.detailed(request)
        events = serving.events_of(rows)
        token = get_token(request)  # once, and no context processors: a page has fifty rows
        found = []
        for task in rows:
            event = events.get(task.pk)
            context = {
                **self.present_one(request, task),
                "event": event,
                "serves": serving.of_task(task, event),
                "actions": TaskAction.objects.filter(task_id=task.pk).select_related("by").order_by("-pk")[:50]
                if detailed
                else (),
            }
            template = "tasks/panel/job_detail.html" if detailed else "tasks/panel/job.html"
            html = render_to_string(template, {**context, "csrf_token": token})
            mark = hashlib.sha256(without_token(html).encode()).hexdigest()[:12]
            found.append({**context, "html": html, "mark": mark, "pair": f"{task.pk}:{mark}"})
        return found

    def present_one(self, request: HttpRequest, task: Task) -> dict[str, Any]:
        waits = task.waits_until(timezone.now())
        return {
            "row": task,
            "whom": f"job {task.pk}, {task.kind}",
            "live": not task.is_final,
            "declared": task.kind in registry.kinds(),
            "offered": self.offered(request, task),
            "next_try": task.scheduled_at if waits else None,
            "took": age((task.finalized_at - task.created_at).total_seconds()) if task.finalized_at else "",
            "errors": [
                {**error, "at": queries.moment(error["at"])}
                for error in reversed(task.errors if self.detailed(request) else task.errors[-1:])
            ],
            "args_line": json.dumps(task.args, ensure_ascii=False)[:300],
            "args": json.dumps(task.args, ensure_ascii=False, indent=2),
        }

    def offered(self, request: HttpRequest, row: Any) -> list[dict[str, Any]]:
        declared = row.kind in registry.kinds()
        page = {"detail": 1} if self.detailed(request) else self.kept(request)
        return [
            {**offer, "url": f"{offer['url']}?{urlencode(page)}" if page else offer["url"]}
            for offer in super().offered(request, row)
            if declared or offer["operation"].name != "tasks.retry"
        ]

    def poll_view(self, request: HttpRequest) -> HttpResponse:
        """The strip and the rows that have changed, and whether there are newer jobs than the page shows."""
        if not self.has_view_permission(request):
            return HttpResponse(status=STOP_POLLING)
        changed, _ = self.changed(request)
        return self.fragments(request, changed, status=200, **self.around(request))

    def around(self, request: HttpRequest) -> dict[str, Any]:
        """What a page shows besides its rows, where that has changed."""
        if self.detailed(request):
            return {}
        asked, kept = self.asked(request), self.kept(request)
        top = self.read_pk(request.GET.get("top", ""))
        try:
            now = strip(request, asked["kind"] or None, asked["state"] or None)
            newest = (
                queries.newest(kind=asked["kind"], state=asked["state"], queue=asked["queue"], limit=1)
                if top is not None
                else []
            )
        except BadInput:  # a kind that was only in the table, and has gone from it
            return {}
        return {
            "strip": now if request.GET.get("strip") != now.mark else None,
            "newer": bool(newest and top is not None and newest[0].pk > top),
            "newer_url": f"{self.url('changelist')}?{urlencode(kept)}",
        }

    def fragments(self, request: HttpRequest, changed: list[dict[str, Any]], **given: Any) -> HttpResponse:
        if request.method == "POST":
            given |= self.around(request)
        given.pop("restart", None)  # this page polls all the time
        return super().fragments(request, changed, **given)

    def bulk_view(self, request: HttpRequest) -> HttpResponseBase:
        """One operation on each job that is ticked."""
        op = registry.operations().get(request.POST.get("do", ""))
        if op is None or op.on != self.opts.label_lower or "admin" not in op.faces:
            return HttpResponse("There is no such operation.", status=404, content_type="text/plain; charset=utf-8")
        ids = [id for text in request.POST.getlist("job")[: queries.MOST] if (id := self.read_pk(text)) is not None]
        bulk.tell(request, op, bulk.each(op, by(request), ids))
        if getattr(request, "htmx", False):
            rows = list(self.get_queryset(request).filter(pk__in=ids))
            return self.fragments(request, self.rendered(request, rows), status=200)
        return redirect(self.page_before(request))

    def acknowledge_view(self, request: HttpRequest) -> HttpResponseBase:
        op = registry.operations()["tasks.acknowledge"]
        status = 200
        try:
            messages.success(request, self.said(op, perform(op, by(request))))
        except Refused as refused:
            status = refused.status
            messages.error(request, str(refused))
        if getattr(request, "htmx", False):
            return self.fragments(request, [], status=status)
        return redirect(self.page_before(request))

    def said(self, operation: Operation, result: Any) -> str:
        if isinstance(result, Acknowledged):
            return f"{result.jobs} discarded job{'s are' if result.jobs != 1 else ' is'} put to rest."
        assert isinstance(result, Job)
        if operation.name == "tasks.retry":
            return f"Job {result.id} is queued: it runs as soon as a worker is free."
        effect = " It was running: its effect may have happened all the same." if result.may_have_acted else ""
        return f"Job {result.id} is cancelled.{effect}"

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(registry.operations()["tasks.list"], request.user)
