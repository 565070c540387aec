"""flock(2): dropped by the kernel with the process that held it, however that process ended."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import LocalPostgresError
from .folders import open_file
from .layout import Place

PATIENCE = 240.0  # seconds: longer than a slow initdb and a long crash recovery together


def acquire(fd: int, operation: int) -> bool:
    """Wait for the lock, but not for ever: its holder may have been suspended by Ctrl-Z."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(fd, operation | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
        time.sleep(0.02)


@contextmanager
def switching(here: Place) -> Iterator[None]:
    """One process at a time starts or stops the server."""
    file = here.folder / "starting"
    fd = open_file(file, here.account)
    try:
        if not acquire(fd, fcntl.LOCK_EX):
            holder = os.pread(fd, 20, 0).decode() or "unknown"
            raise LocalPostgresError(
                f"Process {holder} has held {file} for {PATIENCE:.0f} seconds, to start or stop Postgres: "
                f"let it go on (is it suspended?), or end it, and try again."
            )
        os.ftruncate(fd, 0)
        os.pwrite(fd, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(fd)
