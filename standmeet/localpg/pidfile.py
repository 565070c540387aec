"""postmaster.pid, and the like file beside the socket: a number on the first line, then facts, one a line."""

import os
from pathlib import Path

from .layout import SOCKET, Place

STATUS_LINE = 8  # Postgres's src/include/utils/pidfile.h


def is_ready(here: Place) -> bool:
    lines = _lines(here.data / "postmaster.pid")
    return len(lines) >= STATUS_LINE and lines[STATUS_LINE - 1].strip() == "ready"


def remove_stale_files(here: Place) -> None:
    """Postgres refuses to start while any process has the number of the old postmaster.

    That may be its zombie, which nobody reaps in a container whose first process is ours, or a stranger after a power
    cut. Whether children of the old one still use the data, Postgres finds out without these files.
    """
    for file in (here.data / "postmaster.pid", here.sockets / f"{SOCKET}.lock"):
        lines = _lines(file)
        if lines and lines[0].strip().isdigit() and not _may_be_server(int(lines[0]), here.data):
            file.unlink(missing_ok=True)


def _may_be_server(pid: int, data: Path) -> bool:
    """A server's working directory is its data directory; a zombie has none."""
    try:
        return os.path.samefile(f"/proc/{pid}/cwd", data)
    except FileNotFoundError:
        return not Path("/proc/self/cwd").exists()  # macOS, where all are reaped
    except OSError:
        return True


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text().splitlines()
    except OSError:
        return []
