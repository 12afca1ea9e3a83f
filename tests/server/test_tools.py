"""How tools are listed, and the result of a plain call."""

import json
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import OWN_TOOLS, TASK_TOOLS
from stepwire.errors import StartRefused
from stepwire.json_text import write
from stepwire.schemas.validation import violations_of
from stepwire.server.eras import TOOLS_PAGE_SIZE
from tests.kits import BAD_ARGUMENTS, BOB, OPTIONAL, OUTPUT, World, catalog_of
from tests.server.clients import LegacyClient, ModernClient, nothing_happened

Client = LegacyClient | ModernClient
VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of either era without tasks."""
    return LegacyClient(world) if request.param == "legacy" else ModernClient(world, capabilities={})


def ends(world: World, output: Any) -> None:
    """End every running execution successfully while a client waits for it."""

    def end() -> None:
        for execution in world.workflows.running():
            world.workflows.succeed(execution, output)
        world.deliver()

    world.clock.on_sleep = end


def patient(client: Client, tool: str) -> Any:
    """Call a tool, and repeat the call as long as the server asks for another round."""
    result = client.call(tool).result
    while isinstance(client, ModernClient) and result["resultType"] == "input_required":
        result = client.call(tool, more={"requestState": result["requestState"]}).result
    return result


# M33, M35, L17
def test_the_tools_are_listed_in_the_order_of_their_names(client: Client, world: World) -> None:
    tools = client.ask("tools/list").result["tools"]

    # The server's own tools for clients without tasks come last (test_fetch_tools.py).
    assert [tool["name"] for tool in tools] == [*sorted(world.catalog.tools), *sorted(TASK_TOOLS)]
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools)


# M33, M22
def test_the_list_is_the_same_for_all_callers_and_does_not_change(world: World, modern: ModernClient) -> None:
    before = modern.ask("tools/list").body

    modern.call("optional")
    after = ModernClient(world, BOB).ask("tools/list").body

    assert before == after


# T3, T4, T6
def test_the_latest_legacy_version_lists_which_tools_can_be_tasks(legacy: LegacyClient) -> None:
    tools = legacy.ask("tools/list").result["tools"]

    support = {tool["name"]: tool["execution"]["taskSupport"] for tool in tools}

    assert {"optional": "optional", "required": "required", "forbidden": "forbidden"}.items() <= support.items()


# L3
@pytest.mark.parametrize("version", VERSIONS[1:])
def test_older_versions_list_no_task_support(world: World, version: str) -> None:
    tools = LegacyClient(world, version).ask("tools/list").result["tools"]

    assert not any("execution" in tool for tool in tools)


# M36: legacy clients reject a whole list that contains a schema of something else than an object
@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"type": ["object", "null"]}, {"anyOf": [{"type": "object"}]}, {"$ref": "#/$defs/a"}]
)
def test_an_output_schema_that_legacy_does_not_allow_is_shown_to_modern_clients_only(schema: dict[str, Any]) -> None:
    tool = replace(OPTIONAL, output_schema=write({**schema, "$defs": {"a": {"type": "object"}}}))
    world = World(catalog=catalog_of(tool))

    legacy, *_ = LegacyClient(world).ask("tools/list").result["tools"]
    modern, *_ = ModernClient(world).ask("tools/list").result["tools"]

    assert "outputSchema" not in legacy
    assert modern["outputSchema"] == {**schema, "$defs": {"a": {"type": "object"}}}


# M40, L18, M32
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_many_tools_are_listed_in_pages(era: type[Client]) -> None:
    names = [f"tool_{number:03}" for number in range(2 * TOOLS_PAGE_SIZE + 1)]
    client = era(World(catalog=catalog_of(*(replace(OPTIONAL, name=name) for name in names))))

    # Stepwire's own tools are on the last page.
    own = sorted(TASK_TOOLS) if isinstance(client, LegacyClient) else ["task_list"]
    last = 1 + len(own)
    pages = [client.ask("tools/list").result]
    while "nextCursor" in pages[-1]:
        pages.append(client.ask("tools/list", {"cursor": pages[-1]["nextCursor"]}).result)

    assert [len(page["tools"]) for page in pages] == [TOOLS_PAGE_SIZE, TOOLS_PAGE_SIZE, last]
    assert [tool["name"] for page in pages for tool in page["tools"]] == [*names, *own]
    assert len({page.get("cacheScope") for page in pages}) == 1


# M40
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_a_cursor_with_characters_of_another_alphabet_is_refused(era: type[Client]) -> None:
    client = era(
        World(catalog=catalog_of(*(replace(OPTIONAL, name=f"tool_{at:03}") for at in range(TOOLS_PAGE_SIZE + 1))))
    )
    cursor = client.ask("tools/list").result["nextCursor"]

    for other in (f"{cursor}!!!!", f"{cursor[:3]}\n\n\n\n{cursor[3:]}"):
        assert client.ask("tools/list", {"cursor": other}).code == -32602


# M40, M33
@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_a_list_continues_although_the_tool_of_its_cursor_was_removed(era: type[Client]) -> None:
    tools = [replace(OPTIONAL, name=f"tool_{number:03}") for number in range(TOOLS_PAGE_SIZE + 2)]
    cursor = era(World(catalog=catalog_of(*tools))).ask("tools/list").result["nextCursor"]
    fewer = World(catalog=catalog_of(*tools[: TOOLS_PAGE_SIZE - 1], *tools[TOOLS_PAGE_SIZE:]))

    rest = era(fewer).ask("tools/list", {"cursor": cursor}).result["tools"]

    assert [tool["name"] for tool in rest if tool["name"] not in OWN_TOOLS] == ["tool_100", "tool_101"]


@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_no_page_of_large_tools_exceeds_the_response_size_of_lambda(era: type[Client]) -> None:
    large = write({"type": "object", "description": "x" * 30_000})
    names = [f"tool_{number:03}" for number in range(TOOLS_PAGE_SIZE)]
    tools = [replace(OPTIONAL, name=name, description="é" * 10_000, input_schema=large) for name in names]
    client = era(World(catalog=catalog_of(*tools)))

    pages = [client.ask("tools/list").result]
    while "nextCursor" in pages[-1]:
        pages.append(client.ask("tools/list", {"cursor": pages[-1]["nextCursor"]}).result)

    assert max(len(json.dumps(page)) for page in pages) < 6 * 1024 * 1024
    listed = [tool["name"] for page in pages for tool in page["tools"]]
    assert [name for name in listed if name not in OWN_TOOLS] == names
    assert len(pages) > 1


# M37, L17, G
@pytest.mark.parametrize("name", ["no_such_tool", "Optional", "", " optional", "tools/call", "a" * 10_000])
def test_an_unknown_tool_is_a_protocol_error(client: Client, world: World, name: str) -> None:
    answer = client.call(name)

    assert (answer.status, answer.code) == (200 if isinstance(client, LegacyClient) else 400, -32602)
    assert len(answer.error["message"]) < 300
    assert nothing_happened(world)


# M37
@pytest.mark.parametrize("params", [{}, {"name": None}, {"name": 7}, {"name": "optional", "arguments": [1]}])
def test_invalid_params_of_a_call_are_a_protocol_error(client: Client, world: World, params: dict[str, Any]) -> None:
    answer = client.ask("tools/call", params)

    assert answer.code == -32602
    assert "params." in answer.error["message"]
    assert nothing_happened(world)


# M37, M38
@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        (BAD_ARGUMENTS, "/count"),
        ({"text": 7}, "/text"),
        ({}, "the top level"),
        ({"text": "a", "extra/~": 1}, "the top level"),
    ],
)
def test_arguments_that_violate_the_schema_are_a_tool_error_that_a_model_can_correct(
    client: Client, world: World, arguments: dict[str, Any], pointer: str
) -> None:
    answer = client.call("optional", arguments)

    assert answer.result["isError"] is True
    assert f"at {pointer}:" in answer.text
    assert nothing_happened(world)


# M37, X5
def test_a_modern_client_with_tasks_gets_no_task_for_bad_arguments(modern: ModernClient, world: World) -> None:
    answer = modern.call("required", BAD_ARGUMENTS)

    assert (answer.result["resultType"], answer.result["isError"]) == ("complete", True)
    assert nothing_happened(world)


# T7: a CallToolResult is no valid answer to a request for a task
def test_bad_arguments_of_a_legacy_task_are_a_protocol_error(legacy: LegacyClient, world: World) -> None:
    answer = legacy.call("optional", BAD_ARGUMENTS, task={})

    assert answer.code == -32602
    assert "/count" in answer.error["message"]
    assert nothing_happened(world)


# T6, X4, M36
@pytest.mark.parametrize("tool", ["optional", "forbidden", "structured"])
def test_a_plain_call_waits_and_returns_the_result(client: Client, world: World, tool: str) -> None:
    ends(world, OUTPUT)

    result = client.call(tool).result

    assert result["structuredContent"] == OUTPUT
    assert result["content"] == [{"type": "text", "text": '{"answer":42}'}]
    assert result["isError"] is False


# T6: the call has a task, so nothing is lost
def test_a_call_that_takes_too_long_names_its_running_task(client: Client, world: World) -> None:
    result = patient(client, "optional")

    task_id = result["_meta"]["stepwire/task"]["taskId"]
    world.succeed(task_id, OUTPUT)

    assert task_id in result["content"][0]["text"]
    assert result["isError"] is False
    assert LegacyClient(world).task("result", task_id).result["structuredContent"] == OUTPUT


# M36
@pytest.mark.parametrize("tool", ["structured", "optional"])
def test_the_unfinished_result_of_a_call_conforms_to_the_listed_output_schema(client: Client, tool: str) -> None:
    shown = {one["name"]: one.get("outputSchema", {}) for one in client.ask("tools/list").result["tools"]}

    result = patient(client, tool)

    assert result["isError"] is False
    assert result["_meta"]["stepwire/task"].items() <= result["structuredContent"]["stepwire/task"].items()
    assert violations_of(write(shown[tool]), result["structuredContent"]) == ()


# M36
def test_content_that_violates_the_output_schema_is_not_sent(client: Client, world: World) -> None:
    ends(world, {"answer": "forty-two"})

    result = client.call("structured").result

    assert result["isError"] is True
    assert "structuredContent" not in result
    assert "/answer" in result["content"][0]["text"]


# M36
@pytest.mark.parametrize("output", [[1, 2], "text", 7, True])
def test_content_that_is_not_an_object_is_structured_for_modern_clients_only(world: World, output: Any) -> None:
    ends(world, output)

    legacy = LegacyClient(world).call("optional").result
    modern = ModernClient(world, capabilities={}).call("optional").result

    assert "structuredContent" not in legacy
    assert modern["structuredContent"] == output
    assert legacy["content"] == modern["content"] == [{"type": "text", "text": write(output)}]


# M37, T18, X11
def test_a_failed_workflow_is_a_tool_error_that_a_model_can_act_on(client: Client, world: World) -> None:
    def fail() -> None:
        world.workflows.fail(world.workflows.running()[0], "NoSuchCity", "Atlantis is not on the map")
        world.deliver()

    world.clock.on_sleep = fail

    result = client.call("optional").result

    assert result["isError"] is True
    assert result["content"][0]["text"] == "The workflow failed with NoSuchCity: Atlantis is not on the map"


# T34, X21, G
def test_a_workflow_that_cannot_be_started_is_an_internal_error_and_no_task(client: Client, world: World) -> None:
    world.workflows.start_fault = StartRefused("its state machine no longer exists")

    answer = client.call("optional")

    assert (answer.status, answer.code) == (200, -32603)
    assert "no longer exists" in answer.error["message"]
    assert world.store.tasks == {}


# M19
def test_a_tool_that_needs_a_capability_names_it(world: World) -> None:
    without, declaring = ModernClient(world), ModernClient(world, capabilities={"elicitation": {}})

    refused = without.call("eliciting")
    served = declaring.call("eliciting")

    assert (refused.status, refused.code) == (400, -32021)
    assert refused.error["data"] == {"requiredCapabilities": {"elicitation": {}}}
    assert served.result["resultType"] == "input_required"


# L3
def test_a_tool_that_needs_a_capability_needs_a_session_that_declares_it(legacy: LegacyClient, world: World) -> None:
    without_session = legacy.call("eliciting")
    without_capability = LegacyClient.opened(world).call("eliciting")
    nothing_yet = nothing_happened(world)
    ends(world, OUTPUT)
    declared = LegacyClient.opened(world, capabilities={"elicitation": {}}).call("eliciting")

    for answer in (without_session, without_capability):
        assert answer.code == -32600
        assert "elicitation" in answer.error["message"]
    assert nothing_yet
    assert declared.result["structuredContent"] == OUTPUT


# M40
def test_the_cursor_of_another_list_is_refused(world: World, client: Client) -> None:
    legacy = LegacyClient(world)
    for _ in range(51):
        legacy.start()
    cursor = legacy.ask("tasks/list").result["nextCursor"]

    answer = client.ask("tools/list", {"cursor": cursor})

    assert answer.code == -32602


# M36, T14, X11: a client could not read a response with a block that its types reject
@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "a", "annotations": 5},
        {"type": "text", "text": "a", "annotations": {"priority": 7}},
        {"type": "text", "text": "a", "annotations": None},
        {"type": "text", "text": "a", "colour": "red"},
        {"type": "image", "data": "### no base64 ###", "mimeType": "image/png"},
        {"type": "resource", "resource": {}},
        {"type": "resource", "resource": {"uri": "file:///a"}},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "a", "blob": "YQ=="}},
        {"type": "resource_link", "uri": "no address", "name": "a"},
        {"type": "resource_link", "uri": "file:///a", "name": "a", "size": "large"},
    ],
)
def test_an_output_that_is_almost_a_tool_result_is_ordinary_data(
    client: Client, world: World, block: dict[str, Any]
) -> None:
    output = {"content": [{"type": "text", "text": "fine"}, block], "isError": False}
    ends(world, output)

    result = client.call("optional").result

    assert result["structuredContent"] == output
    assert result["content"] == [{"type": "text", "text": write(output)}]
