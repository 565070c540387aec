from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime

from django.template.loader import render_to_string
from django.utils import timezone

from accounts.delivery import deliver, handler
from requests_app import operations
from requests_app.models import AccessRequest
from requests_app.states import MailState
from requests_app.work import ApprovalMail
from tasks.declare import Final
from tasks.queue.outcomes import Discard
from tasks.queue.states import State

CANCELLED = "It was cancelled. If it was being sent at that moment, it may have arrived."


def approval_mail(args: ApprovalMail) -> None:
    request = AccessRequest.objects.select_related("owner", "code").filter(pk=args.request_id).first()
    if request is None or request.code is None or request.code.pk != args.code_id:
        raise Discard("The request no longer waits for this code.")
    if not request.code.is_valid_at(timezone.now()):
        raise Discard("The code is no longer valid.")
    deliver(request.owner, compose(request))
    operations.mark_replied(handler(), request_id=request.pk)


def compose(request: AccessRequest) -> EmailMessage:
    assert request.code
    message = EmailMessage()
    message["Message-ID"] = f"<approval-{request.code.pk}@standmeet>"
    message["Date"] = format_datetime(timezone.now())
    message["Subject"] = f"Your access to {request.owner}"
    message["To"] = Address(addr_spec=request.email)
    message.set_content(render_to_string("requests_app/approval_mail.txt", {"request": request, "code": request.code}))
    return message


def approval_mail_ended(args: ApprovalMail, final: Final) -> None:
    """Keep on the request what became of its mail; the task's row goes one day."""
    sent = final.state == State.COMPLETED
    reason = "" if sent else CANCELLED if final.state == State.CANCELLED else final.reason
    AccessRequest.objects.filter(pk=args.request_id, mail_job_id=final.task_id).update(
        mail_state=MailState.SENT if sent else MailState.FAILED, mail_reason=reason
    )
