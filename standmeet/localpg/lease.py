"""Who uses the server, and who stops it.

A process is a user from its first ensure_running() to its end: it holds a shared flock on the file `users`. At exit
it tries for the exclusive lock, and whoever gets it was the last and stops the server. A process that was killed, or
ended by SIGTERM without a handler, only drops its lock: the server stays, and the next user finds it and stops it.

Forks. A flock belongs to the open file description, which a child shares with its parent: left alone, an idle child
would keep a dead parent's lock, and a parent could turn the common lock exclusive and stop the server under its
children. So a child closes its copy at once (which does not unlock the parent's) and is no user. If it connects, and
it has to connect anew after a fork, it takes a lock of its own, so that nobody stops the server under it; but it
never stops the server itself, whether it leaves by sys.exit() or os._exit(): workers come and go.

    parent killed, children live on     those that connected keep the server; it stays after them, for the next user
    parent ends, children live on       the same; if none has connected the server stops, and starts again when one does
    children end or are killed          nothing happens: the parent is the user, so a supervisor calls ensure_running()
"""

import atexit
import fcntl
import os
import threading
from pathlib import Path

from . import server
from .errors import LocalPostgresError, explained
from .folders import check_owner, make_parents, open_file, own_folder
from .layout import Place, place
from .locks import acquire, switching


class Lease:
    """This process's use of the server."""

    def __init__(self) -> None:
        self.mutex = threading.RLock()
        self._users: int | None = None
        self._forked = False
        self._registered = False
        self._over = False

    def ensure_running(self) -> None:
        """Return when the server takes connections. Cheap if it does already: call it before every connection."""
        with self.mutex, explained():
            if self._over:
                # A daemon thread whose connection the stop has cut would otherwise start the server again.
                raise LocalPostgresError("This process is ending and has given up its use of Postgres.")
            here = place()
            self._take(here)
            if server.running(here):
                return
            with switching(here):
                if not server.running(here):
                    server.start(here)

    def _take(self, here: Place) -> None:
        file = here.folder / "users"
        if self._users is not None:
            if _is_open_as(self._users, file):
                return
            os.close(self._users)  # someone has removed the folder and with it the file
            self._users = None
        make_parents(here.folder.parent)
        own_folder(here.folder, here.account)
        users = open_file(file, here.account)
        if not acquire(users, fcntl.LOCK_SH):
            os.close(users)
            raise LocalPostgresError(f"A process that is stopping Postgres holds {file}: end it, and try again.")
        self._users = users
        if not self._registered and not self._forked:
            atexit.register(self.leave)
            self._registered = True

    def leave(self) -> None:
        with self.mutex:
            self._over = True
            if self._users is None or self._forked:
                return
            try:
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self.stop()
            except BlockingIOError:
                pass  # somebody else still uses it
            finally:
                os.close(self._users)
                self._users = None

    def stop(self) -> bool:
        """Stop the server, whoever uses it; false if it was not running. The next connection starts it again."""
        here = place()
        with self.mutex, explained():
            if not here.folder.exists():
                return False
            check_owner(here.folder, here.account)
            with switching(here):
                return server.stop(here)

    def forget(self) -> None:
        """In a forked child, whose only thread holds the mutex since before the fork."""
        if self._users is not None:
            os.close(self._users)
        self._users, self._forked = None, True
        self.mutex.release()


def _is_open_as(fd: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), file.stat())
    except FileNotFoundError:
        return False


_lease = Lease()
ensure_running = _lease.ensure_running
stop = _lease.stop
# The mutex is held over a fork, so that no child is born while another thread holds the lock `starting`:
# the child would share that lock, and keep it.
os.register_at_fork(before=_lease.mutex.acquire, after_in_parent=_lease.mutex.release, after_in_child=_lease.forget)
