"""Clients whose models fetch results by tools, and what they read in them."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.json_text import JsonObject
from stepwire.rendering import UNFINISHED_TASK
from tests.kits import ALICE, BOB, OPTIONAL, World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient

Client = LegacyClient | ModernClient
ASKING: Final = replace(OPTIONAL, name="asking", model_may_answer=True)
OWN: Final = ["task_answer", "task_cancel", "task_list", "task_result"]
BOUND: Final = timedelta(seconds=15)
RIGHT: Final[Json] = {"amount": 7}
NEXT_STEP: Final = re.compile(r"Next: call (\w+) with (\{.*?\}+)[.,]")


def without_tasks(world: World, era: str, owner: object = ALICE) -> Client:
    principal = BOB if owner is BOB else ALICE
    if era == "modern":
        return ModernClient(world, principal, capabilities={})
    return LegacyClient.opened(world, owner=principal, name="Visual Studio Code")


def names(answer: Answer) -> list[str]:
    return [tool["name"] for tool in answer.result["tools"]]


def started(world: World, tool: str = "optional") -> str:
    """Start a task and let nobody wait for it."""
    return world.call(world.catalog.tools[tool]).task_id


def wait(world: World, seconds: float) -> None:
    """Let time pass."""
    world.clock.time += timedelta(seconds=seconds)


def asking_client(world: World) -> LegacyClient:
    """Return a client of 2025-11-25 that comes back for its responses and can ask its user."""
    return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, name="mcp")


def question_in(answer: Answer) -> Json:
    """Return the question that a result shows to a model."""
    return answer.result["structuredContent"][UNFINISHED_TASK]["question"]


def client_started(world: World, client: Client) -> str:
    """Let a client without tasks call the tool that asks, and give the id in its unfinished result."""
    result = result_of(client, "asking", {"text": "hello"})
    assert not result.get("isError")
    return str(result["structuredContent"][UNFINISHED_TASK]["taskId"])


def result_of(client: Client, tool: str, arguments: JsonObject) -> Json:
    """Call a tool as a client's library does, which goes on by itself in rounds (MRTR)."""
    result = client.call(tool, arguments).result
    while result.get("resultType") == "input_required":
        assert isinstance(client, ModernClient)
        result = client.call(tool, arguments, more={"requestState": result["requestState"]}).result
    return result


def once(action: Callable[[], object]) -> Callable[[], object]:
    """Return a function that acts at its first call only."""
    left = [action]

    def act() -> None:
        if left:
            left.pop()()

    return act


def on_first_sleep(world: World, action: Callable[[], object]) -> None:
    """Act once, while the server waits."""
    world.clock.on_sleep = once(action)
