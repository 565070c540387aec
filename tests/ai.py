"""A real AI client of the tests: the official SDK's, over HTTP to a web server of their own, or over stdio."""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
from django.db import connections
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.ports import free_port
from tests.processes import ROOT, environment, until

ERAS = ("auto", "legacy")  # 2026-07-28 and, with the initialize handshake, 2025-11-25
KEEP_ALIVE = ("--timeout-keep-alive", "75", "--timeout-graceful-shutdown", "25")


class WebProcess:
    """uvicorn with the whole application, on a free port of loopback."""

    def __init__(self, log: Path, *options: str, settings: str = "tests.settings", **env: str) -> None:
        port = free_port()
        self.url, self.log = f"http://127.0.0.1:{port}", log
        command = [sys.executable, "-m", "uvicorn", "standmeet.asgi:application", "--port", str(port), *KEEP_ALIVE]
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [*command, "--no-access-log", *options],
                cwd=ROOT,
                env={**environment(), "PUBLIC_URL": self.url, "DJANGO_SETTINGS_MODULE": settings, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        until(self.is_up, seconds=30, what="the web server is up")

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return "Uvicorn running" in self.log.read_text()

    def stop(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@contextlib.asynccontextmanager
async def over_http(url: str, token: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        await client.list_tools()  # as every client does first: what is called unlisted is looked up each time
        yield client


@contextlib.asynccontextmanager
async def over_stdio(mode: str = "auto", settings: str = "tests.settings", **env: str) -> AsyncIterator[Client]:
    known = {**environment(), "DJANGO_SETTINGS_MODULE": settings, **env}
    server = StdioServerParameters(command=sys.executable, args=["manage.py", "mcp"], env=known, cwd=ROOT)
    with open(os.devnull, "w") as errors:
        async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
            yield client


def with_client(connection: Any, ask: Callable[[Client], Awaitable[Any]]) -> Any:
    """Ask with a client of one of these connections, and close it."""

    async def go() -> Any:
        async with connection as client:
            return await ask(client)

    return asyncio.run(go())


async def on_thread(ask: Callable[[], Any]) -> Any:
    """What the test itself has to ask the database while its client is open."""

    def asked() -> Any:
        try:
            return ask()
        finally:
            connections.close_all()

    return await asyncio.to_thread(asked)


def refused(result: Any) -> dict[str, Any]:
    """What a refusal says, as the model reads it."""
    assert result.is_error, result
    assert result.structured_content is None
    found: dict[str, Any] = json.loads(result.content[0].text)
    return found


def answered(result: Any) -> dict[str, Any]:
    """A result's structured content, which its text repeats."""
    assert not result.is_error, result
    assert json.loads(result.content[0].text) == result.structured_content
    found: dict[str, Any] = result.structured_content
    return found
