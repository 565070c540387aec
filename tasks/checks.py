"""System checks that refuse an unsound catalog at start."""

import inspect
import typing
from collections import Counter
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from tasks import registry
from tasks.declare import PUBLIC, Catalog, Happened, Nothing
from tasks.perform import alternatives, inputs
from tasks.schema import result_schema

PLAIN = {str, int, bool, type(None)}

SHORTEST = timedelta(minutes=1)  # of a period


@register()
def catalog_is_sound(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    catalog = registry.catalog()
    found = [
        *names(catalog),
        *kinds(catalog),
        *served(catalog),
        *subscriptions(catalog),
        *operations(catalog),
        *periodic(catalog),
    ]
    return [Error(text, id=f"tasks.{number}") for number, text in found]


def served(catalog: Catalog) -> Iterator[tuple[str, str]]:
    told = [*((k.name, k.args, k.serves) for k in catalog.kinds), *((e.name, e.data, e.serves) for e in catalog.events)]
    for name, carried, serves in told:
        if serves and serves.field and serves.field not in carried.__dataclass_fields__:
            yield "E022", f"{name!r} serves a row by {serves.field!r}, which it does not carry."


def names(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for label, entries in (
        ("event", catalog.events),
        ("kind", catalog.kinds),
        ("operation", catalog.operations),
        ("periodic work", catalog.periodic),
    ):
        for name, n in Counter(entry.name for entry in entries).items():
            if n > 1:
                yield "E001", f"The {label} {name!r} is declared {n} times."


def kinds(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for kind in catalog.kinds:
        if not is_dataclass(kind.args):
            yield "E002", f"The arguments of kind {kind.name!r} must be a dataclass."
        if kind.queue not in settings.QUEUES:
            yield "E003", f"The kind {kind.name!r} runs on {kind.queue!r}, which is not a queue."
        if kind.attempts < 1 or kind.limit.total_seconds() <= 0 or not kind.backoff.steps:
            yield "E004", f"The kind {kind.name!r} needs at least one attempt, a time limit and a backoff."
        if kind.quick and (kind.settle or kind.attempts < 2):
            yield "E021", f"The kind {kind.name!r} is quick, so it may have no settle and needs a second attempt."
        for path in filter(None, (kind.handler, kind.settle)):
            try:
                registry.resolve(path)
            except ImportError as error:
                yield "E005", f"The kind {kind.name!r} names {path!r}, which cannot be imported: {error}"


def subscriptions(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for subscription in catalog.subscriptions:
        event, kind = subscription.event, subscription.kind
        if event not in catalog.events:
            yield "E006", f"There is a subscription to {event.name!r}, an event that nobody declares."
        if kind not in catalog.kinds:
            yield "E007", f"A subscription runs {kind.name!r}, a kind that nobody declares."
        if kind.args is not Happened:
            yield "E008", f"The kind {kind.name!r} subscribes to {event.name!r}, so its argument must be Happened."


def operations(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for op in catalog.operations:
        if not op.permission:
            yield "E009", f"The operation {op.name!r} asks for no permission; say PUBLIC where that is meant."
        if op.permission != PUBLIC and "." not in op.permission:
            yield "E009", f"The operation {op.name!r} asks for {op.permission!r}, which is not app.permission."
        try:
            taken = inputs(op.run)
        except (KeyError, NameError, TypeError) as error:
            yield "E010", f"The operation {op.name!r} has an input without a type: {error}"
            continue
        for name, (wanted, parameter) in taken.items():
            if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
                yield "E011", f"The operation {op.name!r} takes {name!r} by position; inputs are keywords."
            if not all(plain in PLAIN or typing.get_origin(plain) is typing.Literal for plain in alternatives(wanted)):
                yield "E012", f"The operation {op.name!r} takes {name!r}, which is not str, int, bool or Literal."
        if "mcp" in op.faces:
            try:
                result_schema(op)
            except (TypeError, NameError) as error:
                yield "E023", f"The operation {op.name!r} has the face mcp, and a result without a schema: {error}"
        if op.on:
            try:
                model = apps.get_model(op.on)
            except (LookupError, ValueError):
                yield "E013", f"The operation {op.name!r} acts on {op.on!r}, which is not a model."
            else:
                if not hasattr(model, "allows"):
                    yield "E014", f"{op.on!r} must say what it `allows`, since {op.name!r} acts on it."


def periodic(catalog: Catalog) -> Iterator[tuple[str, str]]:
    for work in catalog.periodic:
        kind = work.kind
        if kind not in catalog.kinds:
            yield "E015", f"The periodic work {work.name!r} runs {kind.name!r}, a kind that nobody declares."
        if kind.args is not Nothing or kind.unique != "while_pending":
            yield "E016", f"The kind {kind.name!r} runs by the clock: it takes Nothing, and is unique while_pending."
        if kind.queue != "maintenance" or kind.attempts != 1:
            yield "E017", f"The kind {kind.name!r} runs by the clock: on the queue maintenance, with one attempt."
        if work.every < max(SHORTEST, kind.limit):
            yield "E018", f"The period of {work.name!r} is shorter than a minute, or than its kind's time limit."
        if not work.summary:
            yield "E019", f"The periodic work {work.name!r} does not say what it does."
    for kind_name, n in Counter(work.kind.name for work in catalog.periodic).items():
        if n > 1:
            yield "E020", f"The kind {kind_name!r} serves {n} periodic works; each needs one of its own."
