from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts import events as account_events
from accounts.ledger import HOUR
from accounts.models import AccessCode, Attempt, OutgoingMail
from accounts.queries import page_owner
from requests_app import events, work
from requests_app.models import AccessRequest
from requests_app.queries import Mail, Request, mail_state, needed_supplier, shown
from requests_app.states import MailState, Status
from tasks.declare import Caller
from tasks.errors import BadInput, NotFound, WrongState
from tasks.events.record import record
from tasks.queue import control
from tasks.queue.enqueue import enqueue
from tasks.queue.models import Task

RequestId = Annotated[int, "of the request, from access_requests.list"]
ASKED = {"name", "organisation", "email", "message"}
NOTICES_AN_HOUR = 5
SUBMISSIONS = 30
SUBMISSIONS_WITHIN = timedelta(hours=1)


@dataclass(frozen=True)
class Approval:
    """An access code, the link that carries it, and the mail that brings both to the visitor."""

    code: str
    link: str
    mail: Mail


@transaction.atomic(durable=True)
def submit(
    by: Caller, *, name: str = "", organisation: str = "", email: str, message: str, client: str
) -> AccessRequest:
    """Keep a visitor's request. It says nothing about whether the owner has been told."""
    owner = page_owner()
    if owner is None:
        raise NotFound("This page has no owner yet.")
    request = AccessRequest(
        owner=owner,
        name=name.strip(),
        organisation=organisation.strip(),
        email=email.strip(),
        message=message.strip(),
        created_at=by.at,
    )
    try:
        request.clean_fields(exclude={field.name for field in request._meta.fields} - ASKED)
    except ValidationError as error:
        fields = {field: " ".join(said) for field, said in error.message_dict.items()}
        raise BadInput("Please correct what is marked.", fields) from None
    Attempt.objects.spend("submit", client, most=SUBMISSIONS, within=SUBMISSIONS_WITHIN, at=by.at)
    request.save()
    record(events.CREATED, events.RequestRef(request.pk), by, owner=owner, subject=subject(request))
    return request


@transaction.atomic(durable=True)
def approve(by: Caller, *, request_id: RequestId) -> Approval:
    """Issue a code and queue the mail that carries it. Again, it gives the same code, and mails only what failed."""
    needed_supplier(by)
    request = reached(by, request_id)
    code = request.code
    if code is None or not code.is_valid_at(by.at):
        code = AccessCode.objects.issue(owner_id=request.owner_id, email=request.email, at=by.at)
        issued = account_events.CodeRef(code.pk)
        record(account_events.CODE_ISSUED, issued, by, owner=request.owner, subject=f"code/{code.pk}")
    elif mail_state(request) != MailState.FAILED:
        return approval(request)
    request.carry(code, enqueue(work.APPROVAL_MAIL, work.ApprovalMail(request.pk, code.pk)))
    approved = events.RequestApproved(request.pk, code.pk)
    record(events.APPROVED, approved, by, owner=request.owner, subject=subject(request))
    return approval(request)


@transaction.atomic(durable=True)
def retry_mail(by: Caller, *, request_id: RequestId) -> Approval:
    """Send a mail that failed: its task again, or a new one where that row is gone."""
    needed_supplier(by)
    request = reached(by, request_id)
    if request.code is None or mail_state(request) != MailState.FAILED:
        raise WrongState("There is no failed mail to send again.")
    if not request.code.is_valid_at(by.at):
        raise WrongState("The code in this mail is no longer valid. Approve the request again for a new one.")
    if request.mail_job_id and Task.objects.filter(pk=request.mail_job_id).exists():
        control.retry(request.mail_job_id, by)
        job_id = request.mail_job_id
    else:
        job_id = enqueue(work.APPROVAL_MAIL, work.ApprovalMail(request.pk, request.code.pk))
    request.carry(request.code, job_id)
    return approval(request)


@transaction.atomic(durable=True)
def close(by: Caller, *, request_id: RequestId) -> Request:
    """Put a request aside without an answer, or after it. A mail that has not gone out is cancelled."""
    request = reached(by, request_id)
    put_aside(by, request)
    return answer(by, request)


@transaction.atomic(durable=True)
def reopen(by: Caller, *, request_id: RequestId) -> Request:
    """Take a closed request up again."""
    request = reached(by, request_id)
    if request.status != Status.OPEN:
        move(by, request, Status.OPEN)
    return answer(by, request)


@transaction.atomic(durable=True)
def update(by: Caller, *, request_id: RequestId, status: Literal["open", "closed"]) -> Request:
    """Close a request, or open a closed one again. `replied` is not to be set: it follows from the mail."""
    request = reached(by, request_id)
    if status == Status.CLOSED:
        put_aside(by, request)
    elif request.status != Status.OPEN:
        move(by, request, Status.OPEN)
    return answer(by, request)


@transaction.atomic(durable=True)
def mark_replied(by: Caller, *, request_id: int) -> None:
    """The code has reached the visitor's mail server."""
    request = AccessRequest.objects.select_for_update().filter(pk=request_id).first()
    if request and request.may_become(Status.REPLIED):
        move(by, request, Status.REPLIED)


@transaction.atomic(durable=True)
def take_notice(by: Caller, *, request_id: int) -> bool:
    """Whether the owner is to be mailed about this request: a few an hour, and a retry keeps its place."""
    request = AccessRequest.objects.select_related("owner").filter(pk=request_id).first()
    if request is None:
        return False
    if request.notice_at is None:
        OutgoingMail.objects.hold(f"notices of owner {request.owner_id}")
        recent = AccessRequest.objects.of(request.owner).filter(notice_at__gt=by.at - HOUR).count()
        if recent >= NOTICES_AN_HOUR:
            return False
        AccessRequest.objects.filter(pk=request.pk).update(notice_at=by.at)
    return True


def reached(by: Caller, request_id: int) -> AccessRequest:
    """The caller's own request, locked."""
    request = AccessRequest.objects.of(by.user).select_for_update(of=("self",)).filter(pk=request_id).first()
    if request is None:
        raise NotFound(f"There is no access request {request_id}.")
    return request


def put_aside(by: Caller, request: AccessRequest) -> None:
    if request.status == Status.CLOSED:
        return
    if mail_state(request) == MailState.SENDING and request.mail_job_id:
        control.cancel(request.mail_job_id, by)
        request.refresh_from_db()
    move(by, request, Status.CLOSED)


def move(by: Caller, request: AccessRequest, status: Status) -> None:
    before = request.status
    request.move_to(status, by.at)
    changed = events.StatusChanged(request.pk, before, status)
    record(events.STATUS_CHANGED, changed, by, owner=request.owner, subject=subject(request))


def subject(request: AccessRequest) -> str:
    return f"access_request/{request.pk}"


def approval(request: AccessRequest) -> Approval:
    assert request.code
    assert request.mail_job_id
    mail = Mail(mail_state(request), request.mail_job_id)  # type: ignore[arg-type]
    return Approval(request.code.text, request.code.link, mail)


def answer(by: Caller, request: AccessRequest) -> Request:
    [answered] = shown([request], by.at)
    return answered
