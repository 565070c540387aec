"""The one front door to operations: permission, input, call."""

import inspect
import types
import typing
from functools import cache
from typing import Any

from tasks.declare import PUBLIC, Caller, Operation
from tasks.errors import BadInput, NotAllowed

TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def allowed(operation: Operation, user: Any) -> bool:
    """Whether this user may try the operation at all; which rows it reaches is another question."""
    if operation.permission == PUBLIC:
        return True
    return bool(user and user.is_active and user.has_perm(operation.permission))


def in_scope(operation: Operation, by: Caller) -> bool:
    """Whether the caller's scopes, where they are limited, include the operation. Write includes read."""
    return by.scopes is None or not by.scopes.isdisjoint({"*", operation.scope, f"{operation.group}:write"})


def perform(operation: Operation, by: Caller, /, **given: Any) -> Any:
    """Call the operation with checked input and return what it returns; it has committed then.

    Input may come as text from any face and is turned into what the operation's signature says. Raises NotAllowed,
    BadInput (naming each field), and whatever Refused the operation itself raises.
    """
    if not allowed(operation, by.user):
        raise NotAllowed(f"You may not do this: {operation.summary[0].lower()}{operation.summary[1:]}.")
    if not in_scope(operation, by):
        raise NotAllowed(f"{operation.name} needs the scope {operation.scope}, which this token does not have.")
    return operation.run(by, **read_input(operation, given))


@cache
def inputs(run: Any) -> dict[str, tuple[Any, inspect.Parameter]]:
    """The operation's keyword parameters with their types."""
    hints = typing.get_type_hints(run)
    parameters = list(inspect.signature(run).parameters.values())[1:]
    return {p.name: (hints[p.name], p) for p in parameters}


@cache
def public_names(run: Any) -> dict[str, str]:
    """What each input is called outside: the only needed one that ends in _id is the `id`."""
    names = inputs(run)
    ids = [n for n, (_, p) in names.items() if n.endswith("_id") and p.default is inspect.Parameter.empty]
    return {name: "id" if [name] == ids and "id" not in names else name for name in names}


def read_input(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    """The input as the signature wants it. Either name of an id is taken; None stands for what has a default."""
    known, public = inputs(operation.run), public_names(operation.run)
    inner = {outer: name for name, outer in public.items()}
    found = {inner.get(name, name): value for name, value in given.items()}
    wrong: dict[str, str] = {str(name): "is not an input of this operation" for name in found.keys() - known.keys()}
    read = {}
    for name, (wanted, parameter) in known.items():
        optional = parameter.default is not inspect.Parameter.empty
        if name in found and not (optional and found[name] is None):
            try:
                read[name] = convert(found[name], wanted)
            except ValueError as error:
                wrong[public[name]] = str(error)
        elif not optional:
            wrong[public[name]] = "is needed"
    if wrong:
        sentence = "; ".join(f"{name} {what}" for name, what in sorted(wrong.items()))
        raise BadInput(f"{operation.name}: {sentence}.", wrong)
    return read


def alternatives(wanted: Any) -> tuple[Any, ...]:
    """The members of a union type; the type itself where it is none."""
    return typing.get_args(wanted) if typing.get_origin(wanted) in (types.UnionType, typing.Union) else (wanted,)


def convert(value: Any, wanted: Any) -> Any:
    """The value as the wanted type (str, int, bool, Literal texts, or one of these or None).

    Raises ValueError, which says what it must be.
    """
    options = alternatives(wanted)
    if value is None and type(None) in options:
        return None
    [plain] = [option for option in options if option is not type(None)]
    if typing.get_origin(plain) is typing.Literal:
        if value not in typing.get_args(plain):
            raise ValueError(f"must be one of {', '.join(typing.get_args(plain))}")
        return value
    if plain is bool:
        text = str(value).strip().lower()
        if text not in TRUE + FALSE:
            raise ValueError("must be true or false")
        return text in TRUE
    if plain is int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one sort of number
        try:
            number = int(str(value).strip()) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is None or abs(number) >= 2**63:
            raise ValueError("must be a whole number")
        return number
    if plain is str:
        if not isinstance(value, str):
            raise ValueError("must be text")
        if "\0" in value:
            raise ValueError("must not contain NUL characters")
        if any("\ud800" <= c <= "\udfff" for c in value):
            raise ValueError("must be valid Unicode text")
        return value
    raise TypeError(f"operations take str, int, bool and Literal, not {wanted}")
