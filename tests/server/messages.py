"""What tests do and compare again and again: messages of a stream, what a workflow received, and calls of clients."""

import json
from collections.abc import Callable, Iterable
from typing import Any, Final

from stepwire.json_text import load_json
from tests.kits import World
from tests.server.answers import Answer, Json
from tests.server.clients import LegacyClient, ModernClient

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


# ------------------------------------------------------------------------------------------------------------- clients

ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}
DECLINE: Json = {"action": "decline"}


def shown(client: ModernClient, task_id: str) -> Json:
    """Read a task with tasks/get."""
    return client.task("get", task_id).result


def own(result: Json) -> Json:
    """Return a result without the members that every modern result has."""
    return {name: value for name, value in result.items() if name not in {"resultType", "_meta"}}


def plain_call(client: LegacyClient, tool: str = "optional", **more: Any) -> tuple[Answer, str]:
    """Call a tool without a task; return the first body and the id of the task."""
    answer = client.call(tool, **more)
    return answer, client.ask("tasks/list").result["tasks"][0]["taskId"]


def again(client: ModernClient, answer: Answer, responses: Json | None = None, **more: Any) -> Answer:
    """Repeat a call with the requestState of the last answer."""
    given: Json = {} if responses is None else {"inputResponses": responses}
    return client.call("optional", more={"requestState": answer.result["requestState"], **given}, **more)


def on_sleep(world: World, sleep: int, happens: Callable[[], object]) -> None:
    """Run `happens` in the nth sleep from now."""
    due = len(world.clock.slept) + sleep
    world.clock.on_sleep = lambda: happens() if len(world.clock.slept) == due else None
