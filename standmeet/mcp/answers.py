"""What a tool call answers: a result, a refusal that the model can act on, or the reference of a failure."""

import json
import logging
import secrets
from typing import Any

from mcp import types

from tasks.declare import Operation
from tasks.errors import Refused
from tasks.schema import plain

log = logging.getLogger("standmeet.mcp")


def answer(result: Any) -> types.CallToolResult:
    found = plain(result)
    return types.CallToolResult(content=[text(found)], structured_content=found)


def refusal(refused: Refused) -> types.CallToolResult:
    """In band. As text only: what is structured must have the shape of a result, and clients check that."""
    said = {"code": refused.code, "message": str(refused)}
    if fields := getattr(refused, "fields", None):
        said["fields"] = fields
    return types.CallToolResult(content=[text(said)], is_error=True)


def failure(op: Operation) -> types.CallToolResult:
    """For an exception that nobody expected: it is logged here, and only its reference leaves the machine."""
    reference = secrets.token_hex(4)
    log.exception("%s failed (reference %s)", op.name, reference)
    said = f"{op.name} failed unexpectedly. The owner finds the reason in the log by the reference {reference}."
    found = {"code": "failed", "message": said, "reference": reference}
    return types.CallToolResult(content=[text(found)], is_error=True)


def text(found: Any) -> types.TextContent:
    return types.TextContent(type="text", text=json.dumps(found, ensure_ascii=False))
