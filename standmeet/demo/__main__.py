import argparse
import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from standmeet.demo.processes import ROOT, DemoFailed, answers, free_port, printed, running

_only: IO[str] | None = None  # held open: its lock says that a demo is running
FOLDER = ROOT / ".local" / "demo"


def say(text: str = "") -> None:
    print(text, flush=True)  # noqa: T201


def prepare(port: int) -> str:
    """Settings of this process and, by the environment, of those it starts. Never one's own database."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    global _only
    _only = (FOLDER / "running").open("w")
    try:
        fcntl.flock(_only, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DemoFailed("Another demo is running from this folder: end it first.") from None
    for name in ("DATABASE_URL", "SECRET_KEY", "INSTANCE_SECRET", "ALLOWED_HOSTS", "TRUSTED_PROXIES"):
        os.environ.pop(name, None)
    url = f"http://127.0.0.1:{port}"
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "standmeet.settings",
        "LOCALPG_DIR": os.environ.get("LOCALPG_DIR") or str(FOLDER),
        "PUBLIC_URL": url,
    }
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    return url


# Longer than an AI client keeps a connection, and than it may wait for an answer: docs/operations.md.
SERVE = ("--timeout-keep-alive", "75", "--timeout-graceful-shutdown", "25")


def demo(*, once: bool) -> None:
    begun = time.perf_counter()
    say("Setting up: database, web, worker, mail sink …")
    port = free_port(8000)
    url = prepare(port)
    from standmeet.demo.seed import EMAIL, owner_with_supplier, token_of_the_day, two_requests
    from standmeet.demo.story import Places, play

    with contextlib.ExitStack() as stack:
        processes: dict[str, subprocess.Popen[str]] = {}

        def start(name: str, *args: str) -> tuple[subprocess.Popen[str], Path]:
            log = FOLDER / f"{name}.log"
            processes[name] = stack.enter_context(running(name, *args, log=log))
            return processes[name], log

        sink_args = ("--smtp-port", "0", "--http-port", str(free_port(8025)), "--folder", str(FOLDER / "mails"))
        sink, sink_log = start("mailsink", "-m", "standmeet.mailsink", *sink_args)
        start("worker", "manage.py", "worker")
        serve = ("-m", "uvicorn", "standmeet.asgi:application", "--host", "127.0.0.1", "--port", str(port))
        web, web_log = start("web", *serve, "--log-level", "warning", *SERVE)
        ready = printed(sink, r"smtp=127\.0\.0\.1:(\d+) http=(\S+)", sink_log)
        owner, password = owner_with_supplier(int(ready[1]))
        two_requests(owner)
        answers(web, url, web_log)
        say(f"Ready after {time.perf_counter() - begun:.1f} s. The story:")
        play(Places(url, ready[2], EMAIL, password))
        say(f"The story held, {time.perf_counter() - begun:.1f} s in all.")
        if once:
            return
        say()
        say(f"  public page    {url}/")
        say(f"  admin          {url}/admin/    {EMAIL}    {password}")
        say(f"  mails          {ready[2]}/")
        bearer = f"Authorization: Bearer {token_of_the_day(owner)}"
        say(f'  AI client      claude mcp add --transport http standmeet {url}/mcp --header "{bearer}"')
        say(f"  logs           {FOLDER.relative_to(ROOT)}/")
        say("Ctrl-C ends it.")
        watch(processes)


def watch(processes: dict[str, subprocess.Popen[str]]) -> None:
    """Until Ctrl-C. One of them that ends by itself is named, once; the rest stays up."""
    while True:
        time.sleep(0.5)
        for name in [name for name, process in processes.items() if process.poll() is not None]:
            code = processes.pop(name).returncode
            say(f"The {name} has ended (exit code {code}); the others stay. Its log: .local/demo/{name}.log")


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run demo", description="Show the main job, then stay up.")
    parser.add_argument("--once", action="store_true", help="exit when the story has been told: 0 if it held")
    once = parser.parse_args().once
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        demo(once=once)
    except DemoFailed as failed:
        say(f"The story did not hold. {failed}")
        return 1
    except KeyboardInterrupt:
        say("\nStopped.")
        return 130 if once else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
