"""Starting and stopping the server. Callers hold the lock `starting`."""

import os
import socket
import time

from .cluster import make_cluster
from .errors import ELSEWHERE, LocalPostgresError
from .folders import check_owner, open_file, own_folder
from .layout import SOCKET, Place
from .options import command_line
from .pidfile import is_ready, remove_stale_files
from .programs import run

LEFTOVERS = ("pre-existing shared memory block", 'lock file "')
PATIENCE = 30.0  # seconds, for processes of a killed server to go
LONGEST_LOG = 8 * 2**20


def running(here: Place) -> bool:
    """Does it take connections? Both are asked: a killed server leaves its pid file, a starting one listens."""
    return is_ready(here) and _listening(here)


def _listening(here: Place) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(here.sockets / SOCKET))
        except OSError:
            return False
    return True


def start(here: Place) -> None:
    own_folder(here.sockets, here.account)
    if here.data.exists():
        check_owner(here.data, here.account)
    else:
        make_cluster(here)
    _trim_log(here)
    deadline = time.monotonic() + PATIENCE
    while not running(here):
        remove_stale_files(here)
        before = here.log.stat().st_size
        code, said = run(
            here, "pg_ctl", "start", "-D", here.data, "-l", here.log, "-w", "-t", "120", "-o", command_line(here)
        )
        if code == 0:
            return
        logged = here.log.read_bytes()[before:].decode(errors="replace")
        # After a kill -9 the old server's children take a moment to notice; and a starter that was killed
        # may have left a pg_ctl that is still at it.
        if not any(sign in logged for sign in LEFTOVERS) or time.monotonic() > deadline:
            raise LocalPostgresError(_what_to_do(here, said + logged[-2000:]))
        time.sleep(0.1)


def _trim_log(here: Place) -> None:
    if here.log.exists() and here.log.stat().st_size > LONGEST_LOG:
        here.log.replace(here.log.with_name("log.old"))
    os.close(open_file(here.log, here.account))


def _what_to_do(here: Place, said: str) -> str:
    if any(sign in said for sign in LEFTOVERS):
        advice = f"Processes of an earlier server on {here.data} are still alive: end them, and try again."
    else:
        advice = f"Read {here.log}; remove {here.folder} to begin afresh (its data is lost), or {ELSEWHERE}."
    return f"Postgres did not start. {advice}\n{said}"


def stop(here: Place) -> bool:
    """Was there one to stop? Its connections are cut (fast mode): the caller's own may be open at exit."""
    # pg_ctl would trust the pid file alone, and signal whoever has that number since a crash.
    if not _listening(here):
        return False
    code, said = run(here, "pg_ctl", "stop", "-D", here.data, "-m", "fast", "-w", "-t", "120")
    if code and _listening(here):
        raise LocalPostgresError(f"Postgres did not stop; read {here.log}. pg_ctl said:\n{said}")
    return True
