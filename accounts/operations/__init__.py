"""The account's operations, one file a subject, added up here."""

from accounts.operations.account import describe, prove_password, set_password, set_time_zone
from accounts.operations.codes import Redemption, redeem, revoke_code
from accounts.operations.email import (
    Confirmation,
    EmailChange,
    cancel_email_change,
    check_address,
    confirm_email,
    find_token,
    mint_email_token,
    resend_email_confirmation,
    restore_email,
    set_email,
)
from accounts.operations.mail import MAILS_AN_HOUR, Slot, mark_mail_accepted, mark_mail_uncertain, take_slot
from accounts.operations.recovery import keep_phrase, record_login, recover
from accounts.operations.retention import (
    clear_sessions,
    prune_attempts,
    prune_codes,
    prune_email_changes,
    prune_mails,
)
from accounts.operations.secrets import rotate_secrets
from accounts.operations.supplier import disconnect_supplier, mark_supplier_broken, store_supplier
from accounts.operations.tokens import NewToken, create_token, revoke_token

__all__ = [
    "MAILS_AN_HOUR",
    "Confirmation",
    "EmailChange",
    "NewToken",
    "Redemption",
    "Slot",
    "cancel_email_change",
    "check_address",
    "clear_sessions",
    "confirm_email",
    "create_token",
    "describe",
    "disconnect_supplier",
    "find_token",
    "keep_phrase",
    "mark_mail_accepted",
    "mark_mail_uncertain",
    "mark_supplier_broken",
    "mint_email_token",
    "record_login",
    "prove_password",
    "prune_attempts",
    "prune_codes",
    "prune_email_changes",
    "prune_mails",
    "recover",
    "redeem",
    "resend_email_confirmation",
    "restore_email",
    "revoke_code",
    "revoke_token",
    "rotate_secrets",
    "set_email",
    "set_password",
    "set_time_zone",
    "store_supplier",
    "take_slot",
]
