"""One statement a file, each opened by a line that says what it does."""

from functools import cache
from pathlib import Path
from typing import Any, LiteralString

import psycopg
from django.db import connection

Row = tuple[Any, ...]
# Planned each time: how many rows it takes is a parameter, and a plan for any number would read the whole table.
UNPREPARED = {"complete_and_claim_hand"}


@cache
def statement(name: str) -> LiteralString:
    text: LiteralString = Path(__file__).with_name(f"{name}.sql").read_text()
    return text


def start(name: str, params: dict[str, Any]) -> psycopg.Cursor[Any]:
    """psycopg's cursor binds parameters on the server; Django's own would merge them into the text."""
    connection.ensure_connection()
    cursor = psycopg.Cursor(connection.connection)
    cursor.execute(statement(name), params, prepare=False if name in UNPREPARED else None)
    return cursor


def run(name: str, **params: Any) -> list[Row]:
    """Run the statement `name` on Django's connection of this thread, in its transaction if there is one; its rows."""
    with connection.wrap_database_errors:
        return start(name, params).fetchall()


def do(name: str, **params: Any) -> None:
    """The same for a statement whose rows, if any, are of no interest."""
    with connection.wrap_database_errors:
        start(name, params)
