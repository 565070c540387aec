"""The event stream in the admin."""

import hashlib
import json
import uuid
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.template.response import TemplateResponse

from tasks import registry
from tasks.declare import Operation
from tasks.errors import BadInput
from tasks.events.models import Event
from tasks.panel import serving, stream
from tasks.panel.results import EventSeen, Requeued
from tasks.panel.rows import RowsAdmin, without_token
from tasks.panel.strip import tabs
from tasks.perform import allowed
from tasks.queue.states import TERMINAL

PAGE = 50
SECONDS = 2


class EventAdmin(RowsAdmin):
    fragments_template = "tasks/panel/event_fragments.html"
    pk_converter = "uuid"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Event]:
        return Event.objects.prefetch_related("deliveries")

    def read_pk(self, text: str) -> Any:
        try:
            return uuid.UUID(text)
        except ValueError:
            return None

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        asked = {name: request.GET.get(name, "").replace("\0", "").strip() for name in ("type", "subject")}
        kept = {name: value for name, value in asked.items() if value}
        before = read_before(request.GET.get("before", ""))
        refused, events = "", []
        try:
            events = stream.newest_events(**kept, before=before, limit=PAGE + 1)
        except BadInput as error:
            refused = str(error)
        rows = self.rendered(request, events[:PAGE])
        last = f"{events[PAGE - 1].occurred_at.isoformat()}_{events[PAGE - 1].pk}" if len(events) > PAGE else ""
        context = {
            **self.admin_site.each_context(request),
            "title": "Events",
            "tabs": tabs("events"),
            "rows": rows,
            "refused": refused,
            "asked": asked,
            "types": stream.known_types(),
            "filtered": bool(kept),
            "older": urlencode({**kept, "before": last}) if last else "",
            "first_page": before is None,
            "newest": f"?{urlencode(kept)}" if kept else self.url("changelist"),
            "poll": self.poll(any(shown["live"] for shown in rows)),
            **(extra_context or {}),
        }
        return TemplateResponse(request, "tasks/panel/events.html", context, status=400 if refused else 200)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """One event by itself."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        event = self.get_queryset(request).filter(pk=self.read_pk(object_id)).first()
        context = {**self.admin_site.each_context(request), "title": f"Event {object_id}", "tabs": tabs("")}
        if event is None:
            return TemplateResponse(request, "tasks/panel/gone.html", {**context, "event": True}, status=404)
        rows = self.rendered(request, [event])
        context |= {"rows": rows, "alone": True, "poll": self.poll(rows[0]["live"])}
        return TemplateResponse(request, "tasks/panel/events.html", context)

    def poll(self, live: bool) -> dict[str, Any]:
        return {**super().poll(live), "seconds": SECONDS}

    def rendered(self, request: HttpRequest, rows: list[Any]) -> list[dict[str, Any]]:
        found = []
        for event, seen in zip(rows, stream.seen(rows), strict=True):
            context = {
                "row": event,
                "seen": seen,
                "whom": f"{event.type}, {event.subject}",
                "live": is_live(seen),
                "serves": serving.of_event(event),
                "data": json.dumps(event.data, ensure_ascii=False)[:1000],
                "offered": self.offered(request, event) if is_requeueable(seen) else [],
            }
            html = render_to_string("tasks/panel/event.html", context, request)
            mark = hashlib.sha256(without_token(html).encode()).hexdigest()[:12]
            found.append({**context, "html": html, "mark": mark, "pair": f"{event.pk}:{mark}"})
        return found

    def said(self, operation: Operation, result: Any) -> str:
        assert isinstance(result, Requeued)
        jobs = ", ".join(map(str, result.job_ids))
        return f"The event is sent again: job{'s' * (len(result.job_ids) != 1)} {jobs}."

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(registry.operations()["events.list"], request.user)


def is_live(seen: EventSeen) -> bool:
    return any(s.state not in TERMINAL and s.state not in (stream.GONE, stream.NONE) for s in seen.subscribers)


def is_requeueable(seen: EventSeen) -> bool:
    """Offered where it may do something; the operation itself decides again."""
    return any(s.state in ("discarded", "cancelled", "retryable", stream.NONE) for s in seen.subscribers)


def read_before(text: str) -> tuple[datetime, uuid.UUID] | None:
    at, _, id = text.partition("_")
    try:
        return datetime.fromisoformat(at).astimezone(UTC), uuid.UUID(id)
    except (ValueError, OverflowError):
        return None
