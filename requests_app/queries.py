from accounts.models import MailSupplier
from accounts.queries import verified_supplier
from tasks.declare import Caller
from tasks.errors import BadInput

NO_SUPPLIER = "No mail can be sent yet: connect and verify a mail supplier first."


def needed_supplier(by: Caller) -> MailSupplier:
    """The caller's verified supplier, or a refusal that says what to do."""
    supplier = verified_supplier(by.user)
    if supplier is None:
        raise BadInput(NO_SUPPLIER)
    return supplier
