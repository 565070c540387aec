"""The admin face of operations on rows: what a row allows as buttons, its state as chips, one poll for a page."""

import hashlib
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from tasks import registry
from tasks.declare import Caller, Operation
from tasks.errors import Refused
from tasks.perform import allowed, inputs, perform

POLL_SECONDS = 1
STOP_POLLING = 286  # htmx.org/docs/#load_polling
PLAIN = "text/plain; charset=utf-8"


def by(request: HttpRequest) -> Caller:
    return Caller(request.user, timezone.now(), "admin")


class RowsAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """A list whose rows are read-only, act by operations and show tasks.

    A subclass names its templates (`row_template` for what stays, `live_template` for what is announced when it
    changes, `act_template` for the rest that changes) and answers `present`: for each row a dict with its `row`, a
    `live` flag (something in it is not final), and whatever its templates need.
    """

    row_template = live_template = act_template = ""
    fragments_template = "tasks/row_fragments.html"
    change_list_template = "tasks/rows.html"
    row_filters: dict[str, str] = {}  # what the list is to be asked for so that any row is in it
    pk_converter = "int"
    actions = None

    def present(self, request: HttpRequest, rows: list[Any]) -> list[dict[str, Any]]:
        raise NotImplementedError

    def said(self, operation: Operation, result: Any) -> str:
        """The sentence for a toast after the operation."""
        return f"{operation.label}: done."

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        do = self.signed_in(require_POST(self.do_view))
        return [
            path("rows/", require_GET(self.poll_view), name=f"{name}_rows"),
            path(f"<{self.pk_converter}:pk>/do/<str:operation>/", do, name=f"{name}_do"),
            *super().get_urls(),
        ]

    def signed_in(self, view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        """admin_view, for those who may see the rows, since an answer shows some, a refusal's too.

        But htmx, which would not show the sign-in page it is redirected to, is told to go there.
        """

        def seeing(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not self.has_view_permission(request):
                return HttpResponse("You may not see this page.", status=403, content_type=PLAIN)
            return view(request, *args, **kwargs)

        guarded = self.admin_site.admin_view(seeing)

        def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if getattr(request, "htmx", False) and not self.admin_site.has_permission(request):
                back = urlencode({"next": self.url("changelist")})
                return HttpResponse(status=204, headers={"HX-Redirect": f"{reverse('admin:login')}?{back}"})
            return guarded(request, *args, **kwargs)

        return answer

    def url(self, name: str, *args: Any) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_{name}", args=args)

    def offered(self, request: HttpRequest, row: Model) -> list[dict[str, Any]]:
        """The operations this user may try on this row as it is now."""
        return [
            {"operation": op, "url": self.url("do", row.pk, op.name)}
            for op in registry.operations_on(self.opts.label_lower, face="admin")
            if allowed(op, request.user) and row.allows(op.name)  # type: ignore[attr-defined]
        ]

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """A row's own address is the list with that row alone."""
        return redirect(f"{self.url('changelist')}?{urlencode({**self.row_filters, 'id__exact': object_id})}")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        response = super().changelist_view(request, extra_context)
        context = getattr(response, "context_data", None)
        if context and "cl" in context:
            rows = self.rendered(request, list(context["cl"].result_list))
            live = any(shown["live"] for shown in rows)
            context |= {"rows": rows, "row_template": self.row_template, "poll": self.poll(live)}
            context["filter_choices"] = [c for spec in context["cl"].filter_specs for c in spec.choices(context["cl"])]
        return response

    def rendered(self, request: HttpRequest, rows: list[Any]) -> list[dict[str, Any]]:
        found = []
        for shown in self.present(request, rows):
            context = {**shown, "offered": self.offered(request, shown["row"]), "name": self.opts.model_name}
            live = render_to_string(self.live_template, context, request)
            act = render_to_string(self.act_template, context, request)
            mark = hashlib.sha256(without_token(live + act).encode()).hexdigest()[:12]
            if shown["live"]:  # what the poll asks for
                act += format_html(
                    '<input type="hidden" class="live-row" name="row" value="{}:{}">', shown["row"].pk, mark
                )
            found.append({**context, "live_html": live, "act_html": act, "mark": mark})
        return found

    def poll(self, live: bool) -> dict[str, Any]:
        return {"url": self.url("rows") if live else "", "seconds": POLL_SECONDS}

    def fragments(
        self, request: HttpRequest, changed: list[dict[str, Any]], *, status: int, restart: bool = False, **more: Any
    ) -> HttpResponse:
        context = {"changed": changed, "poll": self.poll(restart), "messages": messages.get_messages(request), **more}
        html = render_to_string(self.fragments_template, context, request)
        return HttpResponse(html, status=status, headers={"Cache-Control": "no-store"})

    def poll_view(self, request: HttpRequest) -> HttpResponse:
        """What has changed among the rows the page names, each with the mark of what it shows."""
        # Not through admin_view: its redirect to the login page would be swapped in. Signed out, the page stops asking.
        if not self.has_view_permission(request):
            return HttpResponse(status=STOP_POLLING)
        changed, live = self.changed(request)
        return self.fragments(request, changed, status=200 if live else STOP_POLLING)

    def changed(self, request: HttpRequest) -> tuple[list[dict[str, Any]], bool]:
        """The rows whose marks differ from those that the page names, and whether any that it names is live."""
        pairs = (value.partition(":") for value in request.GET.getlist("row")[:500])
        asked = {pk: mark for text, _, mark in pairs if (pk := self.read_pk(text)) is not None}
        rendered = self.rendered(request, list(self.get_queryset(request).filter(pk__in=asked)))
        changed = [shown for shown in rendered if shown["mark"] != asked[shown["row"].pk]]
        return changed, any(shown["live"] for shown in rendered)

    def read_pk(self, text: str) -> Any:
        """The key that the text is, or None."""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None

    def do_view(self, request: HttpRequest, pk: Any, operation: str) -> HttpResponseBase:
        op = registry.operations().get(operation)
        if op is None or op.on != self.opts.label_lower or "admin" not in op.faces:
            return HttpResponse("There is no such operation.", status=404, content_type=PLAIN)
        # The first input of an operation on a row is that row's id.
        names = list(inputs(op.run))
        given: dict[str, Any] = {name: request.POST[name] for name in names[1:] if name in request.POST}
        status = 200
        try:
            messages.success(request, self.said(op, perform(op, by(request), **{names[0]: str(pk)}, **given)))
        except Refused as refused:
            status = 400 if refused.status == 422 else refused.status
            messages.error(request, str(refused))
        if getattr(request, "htmx", False):
            rendered = self.rendered(request, list(self.get_queryset(request).filter(pk=pk)))
            return self.fragments(request, rendered, status=status, restart=any(r["live"] for r in rendered))
        if status == 200 or request.headers.get("Sec-Fetch-Mode") == "navigate":
            return redirect(self.page_before(request))
        said = "\n".join(str(message) for message in messages.get_messages(request))
        return HttpResponse(said, status=status, content_type=PLAIN)

    def page_before(self, request: HttpRequest) -> str:
        before = request.headers.get("Referer", "")
        ours = url_has_allowed_host_and_scheme(before, {request.get_host()}, require_https=request.is_secure())
        return before if ours else self.url("changelist")


def without_token(html: str) -> str:
    """A row's HTML but for the CSRF token, which is masked anew each time."""
    return "".join(line for line in html.splitlines(keepends=True) if "csrfmiddlewaretoken" not in line)
