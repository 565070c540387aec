"""Looks things up by name in the project's catalog (settings.CATALOG, a dotted path)."""

from collections.abc import Callable
from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from tasks.declare import Catalog, EventType, Operation, Periodic, TaskKind


@cache
def catalog() -> Catalog:
    found: Catalog = import_string(settings.CATALOG)
    return found


@cache
def kinds() -> dict[str, TaskKind]:
    return {kind.name: kind for kind in catalog().kinds}


@cache
def quick_kinds() -> list[str]:
    return [kind.name for kind in catalog().kinds if kind.quick]


@cache
def event_types() -> dict[str, EventType]:
    return {event.name: event for event in catalog().events}


@cache
def operations() -> dict[str, Operation]:
    return {operation.name: operation for operation in catalog().operations}


@cache
def subscribers(event: str) -> tuple[TaskKind, ...]:
    return tuple(s.kind for s in catalog().subscriptions if s.event.name == event)


@cache
def periodic() -> dict[str, Periodic]:
    return {work.name: work for work in catalog().periodic}


@cache
def periodic_kinds() -> frozenset[str]:
    return frozenset(work.kind.name for work in catalog().periodic)


@cache
def resolve(path: str) -> Callable[..., Any]:
    found: Callable[..., Any] = import_string(path)
    return found


def operations_on(model: str, *, face: str) -> list[Operation]:
    return [op for op in operations().values() if op.on == model and face in op.faces]


def forget() -> None:
    """Read the catalog anew (settings.CATALOG was changed by a test)."""
    for cached in (catalog, kinds, quick_kinds, event_types, operations, subscribers, periodic, periodic_kinds):
        cached.cache_clear()
