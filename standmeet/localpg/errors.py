import sys
from collections.abc import Iterator
from contextlib import contextmanager

ELSEWHERE = "set LOCALPG_DIR to a folder of your own on a local disk, or DATABASE_URL to use another server"


class LocalPostgresError(RuntimeError):
    """The private server cannot be had, in a sentence that says what to do."""


if sys.platform == "win32":
    raise LocalPostgresError("The private Postgres needs Unix (flock, Unix sockets): on Windows set DATABASE_URL.")


@contextmanager
def explained() -> Iterator[None]:
    """Turn the system's refusals about our own files into advice."""
    try:
        yield
    except OSError as e:
        if e.filename is None:
            raise
        owner = "run as its owner, or " if isinstance(e, PermissionError) else ""
        raise LocalPostgresError(f"{e.strerror}: {e.filename}. To do: {owner}{ELSEWHERE}.") from e
