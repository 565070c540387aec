from dataclasses import dataclass

from accounts.work import MAIL_ATTEMPTS, MAIL_BACKOFF, MAIL_LIMIT, MAIL_WORDS
from requests_app.pages import REQUEST_ROW
from tasks.declare import Happened, TaskKind


@dataclass(frozen=True)
class ApprovalMail:
    request_id: int
    code_id: int


OWNER_NOTIFY = TaskKind(
    "owner.notify",
    Happened,
    "requests_app.handlers.owner_notify",
    queue="notify",
    attempts=MAIL_ATTEMPTS,
    backoff=MAIL_BACKOFF,
    limit=MAIL_LIMIT,
    words=MAIL_WORDS,
)
APPROVAL_MAIL = TaskKind(
    "access_request.approval_mail",
    ApprovalMail,
    "requests_app.handlers.approval_mail",
    queue="notify",
    attempts=MAIL_ATTEMPTS,
    backoff=MAIL_BACKOFF,
    limit=MAIL_LIMIT,
    words=MAIL_WORDS,
    settle="requests_app.handlers.approval_mail_ended",
    serves=REQUEST_ROW,
)
