"""Where things are."""

import functools
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from . import binaries
from .account import Account, server_account
from .errors import LocalPostgresError

NAME = "standmeet"  # the role, the database, and the prefix of folders outside the checkout
ROOT = Path(__file__).resolve().parents[2]
SOCKET = ".s.PGSQL.5432"
LONGEST_SOCKET_FOLDER = 80  # sun_path holds 104 bytes on macOS, 108 on Linux, and Postgres adds its file's name


@dataclass(frozen=True)
class Place:
    folder: Path
    sockets: Path
    binaries: Path
    version: str
    account: Account

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"


@functools.cache
def place() -> Place:
    """Looked up once per process; touches nothing but the cache of version numbers."""
    programs = binaries.find()
    base, account = _base()
    number = binaries.version(programs, base)
    folder = base / f"pg{binaries.major(number)}"
    found = Place(folder, _socket_folder(folder, account), programs, number, account)
    for path in (found.folder, found.binaries):
        if set('"$`\\\n') & set(str(path)):  # pg_ctl puts both between double quotes in a shell command
            raise LocalPostgresError(f"pg_ctl cannot cope with the name of {path}: rename it, or set LOCALPG_DIR.")
    return found


def _base() -> tuple[Path, Account]:
    chosen = os.environ.get("LOCALPG_DIR")
    base = (ROOT / (chosen or ".local")).resolve()
    account = server_account(base)
    if account.may_execute(base):
        return base, account
    if chosen:
        raise LocalPostgresError(
            f"LOCALPG_DIR={chosen} cannot be reached by the user {account.name}, as whom Postgres has to run because "
            f"you are root: choose a folder whose parents others may enter (chmod o+x), or run as another user."
        )
    base = Path("/var/lib") / f"{NAME}-{_digest(base)}"
    return base, server_account(base)


def _socket_folder(folder: Path, account: Account) -> Path:
    sockets = folder / "s"
    # libpq takes a comma in the host for the end of one and the beginning of another, whatever the quotes.
    if len(os.fsencode(sockets)) <= LONGEST_SOCKET_FOLDER and "," not in str(sockets):
        return sockets
    # Not TMPDIR: all processes have to agree, and so have root and the owner of the data.
    return Path("/tmp") / f"{NAME}-{account.uid}-{_digest(folder)}"  # noqa: S108 (0700, and its owner is checked)


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:10]
