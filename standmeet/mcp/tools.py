"""An operation as a tool, and the names by which it is called."""

import json
from functools import cache
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from mcp import types

from tasks import registry
from tasks.declare import Caller, Operation
from tasks.perform import allowed, in_scope
from tasks.schema import input_schema, result_schema


def offered() -> list[Operation]:
    return sorted((op for op in registry.operations().values() if "mcp" in op.faces), key=lambda op: op.name)


def offered_to(by: Caller) -> list[Operation]:
    """What this caller may call; only that is listed."""
    return [op for op in offered() if allowed(op, by.user) and in_scope(op, by)]


def underscored(op: Operation) -> str:
    return op.name.replace(".", "_")


def listed_name(op: Operation) -> str:
    return underscored(op) if settings.MCP_TOOL_NAMES == "underscored" else op.name


@cache
def named() -> dict[str, Operation]:
    """The operations by either form of their names: a call may use both, whichever is listed."""
    found = {underscored(op): op for op in offered()}
    if len(found) != len(offered()):
        raise ImproperlyConfigured("Two operations have the same name once dots are underscores.")
    return found | {op.name: op for op in offered()}


def tool(op: Operation) -> types.Tool:
    return types.Tool(
        name=listed_name(op),
        title=op.title,
        description=f"{op.summary}. {op.details}".strip(),
        input_schema=input_schema(op),
        output_schema=result_schema(op),
        annotations=types.ToolAnnotations(
            title=op.title,
            read_only_hint=op.reads,
            destructive_hint=op.destructive,
            idempotent_hint=op.reads or op.repeatable,
            open_world_hint=op.outside,
        ),
    )


def as_json(tools: list[types.Tool]) -> str:
    """Every tool with its name, texts and schemas, as tests/golden/tools.json keeps them."""
    wire: list[Any] = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]
    return json.dumps(wire, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
