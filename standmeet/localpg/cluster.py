"""Making a cluster (Postgres's word for a data directory and its server)."""

import shutil
import sys
import tempfile
from pathlib import Path

from .errors import ELSEWHERE, LocalPostgresError
from .layout import NAME, Place
from .programs import run


def make_cluster(here: Place) -> None:
    """A data directory with our role and database: all of it or nothing."""
    # A new name each time: an initdb whose parent was killed goes on writing in its own.
    for old in here.folder.glob("new-*"):
        shutil.rmtree(old, ignore_errors=True)
    new = Path(tempfile.mkdtemp(prefix="new-", dir=here.folder))
    here.account.give(new)
    code, said = run(
        here, "initdb", "-D", new, "-U", NAME, "--auth=trust", "--encoding=UTF8", *_locale(), "--no-instructions"
    )
    if code:
        raise LocalPostgresError(f"initdb failed with code {code}. Try again, or {ELSEWHERE}. It said:\n{said}")
    # Here and not after the start: a process killed in between would leave a server without the database.
    code, said = run(here, "postgres", "--single", "-D", new, "template1", typed=f"CREATE DATABASE {NAME}\n")
    if code or "ERROR:" in said:
        raise LocalPostgresError(f"The database could not be made. Try again, or {ELSEWHERE}. Postgres said:\n{said}")
    new.rename(here.data)


def _locale() -> list[str]:
    """Sort by code point; know the letters of all languages, which text search asks of LC_CTYPE."""
    if sys.platform == "darwin":  # has no C.UTF-8
        return ["--locale=C", "--lc-ctype=en_US.UTF-8"]
    return ["--locale=C.UTF-8"]
