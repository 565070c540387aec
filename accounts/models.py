from accounts.codes import AccessCode, CodeMember
from accounts.email_change import EmailToken, PendingEmail
from accounts.ledger import Attempt, OutgoingMail
from accounts.owner import Owner
from accounts.recovery import RecoveryPhrase
from accounts.supplier import MailSupplier
from accounts.tokens import ApiToken

__all__ = [
    "AccessCode",
    "ApiToken",
    "Attempt",
    "CodeMember",
    "EmailToken",
    "MailSupplier",
    "OutgoingMail",
    "Owner",
    "PendingEmail",
    "RecoveryPhrase",
]
