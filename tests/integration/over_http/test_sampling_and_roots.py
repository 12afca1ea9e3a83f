"""Released clients answer what a workflow asks their model, and tell it their roots: `mcp` 1.30 and `mcp` 2.3."""

import json
from typing import Any, Final

import pytest
from mcp.client import Client
from mcp_types import CreateMessageRequestParams, CreateMessageResult, ListRootsResult, Root, TextContent
from pydantic import FileUrl

from stepwire_client import Callbacks
from stepwire_client.extension import Tasks
from tests.integration.over_http.legacy import LegacyClient

Json = dict[str, Any]
QUESTION: Final = "What is the capital of France?"
ROOT: Final = "file:///home/alice/project"
TEXT: Final[Json] = {"type": "text", "text": "Paris."}
SAMPLED: Final[Json] = {"role": "assistant", "model": "a model", "content": TEXT}
OUTPUT: Final[Json] = {"said": "Paris.", "roots": [ROOT]}
ARGUMENTS: Final = json.dumps({"question": QUESTION})
ROOTS: Final = ["--roots", json.dumps({"roots": [{"uri": ROOT}]})]


def samples(*results: Json) -> list[str]:
    return ["--samples", json.dumps(results)]


def prompts(seen: Json) -> list[str]:
    """List what the model was asked."""
    return [one["messages"][0]["content"]["text"] for one in seen["asked"] if one != "roots/list"]


# T30, M44
@pytest.mark.parametrize("scenario", ["call", "call_as_a_task"])
def test_mcp_1_answers_on_the_stream(own_legacy_client: LegacyClient, scenario: str) -> None:
    seen = own_legacy_client(scenario, "ask_client", ARGUMENTS, *samples(SAMPLED), *ROOTS)

    assert seen["result"]["structuredContent"] == OUTPUT
    assert prompts(seen) == [QUESTION]
    assert seen["asked"].count("roots/list") == 1


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({**SAMPLED, "role": "user"}, id="a wrong role"),
        pytest.param({**SAMPLED, "content": {**TEXT, "text": "x" * 20_000}}, id="too large", marks=pytest.mark.long),
    ],
)
def test_mcp_1_is_asked_again_after_nonsense(own_legacy_client: LegacyClient, wrong: Json) -> None:
    seen = own_legacy_client("call_as_a_task", "ask_client", ARGUMENTS, *samples(wrong, SAMPLED), *ROOTS)

    assert seen["result"]["structuredContent"] == OUTPUT
    assert prompts(seen) == [QUESTION] * 2


def test_mcp_1_that_declares_neither_is_asked_neither(own_legacy_client: LegacyClient) -> None:
    seen = own_legacy_client("call", "ask_client", ARGUMENTS)

    assert seen["asked"] == []
    assert seen["result"]["isError"]
    assert "Stepwire.InputNotSupported" in seen["result"]["content"][0]["text"]


class Host:
    """A host of `mcp` 2.3 with a model and a folder, and how often each was asked for."""

    def __init__(self, *, role: str = "assistant") -> None:
        self.roles = [role, "assistant"]
        self.asked: list[str] = []

    async def sample_for_call(self, context: object, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Answer what a call asks the model."""
        return await self.sample(params)

    async def sample(self, params: CreateMessageRequestParams) -> CreateMessageResult:
        """Answer what a task asks the model."""
        (message,) = params.messages
        assert isinstance(message.content, TextContent)
        self.asked.append(message.content.text)
        role = self.roles.pop(0)
        return CreateMessageResult(role=role, model="a model", content=TextContent(type="text", text="Paris."))  # pyright: ignore[reportArgumentType] - a wrong role is what some tests give

    async def list_roots(self, context: object) -> ListRootsResult:
        """Tell the roots to a call."""
        self.asked.append("roots")
        return ListRootsResult(roots=[Root(uri=FileUrl(ROOT))])

    async def roots(self) -> list[Root]:
        """Tell the roots to a task."""
        return list((await self.list_roots(None)).roots)


async def called(url: str, host: Host, *, as_task: bool, mode: str = "auto") -> Any:
    extensions = [Tasks(Callbacks(sample=host.sample, roots=host.roots))] if as_task else None
    async with Client(
        url,
        mode=mode,
        extensions=extensions,
        sampling_callback=host.sample_for_call,
        list_roots_callback=host.list_roots,
    ) as client:
        return await client.call_tool("ask_client", {"question": QUESTION})


# M43, M44, X15
@pytest.mark.anyio
@pytest.mark.parametrize(
    ("as_task", "mode"),
    [(True, "auto"), (False, "auto"), (False, "legacy")],
    ids=["tasks/update", "rounds", "2025-11-25"],
)
async def test_mcp_2_answers(own_url: str, mode: str, *, as_task: bool) -> None:
    host = Host()

    result = await called(own_url, host, as_task=as_task, mode=mode)

    assert result.structured_content == OUTPUT
    assert sorted(host.asked) == sorted([QUESTION, "roots"])


@pytest.mark.anyio
@pytest.mark.parametrize("as_task", [True, False], ids=["tasks/update", "rounds"])
async def test_mcp_2_is_asked_again_after_nonsense(own_url: str, *, as_task: bool) -> None:
    host = Host(role="user")

    result = await called(own_url, host, as_task=as_task)

    assert result.structured_content == OUTPUT
    assert host.asked.count(QUESTION) == 2
