"""What is asked of a request before the protocol: the host, the origin, a token, the method."""

import json
import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from accounts.models import ApiToken
from accounts.queries import token_with
from accounts.visitors import client_at
from standmeet.mcp.limits import Buckets

Scope = MutableMapping[str, Any]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
OnThread = Callable[..., Awaitable[Any]]
Headers = dict[bytes, bytes]
TOKEN, SEEN = "standmeet.token", "standmeet.token_seen"  # the places in the scope


class Door:
    """Wrong tokens are limited per client: ten, then one in five seconds. A right one always comes in."""

    def __init__(self) -> None:
        self.wrong = Buckets(rate=0.2, burst=10)

    async def admits(self, scope: Scope, send: Send, on_thread: OnThread) -> bool:
        """Put the token into the scope; or answer, and say no."""
        headers: Headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not right_host(host):
            await say(send, 421, "misdirected", f"{host[:100]!r} is not a name of this page: see ALLOWED_HOSTS.")
        elif not right_origin(headers.get(b"origin", b"").decode("latin-1"), host):
            await say(send, 403, "foreign_origin", "Another site's page may not call this.")
        elif (token := await self.token(scope, headers, send, on_thread)) is None:
            return False
        elif scope["method"] != "POST":  # stateless: there is no stream to open and no session to end
            await say(send, 405, "method_not_allowed", "Only POST is answered here.", {"allow": "POST"})
        else:
            scope[TOKEN], scope[SEEN] = token, timezone.now()
            return True
        return False

    async def token(self, scope: Scope, headers: Headers, send: Send, on_thread: OnThread) -> ApiToken | None:
        scheme, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        if scheme.lower() != "bearer" or not text.strip():
            challenge = {"www-authenticate": 'Bearer realm="standmeet"'}
            await say(send, 401, "unauthorized", "Send an API token: Authorization: Bearer smt_…", challenge)
            return None
        token: ApiToken | None = await on_thread(token_with, text.strip(), timezone.now())
        if token:
            return token
        forwarded = headers.get(b"x-forwarded-for", b"").decode("latin-1")
        if wait := self.wrong.take(client_at((scope.get("client") or ("unknown",))[0], forwarded)):
            later = {"retry-after": str(math.ceil(wait))}
            await say(send, 429, "too_many", "Too many wrong tokens from this address.", later)
        else:
            challenge = {"www-authenticate": 'Bearer realm="standmeet", error="invalid_token"'}
            said = "This token is unknown, revoked or expired. The owner creates another under API tokens."
            await say(send, 401, "invalid_token", said, challenge)
        return None


def right_host(host: str) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def right_origin(origin: str, host: str) -> bool:
    """No browser, or this page's own (CSRF_TRUSTED_ORIGINS is PUBLIC_URL's origin)."""
    own = {f"http://{host}", f"https://{host}", *settings.CSRF_TRUSTED_ORIGINS}
    return not origin or origin in own


async def say(send: Send, status: int, code: str, message: str, headers: dict[str, str] | None = None) -> None:
    body = json.dumps({"error": code, "message": message}, ensure_ascii=False).encode()
    shown = {"content-type": "application/json", "content-length": str(len(body)), "cache-control": "no-store"}
    raw = [(name.encode(), value.encode()) for name, value in {**shown, **(headers or {})}.items()]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
