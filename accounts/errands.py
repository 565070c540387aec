"""Operation, call outside, operation: for effects whose caller waits by decision."""

from accounts import operations, smtp
from accounts.models import MailSupplier
from accounts.queries import supplier_of
from tasks.declare import Caller
from tasks.errors import BadInput


def connect_supplier(
    by: Caller,
    *,
    host: str,
    port: int = 587,
    security: str = "starttls",
    user: str = "",
    password: str = "",
    from_address: str,
) -> MailSupplier:
    """Sign in to the server for real, and keep it as the owner's supplier only if that works.

    An empty password means the stored one, where host and user are unchanged.
    """
    wrong = {}
    host = host.strip()
    if not host or len(host) > 253 or any(c.isspace() or c in "/@" for c in host):
        wrong["host"] = "must be the name of the mail server, such as smtp.example.org"
    if not 1 <= port <= 65535:
        wrong["port"] = "must be from 1 to 65535"
    if security not in dict(MailSupplier.SECURITY):
        wrong["security"] = "must be starttls, tls or none"
    if len(user) > 254:
        wrong["user"] = "must be 254 characters at most"
    if wrong:
        raise BadInput("; ".join(f"The {name} {what}" for name, what in wrong.items()) + ".", wrong)
    from_address = operations.check_address(from_address, "from_address")
    stored = supplier_of(by.user)
    keep = not password and stored is not None and (stored.host, stored.user) == (host, user)
    secret = stored.password if keep and stored else password
    try:
        smtp.check(smtp.Server(host, port, security, user, secret))
    except (smtp.MailTrouble, ValueError) as trouble:
        raise BadInput(f"Not connected. {trouble}", {"host": str(trouble)}) from trouble
    values = {"host": host, "port": port, "security": security, "user": user, "from_address": from_address}
    return operations.store_supplier(by, values=values, password=None if keep else password)
