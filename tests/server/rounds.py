"""Calls of a modern client that is answered in rounds (MRTR)."""

from collections.abc import Callable
from typing import Any

from tests.kits import World
from tests.server.answers import Answer, Json
from tests.server.clients import (
    ModernClient,
)


def again(client: ModernClient, answer: Answer, responses: Json | None = None, **more: Any) -> Answer:
    """Call again, with what an answer asked to be given back."""
    given: Json = {} if responses is None else {"inputResponses": responses}
    return client.call("optional", more={"requestState": answer.result["requestState"], **given}, **more)


def on_sleep(world: World, sleep: int, happens: Callable[[], object]) -> None:
    """Have something happen in the nth pause from now."""
    due = len(world.clock.slept) + sleep
    world.clock.on_sleep = lambda: happens() if len(world.clock.slept) == due else None
