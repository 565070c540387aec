from datetime import timedelta

from accounts import errands, work
from accounts import events as happened
from accounts import operations as do
from tasks.declare import PUBLIC, EventType, Operation, Periodic, TaskKind

DAY = timedelta(days=1)

events: list[EventType] = [
    happened.LOGIN,
    happened.EMAIL_CHANGED,
    happened.RECOVERY_REQUESTED,
    happened.CODE_ISSUED,
    happened.CODE_REDEEMED,
    happened.CODE_REVOKED,
    happened.SUPPLIER_CONNECTED,
    happened.SUPPLIER_DISCONNECTED,
    happened.SUPPLIER_BROKEN,
    happened.TOKEN_CREATED,
    happened.TOKEN_REVOKED,
]
periodic: list[Periodic] = [
    Periodic("accounts.clear_sessions", DAY, work.CLEAR_SESSIONS, "Delete sessions that have expired"),
    Periodic(
        "accounts.prune_codes", DAY, work.PRUNE_CODES, "Delete codes that ended 30 days ago and that no request shows"
    ),
    Periodic(
        "accounts.prune_email_changes",
        DAY,
        work.PRUNE_EMAIL_CHANGES,
        "Delete changes of the e-mail address that expired 30 days ago",
    ),
    Periodic(
        "accounts.prune_attempts",
        DAY / 24,
        work.PRUNE_ATTEMPTS,
        "Delete tries and wrong passwords that no limit counts any more",
    ),
    Periodic("accounts.prune_mails", DAY, work.PRUNE_MAILS, "Delete the record of mails sent 30 days ago"),
]
kinds: list[TaskKind] = [work.EMAIL_CONFIRMATION, work.EMAIL_NOTICE, *(entry.kind for entry in periodic)]
operations: list[Operation] = [
    Operation("account.confirm_email", do.confirm_email, "Confirm a new e-mail address", PUBLIC, frozenset({"public"})),
    Operation("account.recover", do.recover, "Spend a recovery phrase", PUBLIC, frozenset({"public"})),
    *(
        Operation(f"account.{name}", run, summary, "accounts.change_owner", frozenset({"admin"}))
        for name, run, summary in (
            ("set_time_zone", do.set_time_zone, "Set the time zone of the admin"),
            ("change_password", errands.change_password, "Set a new password"),
            ("change_email", errands.change_email, "Change the e-mail address; the new one is asked to confirm"),
            ("resend_email_confirmation", do.resend_email_confirmation, "Mail the link to the new address again"),
            ("cancel_email_change", do.cancel_email_change, "Keep the present e-mail address"),
            ("generate_recovery", errands.generate_recovery, "Mail a recovery phrase to the present address"),
        )
    ),
    Operation(
        "account.restore_email",
        do.restore_email,
        "Set the owner's e-mail address at once, from the machine itself",
        "accounts.change_owner",
        frozenset({"shell"}),
        destructive=True,
    ),
    Operation("codes.redeem", do.redeem, "Come in with an access code", PUBLIC, frozenset({"public"})),
    Operation(
        "account.describe",
        do.describe,
        "Set the name and the short introduction on your public page",
        "accounts.change_owner",
        frozenset({"admin", "mcp"}),
        repeatable=True,
        details="It replaces what is there now; visitors see it at once.",
    ),
    Operation(
        "codes.revoke",
        do.revoke_code,
        "Revoke an access code; whoever came in with it is out",
        "accounts.change_accesscode",
        frozenset({"admin", "mcp"}),
        on="accounts.accesscode",
        label="Revoke",
        destructive=True,
        repeatable=True,
        details="This cannot be undone; approving the request again issues a new code.",
    ),
    Operation(
        "tokens.create",
        do.create_token,
        "Create an API token for an AI client",
        "accounts.add_apitoken",
        frozenset({"admin"}),
    ),
    Operation(
        "tokens.revoke",
        do.revoke_token,
        "Revoke an API token; its client is out at once",
        "accounts.change_apitoken",
        frozenset({"admin"}),
        destructive=True,
    ),
    Operation(
        "suppliers.connect",
        errands.connect_supplier,
        "Connect and verify the mail supplier",
        "accounts.change_mailsupplier",
        frozenset({"admin"}),
    ),
    Operation(
        "suppliers.disconnect",
        do.disconnect_supplier,
        "Disconnect the mail supplier",
        "accounts.change_mailsupplier",
        frozenset({"admin"}),
        destructive=True,
    ),
]
