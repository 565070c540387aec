import asyncio
import contextlib
import sys
from argparse import ArgumentParser
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone
from mcp.server.stdio import stdio_server

from standmeet.mcp.face import Face
from standmeet.mcp.tools import as_json, offered, tool
from tasks.declare import Caller


class Command(BaseCommand):
    help = "Serve an AI client on standard input and output (MCP over stdio), as the owner, with every scope."
    requires_system_checks = []  # noqa: RUF012 (what they print would reach the client)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--as", dest="email", help="e-mail of the owner to act as; the first one otherwise")
        parser.add_argument("--tools", action="store_true", help="print the tools with their schemas, and exit")

    def handle(self, *args: Any, email: str | None, tools: bool, **options: Any) -> None:
        if tools:
            self.stdout.write(as_json([tool(op) for op in offered()]), ending="")
            return
        owners = get_user_model()._default_manager.filter(is_active=True).order_by("pk")
        owner = (owners.filter(email__iexact=email) if email else owners).first()
        if owner is None:
            raise CommandError(f"There is no owner {email}." if email else "There is no owner yet: createsuperuser.")
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(serve(owner.pk))


async def serve(owner_id: int) -> None:
    def owner() -> Caller:
        return Caller(get_user_model()._default_manager.get(pk=owner_id, is_active=True), timezone.now(), "mcp")

    server = Face(lambda context: owner).server
    async with stdio_server() as (read, write):
        with contextlib.redirect_stdout(sys.stderr):  # a stray print() must not reach the client
            await server.run(read, write, server.create_initialization_options())
