"""The rules of AgentCore Gateway for the tools of an MCP server, and the inputs of the recipe in docs/agentcore.md.

A Gateway rejects a target whose tools have references in their schemas. `test_agentcore_tasks` calls through it.
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import botocore.session
import pytest
from botocore.validate import ParamValidator

from stepwire.catalog.tools import read_catalog
from stepwire.manifests.reading import compile_directory
from stepwire_cli.publish.agentcore import Grant, Wanted, target
from stepwire_cli.sign_in.facts import Guard, Resource, Site
from tests.adopted import write_manifests
from tests.docs.pages import ROOT, page
from tests.kits import World
from tests.server.clients import LegacyClient, ModernClient

Json = dict[str, Any]
REFUSED: Final = frozenset({"$ref", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor"})
"""Keywords with which the Gateway fails to create or synchronize a target."""
VERSIONS: Final = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""The versions of MCP that it supports."""
GATEWAY, TARGET = (json.loads(block) for block in page(ROOT / "docs/agentcore.md").blocks("json"))
"""The inputs of the recipe."""


def tools_shown(version: str) -> list[Json]:
    """List the compiled tools of the tests to a client of a version that has no tasks."""
    with TemporaryDirectory() as folder:
        catalog = read_catalog(compile_directory(write_manifests(Path(folder))), {})
    world = World(catalog=catalog)
    if version == "2026-07-28":
        return ModernClient(world, capabilities={}).ask("tools/list").result["tools"]
    return LegacyClient.opened(world, version).ask("tools/list").result["tools"]


def keywords(value: object) -> set[str]:
    """Return the names of all members of a JSON value, at any depth."""
    if isinstance(value, list):
        return set[str]().union(*map(keywords, cast(list[object], value)))
    if not isinstance(value, dict):
        return set()
    members = cast(Json, value)
    return set(members).union(*map(keywords, members.values()))


@pytest.mark.parametrize("version", VERSIONS)
def test_no_tool_has_a_keyword_that_a_gateway_rejects(version: str) -> None:
    tools = tools_shown(version)

    assert {"approve_refund", "task_result"} <= {tool["name"] for tool in tools}
    assert {tool["name"]: keywords(tool) & REFUSED for tool in tools} == {tool["name"]: set() for tool in tools}


def test_a_reference_at_any_depth_is_found() -> None:
    assert keywords({"anyOf": [{"properties": {"a": {"$ref": "#"}}}]}) & REFUSED == {"$ref"}


@pytest.mark.parametrize(("operation", "given"), [("CreateGateway", GATEWAY), ("CreateGatewayTarget", TARGET)])
def test_the_inputs_of_the_recipe_are_valid_for_the_api(operation: str, given: Json) -> None:
    service = botocore.session.get_session().get_service_model("bedrock-agentcore-control")
    shape = service.operation_model(operation).input_shape
    assert shape is not None

    report: Any = ParamValidator().validate(given, shape)

    assert report.has_errors() is False, report.generate_report()
    assert set(GATEWAY["protocolConfiguration"]["mcp"]["supportedVersions"]) <= set(VERSIONS)


def test_the_command_prints_the_target_of_the_recipe() -> None:
    resource = Resource(
        "https://ENDPOINT/.well-known/oauth-protected-resource/mcp", "https://ENDPOINT/mcp", (), ("SCOPE",)
    )
    site = Site("https://ENDPOINT/mcp", Guard.ASKS, resource=resource)

    printed = target(site, Wanted("GATEWAY_ID", "stepwire", "PROVIDER_ARN", Grant.EXCHANGE))

    assert printed.document == TARGET
