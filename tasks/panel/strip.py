"""The strip above the panel's lists: the overview in figures."""

import hashlib
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from tasks.panel.queries import COUNTED, LOOKED, overview
from tasks.panel.results import Overview
from tasks.panel.rows import without_token
from tasks.panel.words import age, amount
from tasks.queue.states import State


@dataclass(frozen=True)
class Strip:
    html: str
    mark: str


def tabs(here: str) -> list[dict[str, Any]]:
    """The panel's pages."""
    pages = (
        ("jobs", "tasks_task_changelist"),
        ("events", "tasks_event_changelist"),
        ("periodic work", "tasks_periodic"),
    )
    return [
        {"label": label.capitalize(), "url": reverse(f"admin:{name}"), "here": label == here} for label, name in pages
    ]


def strip(request: HttpRequest, kind: str | None, state: str | None) -> Strip:
    """The strip for a page with these filters, with a mark of what it shows. Raises BadInput for an unknown kind."""
    seen = overview(kind)
    jobs = reverse("admin:tasks_task_changelist")

    def link(wanted: str) -> str:
        asked = {"kind": kind, "state": None if wanted == state else wanted}
        query = urlencode({name: value for name, value in asked.items() if value})
        return f"{jobs}?{query}" if query else jobs

    page = urlencode({name: value for name, value in (("kind", kind), ("state", state)) if value})
    context = {
        "overview": seen,
        "acknowledge_url": f"{reverse('admin:tasks_task_acknowledge')}?{page}",
        "counts": [
            {
                "state": value,
                "jobs": seen.counts[value],
                "shown": amount(seen.counts[value], value in seen.more),
                "more": value in seen.more,
                "url": link(value),
                "here": value == state,
            }
            for value in State.values
        ],
        "oldest": oldest(seen),
        "tables": [
            {"name": t.name, "rows": amount(t.rows) if t.rows and t.rows >= COUNTED else "", "bytes": t.bytes}
            for t in seen.tables
        ],
        "may_change": request.user.has_perm("tasks.change_task"),
    }
    html = render_to_string("tasks/panel/strip.html", context, request)
    return Strip(html, hashlib.sha256(without_token(html).encode()).hexdigest()[:12])


def oldest(seen: Overview) -> str:
    """How long the oldest due job has waited or, where none is due, when the next one is."""
    if seen.oldest_due_seconds is not None:
        return age(seen.oldest_due_seconds)
    if seen.next_due_at is None:
        waiting = seen.counts[State.PENDING] + seen.counts[State.RETRYABLE]
        return f"not among the first {LOOKED:,} of its queue" if waiting else "none"
    return f"none; next in {age((seen.next_due_at - timezone.now()).total_seconds())}"
