"""MCP over Streamable HTTP, at /mcp, beside Django in one ASGI application."""

import contextlib
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from datetime import timedelta
from typing import Any

from django.utils import timezone
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from accounts.queries import token_again
from standmeet.mcp.door import SEEN, TOKEN, Door, say
from standmeet.mcp.face import Context, Face, Who
from tasks.declare import Caller
from tasks.errors import NotAllowed
from tasks.queue.forever import NO_DATABASE

log = logging.getLogger("standmeet.mcp")
FRESH = timedelta(seconds=1)  # for how long a look at a token holds
PATHS = ("/mcp", "/mcp/")
# Where clients look for an OAuth server after a 401. There is none, and only JSON says so to all of them.
DISCOVERY = ("/.well-known/oauth-", "/.well-known/openid-configuration", "/mcp/.well-known/")
BIGGEST_BODY = 1024 * 1024

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def token_holder(context: Context) -> Who:
    """The door looked before the body had come: where that is long ago, it is asked again when it acts."""

    def who() -> Caller:
        now = timezone.now()
        scope = context.request.scope
        token = scope[TOKEN] if now - scope[SEEN] < FRESH else token_again(scope[TOKEN], now)
        if token is None:
            raise NotAllowed("This token was revoked or has expired. The owner creates another under API tokens.")
        return Caller(token.owner, now, "mcp", frozenset(token.scopes), token=str(token))

    return who


class WithMcp:
    """The whole application: MCP at its paths, and Django, which knows no ASGI lifespan, at all others."""

    def __init__(self, django: App) -> None:
        self.django = django
        self.door = Door()
        self.face: Face | None = None  # while the lifespan runs
        self.manager: StreamableHTTPSessionManager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.lifespan(receive, send)
        elif scope["type"] == "http" and scope["path"] in PATHS:
            await self.mcp(scope, receive, send)
        elif scope["type"] == "http" and scope["path"].startswith(DISCOVERY):
            await say(send, 404, "not_found", "There is no OAuth here: send an API token as a bearer token.")
        else:
            await self.django(scope, receive, send)

    async def mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.face is None:
            await say(
                send, 503, "unavailable", "The web server was started without the ASGI lifespan, which MCP needs."
            )
        elif await self.admits(self.face, scope, send):
            await self.manager.handle_request(scope, receive, send)

    async def admits(self, face: Face, scope: Scope, send: Send) -> bool:
        try:
            return await self.door.admits(scope, send, face.on_thread)
        except NO_DATABASE as error:
            log.warning("nobody comes in: the database does not answer (%s)", str(error).strip())
            later = {"retry-after": "10"}
            await say(send, 503, "unavailable", "The database does not answer. Try again in a while.", later)
            return False

    async def lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with contextlib.AsyncExitStack() as stack:
            try:
                face = Face(token_holder)
                # Each request on its own. Answers as streams: only these can tell progress, and end with their client.
                self.manager = StreamableHTTPSessionManager(
                    face.server, stateless=True, json_response=False, max_request_body_size=BIGGEST_BODY
                )
                await stack.enter_async_context(self.manager.run())
            except Exception as error:
                await send({"type": "lifespan.startup.failed", "message": repr(error)})
                raise
            self.face = face
            await send({"type": "lifespan.startup.complete"})
            await receive()
            self.face = None
        await send({"type": "lifespan.shutdown.complete"})
