from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from accounts.queries import page_owner, verified_supplier
from accounts.visitors import LEFT, MEMBER, client_of, member_of, sign_in
from requests_app.forms import RequestForm
from tasks import registry
from tasks.declare import Caller
from tasks.errors import BadInput, Refused
from tasks.perform import perform


def public(request: HttpRequest) -> Caller:
    return Caller(None, timezone.now(), "public")


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """The owner's page. With ?code= it offers to redeem: a GET never does, since scanners follow links."""
    code = request.GET.get("code")
    if code is not None:
        return render(request, "accounts/redeem.html", {"owner": page_owner(), "code": code[:40].replace("\0", "")})
    member = member_of(request)
    if member:
        return render(request, "accounts/inside.html", {"owner": page_owner(), "member": member})
    return page(request, RequestForm())


def page(request: HttpRequest, form: RequestForm, *, refusal: str = "", status: int = 200) -> HttpResponse:
    owner = page_owner()
    open_to_requests = owner is not None and verified_supplier(owner) is not None
    context = {"owner": owner, "form": form, "refusal": refusal, "open_to_requests": open_to_requests}
    return render(request, "requests_app/home.html", context, status=status)


@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":  # the address of a form that was refused, asked for again
        return redirect(reverse("home"))
    form = RequestForm(request.POST)
    fields = {name: request.POST.get(name, "") for name in form.fields}
    submit = registry.operations()["access_requests.submit"]
    try:
        perform(submit, public(request), **fields, client=client_of(request))
    except BadInput as refused:
        form.is_valid()
        for name, said in refused.fields.items():
            if name in form.fields and name not in form.errors:
                form.add_error(name, said)
        return page(request, form, refusal="Please correct what is marked.", status=400)
    except Refused as refused:
        return page(request, form, refusal=str(refused), status=refused.status)
    return redirect(reverse("received"))


@require_GET
def received(request: HttpRequest) -> HttpResponse:
    return render(request, "requests_app/received.html", {"owner": page_owner()})


@require_http_methods(["GET", "POST"])
def redeem(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return redirect(reverse("home"))
    code = request.POST.get("code", "")
    try:
        redemption = perform(
            registry.operations()["codes.redeem"],
            public(request),
            code=code,
            client=client_of(request),
            member_id=request.session.get(MEMBER),
        )
        refusal, status = redemption.refusal, 400
    except Refused as refused:
        redemption, refusal, status = None, str(refused), 400 if refused.status == 422 else refused.status
    if redemption and redemption.member:
        sign_in(request, redemption.member)
        return redirect(reverse("home"))
    context = {"owner": page_owner(), "code": code[:40].replace("\0", ""), "refusal": refusal}
    return render(request, "accounts/redeem.html", context, status=status)


@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    request.session[LEFT] = True  # who it was is kept: the code is theirs, and they may come again
    return redirect(reverse("home"))
