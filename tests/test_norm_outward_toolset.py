"""What AI clients are offered: the golden file, in which a change of any name, text or schema shows.

To write it anew: ./run mcp --tools > tests/golden/tools.json
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from tests.ai import ERAS, WebProcess, over_http, over_stdio, with_client

pytestmark = pytest.mark.django_db(transaction=True)

GOLDEN = json.loads((Path(__file__).parent / "golden/tools.json").read_text())
PRODUCT = "standmeet.settings"  # without the operations that only the tests declare
NAMES = {"dotted": lambda name: name, "underscored": lambda name: name.replace(".", "_")}


def golden(names: str) -> list[dict[str, Any]]:
    return [{**tool, "name": NAMES[names](tool["name"])} for tool in GOLDEN]


async def listed(client: Any) -> list[dict[str, Any]]:
    tools = (await client.list_tools()).tools
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("names", NAMES)
def test_a_client_over_http_lists_the_golden_tools(owner, tmp_path, names, mode) -> None:
    from accounts.models import ApiToken

    token = ApiToken.objects.issue(owner_id=owner.pk, name="AI", scopes=["*"], at=timezone.now(), ends=None)
    web = WebProcess(tmp_path / "log", settings=PRODUCT, MCP_TOOL_NAMES=names)
    try:
        assert with_client(over_http(web.url, token.text, mode), listed) == golden(names)
    finally:
        web.stop()


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("names", NAMES)
def test_a_client_over_stdio_lists_the_golden_tools(owner, names, mode) -> None:
    assert with_client(over_stdio(mode, PRODUCT, MCP_TOOL_NAMES=names), listed) == golden(names)


@pytest.mark.parametrize("tool", GOLDEN, ids=lambda tool: tool["name"])
def test_every_tool_says_what_it_is_takes_and_gives(tool) -> None:
    assert len(tool["description"]) > 20
    assert tool["title"]
    for schema in (tool["inputSchema"], tool["outputSchema"]):
        assert schema["type"] == "object"
    assert tool["inputSchema"]["additionalProperties"] is False
    assert tool["outputSchema"]["properties"]
    assert {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} <= set(tool["annotations"])


def test_strict_clients_accept_the_names_with_underscores() -> None:
    names = [tool["name"] for tool in golden("underscored")]

    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
