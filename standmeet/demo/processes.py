import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import requests

from tasks.queue.processes import die_with

ROOT = Path(__file__).resolve().parent.parent.parent


class DemoFailed(Exception):
    """The story did not hold; says why."""


def free_port(wanted: int) -> int:
    """This port, or another one where it is busy."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise DemoFailed("There is no free port on 127.0.0.1.")


@contextlib.contextmanager
def running(name: str, *args: str, log: Path) -> Iterator[subprocess.Popen[str]]:
    """A process of ours for as long as the block runs; it ends with us, however we end."""
    parent = os.getpid()
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, *args],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: die_with(parent),
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])


def answers(process: subprocess.Popen[str], url: str, log: Path) -> None:
    """Wait until a page is served."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if process.poll() is not None:
            raise DemoFailed(f"The web server ended (exit code {process.returncode}):\n{tail(log)}")
        with contextlib.suppress(requests.ConnectionError):
            requests.get(url, timeout=10)
            return
        time.sleep(0.05)
    raise DemoFailed(f"{url} did not answer within 30 s:\n{tail(log)}")


def printed(process: subprocess.Popen[str], pattern: str, log: Path) -> re.Match[str]:
    """Wait for a line in a process's log."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if found := re.search(pattern, log.read_text()):
            return found
        if process.poll() is not None:
            raise DemoFailed(f"The mail sink ended (exit code {process.returncode}):\n{tail(log)}")
        time.sleep(0.02)
    raise DemoFailed(f"The mail sink did not start within 30 s:\n{tail(log)}")
