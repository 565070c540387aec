from dataclasses import dataclass

from accounts.pages import ACCOUNT, CODE_ROW, SUPPLIER, TOKENS
from tasks.declare import EventType


@dataclass(frozen=True)
class CodeRef:
    code_id: int


@dataclass(frozen=True)
class CodeRedeemed:
    code_id: int
    member_id: int


@dataclass(frozen=True)
class SupplierRef:
    supplier_id: int
    host: str


@dataclass(frozen=True)
class OwnerRef:
    owner_id: int


@dataclass(frozen=True)
class SupplierBroken:
    supplier_id: int
    host: str
    reason: str


@dataclass(frozen=True)
class TokenRef:
    token_id: int
    name: str


LOGIN = EventType("owner.login", OwnerRef, "The owner signed in", serves=ACCOUNT)
EMAIL_CHANGED = EventType("owner.email_changed", OwnerRef, "The owner's e-mail address was changed", serves=ACCOUNT)
RECOVERY_REQUESTED = EventType("owner.recovery_requested", OwnerRef, "A recovery phrase was generated", serves=ACCOUNT)
CODE_ISSUED = EventType("code.issued", CodeRef, "An access code was issued", serves=CODE_ROW)
CODE_REDEEMED = EventType("code.redeemed", CodeRedeemed, "A visitor came in with an access code", serves=CODE_ROW)
CODE_REVOKED = EventType("code.revoked", CodeRef, "An access code was revoked", serves=CODE_ROW)
SUPPLIER_CONNECTED = EventType(
    "supplier.connected", SupplierRef, "A mail supplier was connected and verified", serves=SUPPLIER
)
SUPPLIER_DISCONNECTED = EventType(
    "supplier.disconnected", SupplierRef, "The mail supplier was disconnected", serves=SUPPLIER
)
SUPPLIER_BROKEN = EventType("supplier.broken", SupplierBroken, "The mail supplier refused our login", serves=SUPPLIER)
TOKEN_CREATED = EventType("api_token.created", TokenRef, "An API token was created", serves=TOKENS)
TOKEN_REVOKED = EventType("api_token.revoked", TokenRef, "An API token was revoked", serves=TOKENS)
