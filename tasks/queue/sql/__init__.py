"""One statement a file, each opened by a line that says what it does."""

from functools import cache
from pathlib import Path
from typing import Any, cast

import psycopg
from django.db import connection
from psycopg.abc import Query

Row = tuple[Any, ...]


@cache
def statement(name: str) -> Query:
    return cast(Query, Path(__file__).with_name(f"{name}.sql").read_text())


def run(name: str, **params: Any) -> list[Row]:
    """Run the statement `name` on Django's connection of this thread, in its transaction if there is one.

    Django's own cursor merges parameters into the text, so that nothing could be prepared; psycopg's binds them on
    the server and prepares where the connection allows it (workers do).
    """
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = psycopg.Cursor(connection.connection)
        cursor.execute(statement(name), params, prepare=True)
        return cursor.fetchall() if cursor.description else []
