from dataclasses import dataclass

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


LOGIN = EventType("owner.login", OwnerRef, "The owner signed in")
EMAIL_CHANGED = EventType("owner.email_changed", OwnerRef, "The owner's e-mail address was changed")
RECOVERY_REQUESTED = EventType("owner.recovery_requested", OwnerRef, "A recovery phrase was generated")
CODE_ISSUED = EventType("code.issued", CodeRef, "An access code was issued")
CODE_REDEEMED = EventType("code.redeemed", CodeRedeemed, "A visitor came in with an access code")
CODE_REVOKED = EventType("code.revoked", CodeRef, "An access code was revoked")
SUPPLIER_CONNECTED = EventType("supplier.connected", SupplierRef, "A mail supplier was connected and verified")
SUPPLIER_DISCONNECTED = EventType("supplier.disconnected", SupplierRef, "The mail supplier was disconnected")
SUPPLIER_BROKEN = EventType("supplier.broken", SupplierBroken, "The mail supplier refused our login")
TOKEN_CREATED = EventType("api_token.created", TokenRef, "An API token was created")
TOKEN_REVOKED = EventType("api_token.revoked", TokenRef, "An API token was revoked")
