from dataclasses import dataclass
from datetime import timedelta

from tasks.declare import Backoff, TaskKind, Words


@dataclass(frozen=True)
class ApprovalMail:
    request_id: int
    code_id: int


APPROVAL_MAIL = TaskKind(
    "access_request.approval_mail",
    ApprovalMail,
    "requests_app.handlers.approval_mail",
    queue="notify",
    attempts=8,
    backoff=Backoff((20,), factor=3),
    limit=timedelta(seconds=30),
    words=Words("sending", "sent", "failed"),
    settle="requests_app.handlers.approval_mail_ended",
)
