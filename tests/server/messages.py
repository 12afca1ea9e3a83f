"""What tests look for: messages of a stream, and what a workflow received."""

import json
from collections.abc import Iterable
from typing import Any, Final

from stepwire.json_text import load_json
from tests.kits import World
from tests.server.answers import Json

CONFIRMING: Final[Json] = {"action": "accept", "content": {"reason": "It is old."}}
"""The answer that confirms a call of the tool that asks before it begins."""
QUESTIONS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
"""The methods by which a server asks."""
_SCHEMA: Final[Json] = {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 20}}}
CONFIRMATION: Final[Json] = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": 'Really do "hello"?', "requestedSchema": _SCHEMA},
}
"""What that tool asks."""
CONFIRMED_INPUT: Final[Json] = {"text": "hello", "confirmation": {"reason": "It is old."}}
"""What its workflow then begins with."""


def of(messages: Iterable[Json], method: str) -> list[Json]:
    """Choose the parameters of the messages of one method."""
    return [message["params"] for message in messages if message.get("method") == method]


def questions(messages: Iterable[Json]) -> list[Json]:
    """Choose what is asked."""
    return [message for message in messages if message.get("method") in QUESTIONS]


def progress_of(messages: Iterable[Json]) -> list[float]:
    """Choose how far the work was, each time that it was told."""
    return [params["progress"] for params in of(messages, "notifications/progress")]


def answers_of(world: World) -> dict[str, Any]:
    """Return what the states that waited went on with, by their tokens; None where they failed."""
    return {one.token: load_json(one.output or "null") for one in world.workflows.resumptions}


def failures_of(world: World) -> dict[str, str | None]:
    """Return the errors that the states which waited failed with, by their tokens; None where they went on."""
    return {one.token: one.error for one in world.workflows.resumptions}


def only_task(world: World) -> str:
    """Return the id of the one task whose workflow runs: a plain call does not tell it."""
    (execution,) = world.workflows.running()
    return execution.name.rpartition("-")[2]


def inputs_of(world: World) -> list[Json]:
    """Return the inputs of all executions that were begun."""
    return [json.loads(start.input_text) for start in world.workflows.starts]
