from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect, render
from django.urls import path, reverse

from accounts import account_page, token_page
from accounts.forms import SupplierForm
from accounts.models import AccessCode, ApiToken, MailSupplier, Owner
from accounts.queries import supplier_of
from accounts.states import SupplierState
from tasks import registry
from tasks.declare import Operation
from tasks.errors import BadInput, Refused
from tasks.panel.rows import STOP_POLLING, RowsAdmin, by
from tasks.perform import perform


@admin.register(AccessCode)
class AccessCodeAdmin(RowsAdmin):
    row_template = "accounts/code_row.html"
    live_template = "accounts/code_live.html"
    act_template = "accounts/code_act.html"
    search_fields = ("email",)
    search_help_text = "E-mail"
    ordering = ("-issued_at",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessCode]:
        return super().get_queryset(request).filter(owner=request.user).prefetch_related("members")

    def present(self, request: HttpRequest, rows: list[AccessCode]) -> list[dict[str, Any]]:
        return [{"row": row, "live": False, "valid": row.is_valid_at(by(request).at)} for row in rows]

    def said(self, operation: Operation, result: Any) -> str:
        return f"The code {result.code} is revoked."

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        extra = {"title": "Access codes", "empty": "No code was issued yet."}
        return super().changelist_view(request, {**extra, **(extra_context or {})})


class OnePage(admin.ModelAdmin):
    """One page of our own in the place of Django's list and forms."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return obj is None and super().has_change_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Owner)
class AccountAdmin(OnePage):
    """The owner's own account, on one page."""

    def get_urls(self) -> list[Any]:
        return [path("pending/", self.pending_view, name="accounts_owner_pending"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method in ("GET", "HEAD"):
            return self.page(request)
        if request.method != "POST":
            return HttpResponseNotAllowed(["GET", "HEAD", "POST"])
        name = request.POST.get("do", "")
        if name not in account_page.FORMS:
            return HttpResponse("There is no such operation.", status=404, content_type="text/plain")
        try:
            messages.success(request, account_page.do(request, name))
        except Refused as refused:
            messages.error(request, str(refused))
            status = 400 if isinstance(refused, BadInput) else refused.status
            return self.page(request, wrong={name: getattr(refused, "fields", {})}, status=status)
        return redirect(reverse("admin:accounts_owner_changelist"))

    def page(self, request: HttpRequest, wrong: Any = None, status: int = 200) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            **account_page.context(request),
            "title": "Account",
            "wrong": wrong or {},
            "typed": request.POST,
        }
        return render(request, "accounts/account.html", context, status=status)

    def pending_view(self, request: HttpRequest) -> HttpResponse:
        """The pending row, which asks for itself until its mail's state is final, or nobody is signed in."""
        if not self.has_view_permission(request):
            return HttpResponse(status=STOP_POLLING)
        return render(request, "accounts/pending.html", account_page.pending_context(request))


@admin.register(ApiToken)
class ApiTokenAdmin(OnePage):
    """The owner's API tokens. A new one is on the page that answers its creation, and nowhere after."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method != "POST":
            return self.page(request)
        try:
            if "revoke" not in request.POST:
                return self.page(request, made=token_page.create(request))
            messages.success(request, token_page.revoke(request))
        except Refused as refused:
            messages.error(request, str(refused))
            status = 400 if isinstance(refused, BadInput) else refused.status
            return self.page(request, wrong=getattr(refused, "fields", {}), status=status)
        return redirect(reverse("admin:accounts_apitoken_changelist"))

    def page(self, request: HttpRequest, status: int = 200, **shown: Any) -> HttpResponse:
        each, found = self.admin_site.each_context(request), token_page.context(request)
        context = {**each, **found, "title": "API tokens", "typed": request.POST, **shown}
        answer = render(request, "accounts/tokens.html", context, status=status)
        answer["Cache-Control"] = "no-store"
        return answer


@admin.register(MailSupplier)
class MailSupplierAdmin(OnePage):
    """One page instead of a list: there is one supplier."""

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method == "POST":
            return self.disconnect(request) if "disconnect" in request.POST else self.connect(request)
        supplier = supplier_of(request.user)
        initial = (
            {f: getattr(supplier, f) for f in ("host", "port", "security", "user", "from_address")} if supplier else {}
        )
        return self.page(request, SupplierForm(initial=initial))

    def page(self, request: HttpRequest, form: SupplierForm, status: int = 200) -> HttpResponse:
        supplier = supplier_of(request.user)
        context = {
            **self.admin_site.each_context(request),
            "title": "Mail supplier",
            "form": form,
            "supplier": supplier,
            "connected": supplier is not None and supplier.state != SupplierState.DISCONNECTED,
        }
        return render(request, "accounts/supplier.html", context, status=status)

    def connect(self, request: HttpRequest) -> HttpResponse:
        form = SupplierForm(request.POST)
        given = {name: request.POST.get(name, "") for name in form.fields}
        if not given["port"].strip():
            del given["port"]
        try:
            supplier = perform(registry.operations()["suppliers.connect"], by(request), **given)
        except Refused as refused:
            form.is_valid()
            form.errors.clear()
            for name, said in getattr(refused, "fields", {}).items():
                if name in form.fields:
                    form.add_error(name, said)
            messages.error(request, str(refused))
            return self.page(request, form, status=400 if isinstance(refused, BadInput) else refused.status)
        did = "accepted the sign-in" if supplier.user else "answered"
        messages.success(request, f"Connected: {supplier} {did}. Mail goes out from {supplier.from_address}.")
        return redirect(reverse("admin:accounts_mailsupplier_changelist"))

    def disconnect(self, request: HttpRequest) -> HttpResponse:
        try:
            perform(registry.operations()["suppliers.disconnect"], by(request))
            messages.success(request, "Disconnected. No mail goes out until a supplier is connected again.")
        except Refused as refused:
            messages.error(request, str(refused))
        return redirect(reverse("admin:accounts_mailsupplier_changelist"))
