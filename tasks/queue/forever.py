import logging
import time
from collections.abc import Callable

import psycopg
from django.db import InterfaceError, OperationalError, connection

log = logging.getLogger("standmeet.tasks")
# What a lost or refused connection raises, through Django and without it. Anything else is a bug, and ends a process.
NO_DATABASE = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


def is_lost(error: BaseException) -> bool:
    """Whether the database session is gone, as against a statement that was refused (a time-out, a deadlock).

    Postgres, "PostgreSQL Error Codes": class 08, and 57P01 to 57P05; without a code, it is the client's own word.
    """
    if not isinstance(error, NO_DATABASE):
        return False
    code = getattr(error if isinstance(error, psycopg.Error) else error.__cause__, "sqlstate", None)
    return code is None or code.startswith(("08", "57P"))


def forever(do: Callable[[], None], pause: float = 0.3) -> None:
    """Begin `do` again each time it fails for want of a database; ends when it returns."""
    while True:
        try:
            return do()
        except NO_DATABASE as error:
            log.warning("the database does not answer (%s): trying again", str(error).strip())
            connection.close()
            time.sleep(pause)
