from email.message import EmailMessage

from django.conf import settings
from django.urls import reverse

from accounts import operations
from accounts.delivery import CANCELLED, compose, deliver, handler
from accounts.models import Owner, PendingEmail
from accounts.work import EMAIL_CONFIRMATION, EMAIL_NOTICE, EmailConfirmation, EmailNotice
from tasks.declare import Final, Nothing
from tasks.queue.context import current_task
from tasks.queue.outcomes import Discard
from tasks.queue.states import State

STALE = "This address is not the one to confirm any more."


def email_confirmation(args: EmailConfirmation) -> None:
    """Mint a token and mail it. An earlier attempt's token, should its mail have gone out, keeps working."""
    token = operations.mint_email_token(handler(), pending_id=args.pending_id)
    pending = PendingEmail.objects.filter(pk=args.pending_id).select_related("owner").first()
    if token is None or pending is None:
        raise Discard(STALE)
    deliver(pending.owner, confirmation(pending, token), purpose=EMAIL_CONFIRMATION.name)


def confirmation(pending: PendingEmail, token: str) -> EmailMessage:
    link = settings.PUBLIC_URL + reverse("email-confirm", args=[token])
    return compose(
        f"email-{pending.pk}-{current_task.get() or pending.pending_email_job_id}",
        to=pending.address,
        subject="Confirm your new e-mail address",
        template="accounts/email_confirmation.txt",
        context={"pending": pending, "link": link},
    )


def email_confirmation_ended(args: EmailConfirmation, final: Final) -> None:
    sent = final.state == State.COMPLETED
    reason = "" if sent else CANCELLED if final.state == State.CANCELLED else final.reason
    PendingEmail.objects.filter(pk=args.pending_id, pending_email_job_id=final.task_id).update(
        mail_state="sent" if sent else "failed", mail_reason=reason
    )


def email_notice(args: EmailNotice) -> None:
    """Tell the old address, which cannot sign in any more, where the account went and how to get it back."""
    owner = Owner.objects.filter(pk=args.owner_id).first()
    if owner is None:
        raise Discard("The owner is gone.")
    message = compose(
        f"email-notice-{current_task.get()}",
        to=args.before,
        subject="Your e-mail address was changed",
        template="accounts/email_notice.txt",
        context={"owner": owner, "before": args.before, "masked": masked(args.after), "site": settings.PUBLIC_URL},
    )
    deliver(owner, message, purpose=EMAIL_NOTICE.name)


def masked(address: str) -> str:
    name, _, domain = address.rpartition("@")
    return f"{name[:1]}***@{domain}"


def clear_sessions(_: Nothing) -> None:
    operations.clear_sessions(handler())


def prune_codes(_: Nothing) -> None:
    operations.prune_codes(handler())


def prune_email_changes(_: Nothing) -> None:
    operations.prune_email_changes(handler())


def prune_attempts(_: Nothing) -> None:
    operations.prune_attempts(handler())


def prune_mails(_: Nothing) -> None:
    operations.prune_mails(handler())
