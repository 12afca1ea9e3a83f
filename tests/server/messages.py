"""Extract what tests compare: messages of a stream, and what a workflow received."""

import json
from collections.abc import Iterable
from typing import Any, Final

from stepwire.json_text import load_json
from tests.kits import World
from tests.server.answers import Json

CONFIRMING: Final[Json] = {"action": "accept", "content": {"reason": "It is old."}}
"""The answer that confirms a call of the tool with `confirm`."""
QUESTIONS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})
"""The methods of a server's requests to a client."""
_SCHEMA: Final[Json] = {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 20}}}
CONFIRMATION: Final[Json] = {
    "method": "elicitation/create",
    "params": {"mode": "form", "message": 'Really do "hello"?', "requestedSchema": _SCHEMA},
}
"""The question of the tool with `confirm`."""
CONFIRMED_INPUT: Final[Json] = {"text": "hello", "confirmation": {"reason": "It is old."}}
"""The input of that tool's workflow after the confirmation."""


def of(messages: Iterable[Json], method: str) -> list[Json]:
    """Return the params of the messages with this method."""
    return [message["params"] for message in messages if message.get("method") == method]


def questions(messages: Iterable[Json]) -> list[Json]:
    """Return the requests among the messages."""
    return [message for message in messages if message.get("method") in QUESTIONS]


def progress_of(messages: Iterable[Json]) -> list[float]:
    """Return the progress of each progress notification."""
    return [params["progress"] for params in of(messages, "notifications/progress")]


def answers_of(world: World) -> dict[str, Any]:
    """Return the outputs with which waiting states were resumed, by token; None for a state that failed."""
    return {one.token: load_json(one.output or "null") for one in world.workflows.resumptions}


def failures_of(world: World) -> dict[str, str | None]:
    """Return the errors with which waiting states were resumed, by token; None for a state that got an answer."""
    return {one.token: one.error for one in world.workflows.resumptions}


def only_task(world: World) -> str:
    """Return the id of the only running task, because a plain call does not return the id."""
    (execution,) = world.workflows.running()
    return execution.name.rpartition("-")[2]


def inputs_of(world: World) -> list[Json]:
    """Return the inputs of all executions that were started."""
    return [json.loads(start.input_text) for start in world.workflows.starts]
