"""The AI client's face, over real HTTP on loopback, by the SDK's client: a web server and a worker of the default size.

    noop_p50_ms      a call that touches nothing but its token's row
    waits_s          64 calls at once that wait for one job of 1 s: from the first call to the last answer
    own_waits_s      the same, each with a job of its own that is due in 1 s
    over_cap_ms      one more call while 64 wait: its receipt
    beside_p50_ms    the no-op call meanwhile
    page_p50_ms      the public page, while nobody waits; page_beside_p50_ms: meanwhile
    approve_p50_ms   from the call to the answer that says the mail was sent, by an SMTP server on loopback

The client, the web server, Postgres and the worker share this machine's cores; the client takes a good part of them.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2
from django.db import connection
from django.utils import timezone

from accounts.models import AccessCode, ApiToken, MailSupplier, OutgoingMail, Owner
from accounts.states import SupplierState
from requests_app.models import AccessRequest
from tasks.models import Event
from tasks.queue.completion import MOST_WAITING
from tests.ai import WebProcess, answered, over_http
from tests.benchmarks.fleet import worker
from tests.benchmarks.report import Figures
from tests.benchmarks.samples import percentile
from tests.smtpd import SmtpServer

NOOPS, APPROVALS, ROUNDS = 300, 40, 3
WANTED = {
    "noop_p50_ms": ("<=", 10),
    "waits_s": ("<=", 1.5),
    "over_cap_ms": ("<=", 200),
    "approve_p50_ms": ("<=", 150),
}


@contextmanager
def seeded() -> Iterator[tuple[str, list[int]]]:
    """An owner with a supplier, a token, and requests that wait for approval; their ids."""
    now = timezone.now()
    with SmtpServer(users={"bench": "secret"}) as smtp:
        owner = Owner.objects.create_superuser("bench@example.org", "correct horse battery")
        supplier = MailSupplier(owner=owner, host=smtp.host, port=smtp.port, security="none", user="bench")
        supplier.from_address, supplier.state, supplier.verified_at = owner.email, SupplierState.VERIFIED, now
        supplier.password = "secret"
        supplier.save()
        token = ApiToken.objects.issue(owner_id=owner.pk, name="bench", scopes=["*"], at=now, ends=None)
        requests = [
            AccessRequest.objects.create(owner=owner, created_at=now, email=f"v{n}@example.net", message="?")
            for n in range(APPROVALS)
        ]
        try:
            yield token.text, [request.pk for request in requests]
        finally:
            for model in (AccessRequest, AccessCode, OutgoingMail, Event):
                model._default_manager.all().delete()
            owner.delete()


@contextmanager
def web() -> Iterator[WebProcess]:
    with TemporaryDirectory() as folder:
        process = WebProcess(Path(folder) / "log", MCP_CALLS_A_MINUTE="1000000")
        try:
            yield process
        finally:
            process.stop()


async def timed(asked: Awaitable[Any]) -> tuple[dict[str, Any], float]:
    begun = time.perf_counter()
    found = answered(await asked)
    return found, (time.perf_counter() - begun) * 1000


async def noops(client: Any, n: int) -> list[float]:
    return [(await timed(client.call_tool("probe.echo", {"text": "x"})))[1] for _ in range(n)]


async def pages(http: httpx2.AsyncClient, n: int) -> list[float]:
    taken = []
    for _ in range(n):
        begun = time.perf_counter()
        (await http.get("/")).raise_for_status()
        taken.append((time.perf_counter() - begun) * 1000)
    return taken


async def together(calls: list[Awaitable[Any]]) -> float:
    begun = time.perf_counter()
    found = await asyncio.gather(*calls)
    took = time.perf_counter() - begun
    assert all(answered(result)["state"] == "completed" for result in found), found
    return took


async def full(client: Any, http: httpx2.AsyncClient, join: Any) -> tuple[float, list[float], list[float]]:
    """While every place to wait is taken: one more call, the no-op, a page."""
    waiting = [asyncio.create_task(timed(join())) for _ in range(MOST_WAITING)]
    while not (await asyncio.wait([more := asyncio.create_task(timed(join()))], timeout=0.3))[0]:
        waiting.append(more)  # they were not all in yet, and this one waits in another's place
    receipt, at_once = await timed(join())
    assert receipt["state"] == "pending", receipt
    beside = await noops(client, 50), await pages(http, 20)
    states = [found["state"] for found, _ in await asyncio.gather(*waiting)]
    assert states.count("completed") == MOST_WAITING, states
    return at_once, *beside


async def measured(url: str, token: str, requests: list[int]) -> Figures:
    async with over_http(url, token) as client, httpx2.AsyncClient(base_url=url) as http:

        def join(name: str, milliseconds: int) -> Awaitable[Any]:
            return client.call_tool("probe.join", {"name": name, "milliseconds": milliseconds})

        def later() -> Awaitable[Any]:
            return client.call_tool("probe.later", {"milliseconds": 1000})

        await noops(client, 30)
        await pages(http, 10)
        quiet, quiet_pages = await noops(client, NOOPS), await pages(http, 50)
        one, own, over_cap, beside, beside_pages = [], [], [], [], []
        for turn in range(ROUNDS):
            one.append(await together([join(f"turn {turn}", 1000) for _ in range(MOST_WAITING)]))
            own.append(await together([later() for _ in range(MOST_WAITING)]))
            ms, noop, page = await full(client, http, partial(join, f"full {turn}", 4000))
            over_cap.append(ms)
            beside += noop
            beside_pages += page
        approved = []
        for pk in requests:
            found, took = await timed(client.call_tool("access_requests.approve", {"id": pk}))
            assert found["mail"]["state"] == "sent", found
            approved.append(took)
    return {
        "noop_p50_ms": percentile(quiet, 50),
        "noop_p99_ms": percentile(quiet, 99),
        "waits_s": percentile(one, 50),
        "waits_max_s": max(one),
        "own_waits_s": percentile(own, 50),
        "over_cap_ms": max(over_cap),
        "beside_p50_ms": percentile(beside, 50),
        "page_p50_ms": percentile(quiet_pages, 50),
        "page_beside_p50_ms": percentile(beside_pages, 50),
        "approve_p50_ms": percentile(approved, 50),
        "approve_p99_ms": percentile(approved, 99),
    }


def run() -> Figures:
    logging.getLogger("mail.log").setLevel(logging.ERROR)  # aiosmtpd's own deprecations
    with seeded() as (token, requests), worker(), web() as process:
        connection.close()
        return asyncio.run(measured(process.url, token, requests))
