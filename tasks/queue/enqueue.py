from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.db import transaction
from psycopg.types.json import Jsonb

from tasks import registry
from tasks.declare import TaskKind
from tasks.queue import sql


class UnknownKind(LookupError):
    pass


def enqueue(kind: TaskKind, args: Any, *, key: str | None = None, delay: timedelta = timedelta()) -> int:
    """Add a task of `kind` and return its id; it joins the caller's transaction, and with it may never have existed.

    `args` is an instance of `kind.args`. With `key` (200 characters at most), on a kind that declares `unique`, the
    id of the task that already holds the key is returned instead: for "once", for as long as that row is kept; for
    "while_pending", while it is pending, in which case it is not claimed before the caller's transaction ends, so
    that its handler sees what the caller wrote. The task is due `delay` after the statement. contract.md, section 2.

    Raises UnknownKind for a kind that the catalog does not declare, TypeError for arguments of another type, and
    ValueError for a key on a kind without `unique`, and for a kind with `unique` without a key.
    """
    if registry.kinds().get(kind.name) is not kind:
        raise UnknownKind(f"{kind.name} is not in the catalog")
    if type(args) is not kind.args:
        raise TypeError(f"{kind.name} takes {kind.args.__name__}, not {type(args).__name__}")
    if (key is None) != (kind.unique is None):
        raise ValueError(f"{kind.name} takes {'a' if kind.unique else 'no'} key")
    new = {
        "kind": kind.name,
        "queue": kind.queue,
        "args": Jsonb(asdict(args)),
        "key": key,
        "scope": kind.unique,
        "attempts": kind.attempts,
        "delay": delay.total_seconds(),
    }
    with transaction.atomic():
        while True:  # ends: the holder of a key either is found, or has gone and left the key free
            if kind.unique == "while_pending" and (held := sql.run("find_pending", kind=kind.name, key=key)):
                return int(held[0][0])
            if added := sql.run("enqueue", **new):
                return int(added[0][0])
            if kind.unique == "once" and (held := sql.run("find_once", kind=kind.name, key=key)):
                return int(held[0][0])
