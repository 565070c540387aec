import logging
from email.message import EmailMessage

from django.conf import settings
from django.utils import timezone

from accounts.delivery import CANCELLED, compose, deliver, handler
from accounts.models import AccessCode
from accounts.queries import verified_supplier
from requests_app import operations
from requests_app.models import AccessRequest
from requests_app.states import MailState
from requests_app.work import APPROVAL_MAIL, OWNER_NOTIFY, ApprovalMail
from tasks.declare import Final, Happened
from tasks.events.models import Event
from tasks.queue.outcomes import Discard
from tasks.queue.states import State

log = logging.getLogger("standmeet.requests")


def approval_mail(args: ApprovalMail) -> None:
    request = AccessRequest.objects.select_related("owner", "code").filter(pk=args.request_id).first()
    if request is None or request.code is None or request.code.pk != args.code_id:
        raise Discard("The request no longer waits for this code.")
    if not request.code.is_valid_at(timezone.now()):
        raise Discard("The code is no longer valid.")
    deliver(request.owner, code_mail(request, request.code), purpose=APPROVAL_MAIL.name)
    operations.mark_replied(handler(), request_id=request.pk)


def owner_notify(happened: Happened) -> None:
    """Tell the owner of a new request. Beyond a few an hour, or without a supplier, the list has to do."""
    event = Event.objects.filter(pk=happened.event_id).select_related("owner").first()
    request = AccessRequest.objects.filter(pk=event.data["request_id"]).first() if event else None
    if event is None or request is None:
        return
    if verified_supplier(event.owner) is None:
        log.info("request %s: no mail to the owner, since no mail supplier is connected", request.pk)
        return
    if not operations.take_notice(handler(), request_id=request.pk):
        log.info("request %s: no mail to the owner, who had %s this hour", request.pk, operations.NOTICES_AN_HOUR)
        return
    deliver(event.owner, notice(event, request), purpose=OWNER_NOTIFY.name)


def notice(event: Event, request: AccessRequest) -> EmailMessage:
    return compose(
        f"event-{event.pk}",
        to=event.owner.email,
        reply_to=request.email,
        subject=f"{request.name or request.email} asks for access",
        template="requests_app/notice.txt",
        context={"request": request, "site": settings.PUBLIC_URL},
    )


def code_mail(request: AccessRequest, code: AccessCode) -> EmailMessage:
    return compose(
        f"approval-{code.pk}",
        to=request.email,
        subject=f"Your access to {request.owner.full_name or settings.PUBLIC_URL.partition('://')[2]}",
        template="requests_app/approval_mail.txt",
        context={"request": request, "code": code},
    )


def approval_mail_ended(args: ApprovalMail, final: Final) -> None:
    """Keep on the request what became of its mail; the task's row goes one day."""
    sent = final.state == State.COMPLETED
    reason = "" if sent else CANCELLED if final.state == State.CANCELLED else final.reason
    AccessRequest.objects.filter(pk=args.request_id, mail_job_id=final.task_id).update(
        mail_state=MailState.SENT if sent else MailState.FAILED, mail_reason=reason
    )
