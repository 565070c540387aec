import logging
import time
from collections.abc import Callable

import psycopg
from django.db import InterfaceError, OperationalError, connection

log = logging.getLogger("standmeet.tasks")
# What a lost or refused connection raises, through Django and without it. Anything else is a bug, and ends a process.
NO_DATABASE = (OperationalError, InterfaceError, psycopg.OperationalError, psycopg.InterfaceError)


def forever(do: Callable[[], None], pause: float = 0.3) -> None:
    """Begin `do` again each time it fails for want of a database; ends when it returns."""
    while True:
        try:
            return do()
        except NO_DATABASE as error:
            log.warning("the database does not answer (%s): trying again", str(error).strip())
            connection.close()
            time.sleep(pause)
