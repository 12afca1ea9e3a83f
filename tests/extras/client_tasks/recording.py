"""For tests/upgrades: a task whose client has made tasks of its questions."""

from typing import Final

from stepwire.catalog.tools import Tool
from stepwire.json_text import JsonObject
from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient
from tests.server.messages import questions
from tests.upgrades.recording import ACCEPT, TOOL, Scenario, Scene, modern

TOOLS: Final[tuple[Tool, ...]] = ()
MANIFESTS: Final[dict[str, JsonObject]] = {}


def asking_a_client_with_tasks(world: World) -> Scene:
    """Three questions that a client has made tasks of: one goes on, one has ended, and one is not wanted any more."""
    tasks: Json = {"cancel": {}, "requests": {"elicitation": {"create": {}}}}
    client = LegacyClient.opened(world, capabilities={**ASKING_CAPABILITY, "tasks": tasks})
    task_id = client.start(TOOL.name)
    for key in ("first", "second", "third"):
        world.ask(task_id, key)
    stream = client.task("result", task_id)
    made: Json = {"createdAt": "", "lastUpdatedAt": "", "ttl": None, "pollInterval": 500}
    for asked, status in zip(questions(stream.messages), ("working", "completed", "working"), strict=True):
        client.respond(asked, result={"task": {"taskId": f"task-of-{asked['id'][-1]}", "status": status, **made}})
    modern(world).update(task_id, {"third": ACCEPT})
    return Scene(task_id, {"session": client.session, "event_id": stream.last_event_id})


SCENARIOS: Final[tuple[Scenario, ...]] = (asking_a_client_with_tasks,)
