from accounts import errands
from accounts import events as happened
from accounts import operations as do
from tasks.declare import PUBLIC, EventType, Operation

events: list[EventType] = [
    happened.CODE_ISSUED,
    happened.CODE_REDEEMED,
    happened.CODE_REVOKED,
    happened.SUPPLIER_CONNECTED,
    happened.SUPPLIER_DISCONNECTED,
    happened.SUPPLIER_BROKEN,
]
operations: list[Operation] = [
    Operation("codes.redeem", do.redeem, "Come in with an access code", PUBLIC, frozenset({"public"})),
    Operation(
        "account.describe",
        do.describe,
        "Set the name and the short introduction on your public page",
        "accounts.change_owner",
        frozenset({"admin", "mcp"}),
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
