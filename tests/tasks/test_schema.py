from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

import jsonschema
import pytest

from tasks.declare import Caller, Operation
from tasks.queue.states import State
from tasks.schema import input_schema, plain, result_schema


@dataclass(frozen=True)
class Part:
    """One of several."""

    at: datetime | None
    state: State


@dataclass(frozen=True)
class Whole:
    id: Annotated[UUID, "who it is"]
    parts: list[Part]
    counts: dict[str, int]
    word: Literal["one", "two"]
    took: timedelta
    args: dict[str, Any]


def take(
    by: Caller,
    *,
    thing_id: int,
    word: Literal["one", "two"] | None = None,
    limit: Annotated[int, "1 to 5"] = 5,
    sure: bool = False,
) -> Whole:
    raise NotImplementedError


OPERATION = Operation("things.take", take, "Take a thing", "probe.view_effect")
WHOLE = Whole(
    UUID(int=1), [Part(None, State.PENDING), Part(datetime.now(UTC), State.RUNNING)], {"a": 1}, "one", timedelta(1), {}
)


def test_the_input_is_what_the_signature_says() -> None:
    schema = input_schema(OPERATION)

    assert schema["required"] == ["id"]
    assert schema["properties"]["word"] == {"type": "string", "enum": ["one", "two"]}
    assert schema["properties"]["limit"] == {"type": "integer", "description": "1 to 5", "default": 5}
    for good in ({"id": 1}, {"id": "1", "word": "two", "limit": 3, "sure": True}):
        jsonschema.validate(good, schema)
    for bad in ({}, {"id": "x"}, {"id": 1, "word": "three"}, {"id": 1, "more": 2}, {"id": 1, "sure": "yes"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_a_result_has_the_schema_of_its_dataclass() -> None:
    schema = result_schema(OPERATION)

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(plain(WHOLE), schema)
    assert schema["properties"]["parts"]["items"]["description"] == "One of several."
    assert "description" not in schema
    assert schema["properties"]["id"]["description"] == "who it is"


def test_a_result_of_two_shapes_is_an_object_either_way() -> None:
    def either(by: Caller) -> Whole | Part:
        raise NotImplementedError

    schema = result_schema(Operation("things.either", either, "Either", "probe.view_effect"))

    assert schema["type"] == "object"
    jsonschema.validate(plain(WHOLE), schema)
    jsonschema.validate(plain(WHOLE.parts[1]), schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"job_ids": [1]}, schema)


def test_a_result_without_a_shape_is_refused() -> None:
    def bare(by: Caller) -> dict[str, int]:
        raise NotImplementedError

    with pytest.raises(TypeError, match="not a dataclass"):
        result_schema(Operation("things.bare", bare, "Bare", "probe.view_effect"))
