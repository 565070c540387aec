"""Embedded servers of a test's own, which it may kill."""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


def wait_until(condition: Callable[[], object], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def postmaster(folder: Path) -> int | None:
    for file in folder.glob("pg*/data/postmaster.pid"):
        with suppress(FileNotFoundError, IndexError):
            pid = int(file.read_text().split()[0])
            return pid if alive(pid) else None
    return None


def kill_postmaster(folder: Path) -> None:
    pid = postmaster(folder)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not alive(pid))


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """One that the server's account can reach, unlike pytest's own; emptied of its server at the end."""
    folder = Path(tempfile.mkdtemp(prefix="localpg-")).resolve()
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        silence(folder)
        shutil.rmtree(folder)


def silence(folder: Path) -> None:
    pid = postmaster(folder)
    if pid:
        os.kill(pid, signal.SIGINT)
        wait_until(lambda: not alive(pid))
