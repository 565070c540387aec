from accounts.codes import AccessCode, CodeMember
from accounts.ledger import Attempt, OutgoingMail
from accounts.owner import Owner
from accounts.supplier import MailSupplier

__all__ = ["AccessCode", "Attempt", "CodeMember", "MailSupplier", "OutgoingMail", "Owner"]
