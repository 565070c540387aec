import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.models import MailSupplier, Owner
from accounts.states import SupplierState
from tasks import registry
from tasks.declare import Caller
from tasks.queue import completion, sql
from tasks.queue.execution import Claimed, conclude, execute
from tasks.queue.models import Task, Worker
from tasks.queue.transitions import change
from tests.processes import WorkerProcess, until
from tests.smtpd import SmtpServer

PASSWORD = "correct horse battery"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--count", type=int, default=1, help="run each test so many times")
    parser.addoption("--workers", type=int, default=1, help="so many whole workers where a test asks for one")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (count := metafunc.config.getoption("count")) > 1:
        metafunc.fixturenames.append("time")
        metafunc.parametrize("time", range(count))


@pytest.fixture(autouse=True)
def no_listener_left() -> Iterator[None]:
    """A test that waited opened a connection; the next one's database must be free of it."""
    yield
    completion.waits().close()


@pytest.fixture
def owner(db: None) -> Owner:
    return Owner.objects.create_superuser("olga@example.org", PASSWORD, full_name="Olga Owner")


@pytest.fixture
def by(owner: Owner) -> Caller:
    return Caller(owner, timezone.now(), "test")


@pytest.fixture
def visitor() -> Caller:
    return Caller(None, timezone.now(), "public")


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    with SmtpServer(users={"olga": "secret"}) as server:
        yield server


@pytest.fixture
def supplier(owner: Owner, smtp: SmtpServer) -> MailSupplier:
    """The owner's verified supplier: the test's own SMTP server."""
    supplier = MailSupplier(
        owner=owner,
        host=smtp.host,
        port=smtp.port,
        security="none",
        user="olga",
        from_address="olga@example.org",
        state=SupplierState.VERIFIED,
        verified_at=timezone.now(),
    )
    supplier.password = "secret"
    supplier.save()
    return supplier


@pytest.fixture
def ask(owner: Owner, visitor: Caller) -> Callable[..., Any]:
    """A visitor's request."""

    def submit(**given: str) -> Any:
        from requests_app.models import AccessRequest

        values = {"name": "Ana", "email": "ana@example.net", "message": "May I read?", **given}
        return AccessRequest.objects.create(owner=owner, created_at=timezone.now(), **values)

    return submit


@pytest.fixture
def work() -> Callable[[], list[str]]:
    """Run due tasks until none is left, here; returns the kinds that ran, in order."""

    def run() -> list[str]:
        ran = []
        group = "00000000-0000-0000-0000-000000000001"
        [(worker,)] = sql.run("enroll", group=group, machine="test", host="test", pid=1, started=0, queue="all")
        while True:
            claimed = [row for queue in settings.QUEUES if (row := claim(queue, worker))]
            if not claimed:
                return ran
            for task in claimed:
                kind = registry.kinds().get(task.kind)
                ran.append(task.kind)
                assert conclude(task, kind, execute(task, kind))

    def claim(queue: str, worker: int) -> Claimed | None:
        rows = change("claim", queue=queue, worker=worker, lease=60)
        return Claimed.of(rows[0], worker) if rows else None

    return run


@pytest.fixture
def worker(
    transactional_db: None,
    tmp_path_factory: pytest.TempPathFactory,
    live_server: Any,
    pytestconfig: pytest.Config,
) -> Iterator[WorkerProcess]:
    """A whole worker, for this test alone: it takes no other test's tasks, and its rows are not flushed under it."""
    logs = tmp_path_factory.mktemp("worker")
    names = [f"log{n}" for n in range(pytestconfig.getoption("workers"))]
    workers = [WorkerProcess(logs / name, PUBLIC_URL=live_server.url) for name in names]
    whole = len(workers) * sum(settings.QUEUES.values())
    try:
        until(lambda: Worker.objects.count() == whole, seconds=30, what="the worker is whole")
        yield workers[0]
        for worker in workers:
            assert worker.process.poll() is None, worker.log.read_text()
        Task.objects.filter(state__in=["pending", "retryable"]).delete()
        until(lambda: not Task.objects.filter(state="running").exists(), what="the worker is idle")
    finally:
        codes = [worker.stop() for worker in workers]
    for worker, code in zip(workers, codes, strict=True):
        assert code == 0, worker.log.read_text()


@pytest.fixture
def start_worker(transactional_db: None, tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Workers of the test's own; whatever of them is left at its end is ended."""
    started: list[WorkerProcess] = []

    def start(queues: str, **env: str) -> WorkerProcess:
        started.append(WorkerProcess(tmp_path / f"worker{len(started)}.log", queues, **env))
        return started[-1]

    yield start
    for worker in started:
        if worker.process.poll() is None:
            worker.kill()


@pytest.fixture
def by_the_clock(settings: Any) -> Iterator[None]:
    """The catalog with the tests' periodic work; a worker for it takes settings="tests.periodic_settings"."""
    settings.CATALOG = "tests.probe.periodic.CATALOG"
    registry.forget()
    yield
    settings.CATALOG = "tests.catalog.CATALOG"
    registry.forget()


CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"))), None
)
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium for the browser tests of one module.

    Playwright's sync API keeps an event loop in the test's thread while it is open. Django's async guard would refuse
    every query there, hence the variable; asyncio.run() in a later test would fail, hence the module's scope.
    """
    from playwright.sync_api import sync_playwright

    with pytest.MonkeyPatch.context() as env, sync_playwright() as playwright:
        env.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        executable = CHROMIUM or playwright.chromium.executable_path
        if not Path(executable).exists():
            missing = "there is no Chromium here: apt-get install chromium, or name one in CHROMIUM"
            if os.environ.get("CI"):
                pytest.fail(missing)
            pytest.skip(missing)
        chromium = playwright.chromium.launch(executable_path=executable, args=FLAGS, chromium_sandbox=False)
        yield chromium
        chromium.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    setattr(item, f"report_{report.when}", report)
    return report


@pytest.fixture
def page(browser: Any, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A fresh page. An error in its console, a CSP violation among them, fails the test."""
    context = browser.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce")
    page = context.new_page()
    page.said = []
    page.on("console", lambda m: page.said.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda e: page.said.append(str(e)))
    yield page
    report = getattr(request.node, "report_call", None)
    if (report and report.failed) or page.said:
        page.screenshot(path=tmp_path / "page.png", full_page=True)
        print(f"screenshot: {tmp_path / 'page.png'}")  # noqa: T201
    page.goto("about:blank")  # its polls must not meet the flush
    context.close()
    assert not page.said, page.said
