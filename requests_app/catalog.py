from requests_app import events as happened
from requests_app import operations as do
from requests_app import work
from tasks.declare import PUBLIC, EventType, Operation, Subscription, TaskKind

OWNERS = frozenset({"admin", "mcp"})
REQUEST = "requests.accessrequest"

events: list[EventType] = [happened.CREATED, happened.APPROVED, happened.STATUS_CHANGED]
kinds: list[TaskKind] = [work.APPROVAL_MAIL, work.OWNER_NOTIFY]
subscriptions = [Subscription(happened.CREATED, work.OWNER_NOTIFY)]
operations: list[Operation] = [
    Operation("access_requests.submit", do.submit, "Ask the owner for access", PUBLIC, frozenset({"public"})),
    Operation(
        "access_requests.approve",
        do.approve,
        "Approve a request: issue a code and mail it to the visitor",
        "requests.change_accessrequest",
        OWNERS,
        on=REQUEST,
        label="Approve",
    ),
    Operation(
        "access_requests.retry_mail",
        do.retry_mail,
        "Send a mail that failed once more",
        "requests.change_accessrequest",
        OWNERS,
        on=REQUEST,
        label="Retry",
    ),
    Operation(
        "access_requests.close",
        do.close,
        "Close a request",
        "requests.change_accessrequest",
        OWNERS,
        on=REQUEST,
        label="Close",
    ),
]
