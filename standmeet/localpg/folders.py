"""Folders and files that belong to the server's account."""

import os
import stat
import tempfile
from pathlib import Path

from .account import Account, user_name
from .errors import ELSEWHERE, LocalPostgresError


def make_parents(path: Path) -> None:
    """Make a folder that the server's account can walk through, whatever root's umask."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)


def own_folder(path: Path, account: Account) -> None:
    """A 0700 folder of the account's: made, or found to be so."""
    if not os.path.lexists(path):
        # Made and given away under another name: several processes may come first.
        fresh = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        account.give(fresh)
        try:
            fresh.rename(path)
        except OSError:
            fresh.rmdir()
    check_owner(path, account)


def check_owner(path: Path, account: Account) -> None:
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise LocalPostgresError(f"{path} should be a folder: remove it, or {ELSEWHERE}.")
    if found.st_uid != account.uid:
        owner = user_name(found.st_uid)
        raise LocalPostgresError(
            f"{path} belongs to {owner}, and Postgres would run as {account.name}: "
            f"run as {owner} or root, or remove it (its data is lost), or {ELSEWHERE}."
        )


def open_file(path: Path, account: Account) -> int:
    """A file descriptor; the file is made where there is none."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    if account.is_other:
        os.fchown(fd, account.uid, account.gid)
    return fd
