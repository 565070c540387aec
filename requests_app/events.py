from dataclasses import dataclass

from requests_app.pages import REQUEST_ROW
from tasks.declare import EventType


@dataclass(frozen=True)
class RequestRef:
    request_id: int


@dataclass(frozen=True)
class RequestApproved:
    request_id: int
    code_id: int


@dataclass(frozen=True)
class StatusChanged:
    request_id: int
    before: str
    after: str


CREATED = EventType("access_request.created", RequestRef, "A visitor asked for access", serves=REQUEST_ROW)
APPROVED = EventType(
    "access_request.approved", RequestApproved, "The owner approved an access request", serves=REQUEST_ROW
)
STATUS_CHANGED = EventType(
    "access_request.status_changed", StatusChanged, "An access request changed its status", serves=REQUEST_ROW
)
