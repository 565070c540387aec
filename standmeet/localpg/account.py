"""Who the server runs as."""

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import ELSEWHERE, LocalPostgresError


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int

    @property
    def name(self) -> str:
        return user_name(self.uid)

    @property
    def is_other(self) -> bool:
        return self.uid != os.geteuid()

    def run_as(self) -> dict[str, Any]:
        """Arguments for subprocess.run()."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.is_other else {}

    def give(self, path: Path) -> None:
        if self.is_other:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def may_execute(self, path: Path) -> bool:
        """Could it run this program, or enter this folder, or its nearest parent that exists?

        Read off the mode bits and not tried in a subprocess, because every import of the settings asks.
        """
        if not self.is_other:
            return True
        while not path.exists():
            path = path.parent
        real = path.resolve()  # the links on the way are walked through, too
        return all(self._has_execute_bit(p) for p in {path, *path.parents, real, *real.parents})

    def _has_execute_bit(self, path: Path) -> bool:
        found = path.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid == self.gid:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:  # a container's arbitrary uid
        return f"uid {uid}"


def server_account(base: Path) -> Account:
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    for data in sorted(base.glob("pg*/data")):
        owner = data.stat()
        if owner.st_uid != 0:
            return Account(owner.st_uid, owner.st_gid)
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise LocalPostgresError(
        f"Postgres cannot run as root, and there is no user `postgres` or `nobody`: add one, or {ELSEWHERE}."
    )
