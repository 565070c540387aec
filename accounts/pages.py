from tasks.declare import Serves

ACCOUNT = Serves("admin:accounts_owner_changelist", "account")
CODE_ROW = Serves("admin:accounts_accesscode_change", "access code", "code_id")
SUPPLIER = Serves("admin:accounts_mailsupplier_changelist", "mail supplier")
TOKENS = Serves("admin:accounts_apitoken_changelist", "API token")
