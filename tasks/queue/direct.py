from typing import Any

import psycopg
from django.db import connection


def connect(name: str) -> psycopg.Connection[Any]:
    """A connection of one's own to Django's database, outside of Django and of its pool, in autocommit.

    For what must live longer than a request or hear notifications. Raises psycopg.OperationalError.
    """
    params = {
        k: v for k, v in connection.get_connection_params().items() if k not in ("pool", "cursor_factory", "context")
    }
    params |= {
        "autocommit": True,
        "prepare_threshold": 0,
        "connect_timeout": 5,
        "application_name": f"standmeet {name}",
    }
    return psycopg.connect(**params)
