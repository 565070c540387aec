from datetime import datetime
from typing import Any

from accounts.models import ApiToken, MailSupplier, Owner
from accounts.supplier import SupplierQuerySet
from tasks import registry


def supplier_of(owner: Any) -> MailSupplier | None:
    return MailSupplier.objects.filter(owner=owner).first()


def verified_supplier(owner: Any) -> MailSupplier | None:
    suppliers: SupplierQuerySet = MailSupplier.objects.filter(owner=owner)
    return suppliers.verified().first()


def page_owner() -> Owner | None:
    return Owner.objects.of_this_page()


def scopes_there_are() -> list[str]:
    """What an API token may be given: everything, or a group of the AI client's operations to read or to write."""
    offered = [op for op in registry.operations().values() if "mcp" in op.faces]
    return ["*", *sorted({op.scope for op in offered})]


def token_with(text: str, at: datetime) -> ApiToken | None:
    """The token with this text while it is live and its owner may act, noted as used."""
    token = ApiToken.objects.with_text(text)
    if token is None or not token.is_live_at(at) or not token.owner.is_active:
        return None
    token.was_used(at)
    return token


def token_again(token: ApiToken, at: datetime) -> ApiToken | None:
    """The token as it is now; None where it was revoked or has expired since, or its owner may not act any more."""
    return ApiToken.objects.live_at(at).filter(pk=token.pk, owner__is_active=True).select_related("owner").first()
