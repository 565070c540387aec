from typing import Any

import psycopg
from django.db import connection


def connect(name: str, *, within: int = 5) -> psycopg.Connection[Any]:
    """A connection of one's own to Django's database, outside of Django and of its pool, in autocommit.

    For what must live longer than a request or hear notifications. Raises psycopg.OperationalError, after `within`
    seconds at most (two or more, and for each address of the host).
    """
    params = {
        k: v for k, v in connection.get_connection_params().items() if k not in ("pool", "cursor_factory", "context")
    }
    params |= {
        "autocommit": True,
        "prepare_threshold": 0,
        "connect_timeout": within,
        "application_name": f"standmeet {name}",
    }
    return psycopg.connect(**params)
