from dataclasses import dataclass
from datetime import timedelta

from accounts.pages import ACCOUNT
from tasks.declare import Backoff, TaskKind, Words, periodic_kind

MAIL_WORDS = Words("sending", "sent", "failed")
MAIL_BACKOFF = Backoff((20,), factor=3)  # about 6 h over 8 attempts
MAIL_ATTEMPTS = 8
MAIL_LIMIT = timedelta(seconds=30)


@dataclass(frozen=True)
class EmailConfirmation:
    pending_id: int


@dataclass(frozen=True)
class EmailNotice:
    """The addresses are those of the change: the owner's own may have changed again by the time it is sent."""

    owner_id: int
    before: str
    after: str


EMAIL_CONFIRMATION = TaskKind(
    "owner.email_confirmation",
    EmailConfirmation,
    "accounts.handlers.email_confirmation",
    queue="notify",
    attempts=MAIL_ATTEMPTS,
    backoff=MAIL_BACKOFF,
    limit=MAIL_LIMIT,
    words=MAIL_WORDS,
    settle="accounts.handlers.email_confirmation_ended",
    serves=ACCOUNT,
)
EMAIL_NOTICE = TaskKind(
    "owner.email_notice",
    EmailNotice,
    "accounts.handlers.email_notice",
    queue="notify",
    attempts=MAIL_ATTEMPTS,
    backoff=MAIL_BACKOFF,
    limit=MAIL_LIMIT,
    words=MAIL_WORDS,
    serves=ACCOUNT,
)
CLEAR_SESSIONS = periodic_kind("accounts.clear_sessions", "accounts.handlers.clear_sessions")
PRUNE_CODES = periodic_kind("accounts.prune_codes", "accounts.handlers.prune_codes")
PRUNE_EMAIL_CHANGES = periodic_kind("accounts.prune_email_changes", "accounts.handlers.prune_email_changes")
PRUNE_ATTEMPTS = periodic_kind("accounts.prune_attempts", "accounts.handlers.prune_attempts")
PRUNE_MAILS = periodic_kind("accounts.prune_mails", "accounts.handlers.prune_mails")
