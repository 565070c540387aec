"""Who is alive on this machine, and what dies with whom."""

import ctypes
import os
import signal
import socket
import sys
from functools import cache
from pathlib import Path


@cache
def machine() -> str:
    """Names what a process id is relative to: this boot of this kernel and, in a container, its own numbering."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _stat(pid: int) -> tuple[str, int] | None:
    """State and start (in clock ticks since boot, which no change of the clock moves); proc(5), /proc/pid/stat."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except (OSError, IndexError):
        return None
    return fields[0], int(fields[19])


def started(pid: int) -> int:
    """With the pid, a process's identity on its machine; 0 where the machine does not tell."""
    stat = _stat(pid)
    return stat[1] if stat else 0


def alive(pid: int, started_at: int) -> bool:
    """Whether the process that had this id and this start still runs (a zombie does not).

    When in doubt it does: its lease decides then.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    stat = _stat(pid)
    return stat is None or (stat[0] != "Z" and started_at in (0, stat[1]))


def stopped(pid: int) -> bool:
    """Whether somebody froze it (SIGSTOP, a debugger)."""
    stat = _stat(pid)
    return stat is not None and stat[0] in "Tt"


def die_with(parent: int) -> None:
    """Have the kernel kill this process when its parent ends, however it ends (prctl(2), PR_SET_PDEATHSIG).

    It is not inherited by forks. Elsewhere than on Linux a worker notices the closed bell pipe instead.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the call
        os._exit(1)
