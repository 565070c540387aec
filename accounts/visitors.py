"""Who is visiting: the client behind a request, and the code their session came in with."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import CodeMember

MEMBER = "member_id"
LEFT = "left"
RECOVERED = "recovered"  # the owner signed in by a phrase and may choose a password without the old one


def client_of(request: HttpRequest) -> str:
    return client_at(request.META.get("REMOTE_ADDR") or "unknown", request.headers.get("X-Forwarded-For", ""))


def client_at(address: str, forwarded: str) -> str:
    """The address to count tries by: behind N trusted proxies the Nth last of X-Forwarded-For; an IPv6 /64 is one."""
    if settings.TRUSTED_PROXIES:
        hops = [hop.strip() for hop in forwarded.split(",") if hop.strip()]
        if hops:
            address = hops[-min(settings.TRUSTED_PROXIES, len(hops))]
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address[:100]
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)


def address_of(request: HttpRequest) -> str | None:
    """The same as an address, as the count of wrong passwords stores it."""
    client = client_of(request).partition("/")[0]
    try:
        return str(ipaddress.ip_address(client))
    except ValueError:
        return None


def member_of(request: HttpRequest) -> CodeMember | None:
    """The visitor of this session, for as long as their code is valid."""
    member_id = request.session.get(MEMBER)
    if member_id is None or request.session.get(LEFT):
        return None
    member = CodeMember.objects.select_related("code").filter(pk=member_id).first()
    return member if member and member.code.is_valid_at(timezone.now()) else None


def sign_in(request: HttpRequest, member: CodeMember) -> None:
    request.session.cycle_key()
    request.session[MEMBER] = member.pk
    request.session.pop(LEFT, None)
    request.session.set_expiry(member.code.expires_at)
