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


def perform(operation: Operation, by: Caller, **given: Any) -> Any:
    """Call the operation with checked input and return what it returns; it has committed then.

    Input may come as text from any face and is turned into what the operation's signature says. Raises NotAllowed,
    BadInput (naming each field), and whatever Refused the operation itself raises.
    """
    if not allowed(operation, by.user):
        raise NotAllowed(f"You may not do this: {operation.summary[0].lower()}{operation.summary[1:]}.")
    return operation.run(by, **read_input(operation, given))


@cache
def inputs(run: Any) -> dict[str, tuple[Any, inspect.Parameter]]:
    """The operation's keyword parameters with their types."""
    hints = typing.get_type_hints(run)
    parameters = list(inspect.signature(run).parameters.values())[1:]
    return {p.name: (hints[p.name], p) for p in parameters}


def read_input(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    known = inputs(operation.run)
    wrong: dict[str, str] = dict.fromkeys(given.keys() - known.keys(), "is not an input of this operation")
    read = {}
    for name, (wanted, parameter) in known.items():
        if name in given:
            try:
                read[name] = convert(given[name], wanted)
            except ValueError as error:
                wrong[name] = str(error)
        elif parameter.default is inspect.Parameter.empty:
            wrong[name] = "is needed"
    if wrong:
        sentence = "; ".join(f"{name} {what}" for name, what in sorted(wrong.items()))
        raise BadInput(f"{operation.name}: {sentence}.", wrong)
    return read


def convert(value: Any, wanted: Any) -> Any:
    """The value as the wanted type (str, int, bool, or one of these or None); ValueError says what it must be."""
    options = typing.get_args(wanted) if isinstance(wanted, types.UnionType) else (wanted,)
    if value is None and type(None) in options:
        return None
    [plain] = [option for option in options if option is not type(None)]
    if plain is bool:
        text = str(value).strip().lower()
        if text not in TRUE + FALSE:
            raise ValueError("must be true or false")
        return text in TRUE
    if plain is int:
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
    raise TypeError(f"operations take str, int and bool, not {wanted}")
