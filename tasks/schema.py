"""An operation's input and result as JSON Schema (2020-12), from its annotations; and its result as JSON values."""

import enum
import inspect
import types
import typing
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from django.db.models import Model

from tasks.declare import Operation
from tasks.perform import alternatives, inputs, public_names

Schema = dict[str, Any]


@cache
def input_schema(operation: Operation) -> Schema:
    """An object without further properties. An id is taken as a number or as text; null stands for a default."""
    hints = typing.get_type_hints(operation.run, include_extras=True)
    public = public_names(operation.run)
    properties, required = {}, []
    for name, (_, parameter) in inputs(operation.run).items():
        shown = schema(without_none(hints[name]))
        if public[name] == "id" and shown.get("type") == "integer":
            whole = {"type": "integer", "minimum": 1}
            shown = described({"anyOf": [whole, {"type": "string", "pattern": "^[0-9]+$"}]}, shown.get("description"))
        if parameter.default is inspect.Parameter.empty:
            required.append(public[name])
        elif parameter.default is not None:
            shown = {**shown, "default": parameter.default}
        properties[public[name]] = shown
    found = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {key: value for key, value in found.items() if value != []}


def without_none(wanted: Any) -> Any:
    options = [option for option in alternatives(wanted) if option is not type(None)]
    return typing.Union[tuple(options)] if options else wanted  # noqa: UP007 (made of a tuple)


@cache
def result_schema(operation: Operation) -> Schema:
    """Of the dataclass that the operation is annotated to return, or of several: a receipt is another one, say.

    Raises TypeError for anything else.
    """
    returned = typing.get_type_hints(operation.run).get("return")
    if not all(is_dataclass(option) for option in alternatives(returned)):
        raise TypeError(f"{returned} is not a dataclass")
    return {"type": "object", **schema(returned)}


def schema(wanted: Any) -> Schema:
    """Of a plain type, a dataclass, or a list, tuple, dict or union of these. Raises TypeError where it knows none."""
    origin, args = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is typing.Annotated:
        return described(schema(args[0]), next((said for said in args[1:] if isinstance(said, str)), None))
    if origin in (types.UnionType, typing.Union):
        options = [schema(option) for option in alternatives(wanted)]
        return {"anyOf": options} if len(options) > 1 else options[0]  # a list of types is not read by every client
    if origin is typing.Literal:
        return {"type": "string", "enum": list(args)}
    if origin in (list, tuple, set, frozenset):
        return {"type": "array", "items": schema(args[0])}
    if origin is dict:
        return {"type": "object", "additionalProperties": schema(args[1])}
    if is_dataclass(wanted):
        return of_dataclass(wanted)
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return {"type": "string", "enum": [str(member.value) for member in wanted]}
    if wanted in PLAIN:
        return dict(PLAIN[wanted])
    raise TypeError(f"there is no JSON Schema for {wanted}")


PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: {"type": "number"},
    type(None): {"type": "null"},
    datetime: {"type": "string", "format": "date-time"},
    date: {"type": "string", "format": "date"},
    timedelta: {"type": "number", "description": "seconds"},
    UUID: {"type": "string", "format": "uuid"},
    dict: {"type": "object"},
    Any: {},
    object: {},
}


def of_dataclass(wanted: Any) -> Schema:
    hints = typing.get_type_hints(wanted, include_extras=True)
    properties = {field.name: schema(hints[field.name]) for field in fields(wanted)}
    found = {"type": "object", "properties": properties, "required": list(properties)}
    generated = f"{wanted.__name__}("  # the docstring that @dataclass writes where there is none
    said = inspect.getdoc(wanted) or ""
    return described(found, None if said.startswith(generated) else said)


def described(found: Schema, said: str | None) -> Schema:
    return {**found, "description": said} if said else found


def plain(result: Any) -> Any:
    """A result as JSON values: times in ISO 8601, spans in seconds, a row as its id and name."""
    if is_dataclass(result) and not isinstance(result, type):
        return {field.name: plain(getattr(result, field.name)) for field in fields(result)}
    if isinstance(result, dict):
        return {str(key): plain(value) for key, value in result.items()}
    if isinstance(result, list | tuple | set | frozenset):
        return [plain(value) for value in result]
    if isinstance(result, Model):
        return {"id": result.pk, "is": str(result)}
    if isinstance(result, datetime | date):
        return result.isoformat()
    if isinstance(result, timedelta):
        return result.total_seconds()
    if isinstance(result, enum.Enum):
        return plain(result.value)
    return str(result) if isinstance(result, UUID | Decimal) else result
