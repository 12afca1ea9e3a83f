"""A client that creates tasks for the questions it gets, and resumes a stream on which it is asked about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tests.kits import SAMPLED, SAMPLING, World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, LegacyClient
from tests.server.messages import ACCEPT, questions

REQUESTS: Final[Json] = {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}
CAPABILITIES: Final[Json] = {
    **ASKING_CAPABILITY,
    "sampling": {},
    "roots": {},
    "tasks": {"cancel": {}, "requests": REQUESTS},
}
ASKED: Final[Mapping[str, Json | None]] = {"elicitation": None, "sampling": {"sampling": SAMPLING}}
ANSWERS: Final[Mapping[str, Json]] = {"elicitation": ACCEPT, "sampling": SAMPLED}
KINDS: Final = tuple(ASKED)
ITS_TASK: Final = "the-client's-task"
TIMES: Final[Json] = {"createdAt": "2026-11-22T09:00:00Z", "lastUpdatedAt": "2026-11-22T09:00:00Z", "ttl": 60_000}
UNKNOWN: Final[Json] = {"code": -32602, "message": "Failed to retrieve task: Task not found"}


def told(status: str, task_id: str = ITS_TASK, **more: Any) -> Json:
    """Return the status of a client's task, as the client sends it."""
    return {"taskId": task_id, "status": status, **TIMES, **more}


@dataclass
class Host:
    """A client that resumes one stream; the test sends its answers."""

    client: LegacyClient
    latest: Answer
    messages: list[Json] = field(default_factory=list[Json])

    def come_back(self) -> list[Json]:
        """Resume, and return the messages of the next body."""
        self.latest = self.client.resume(self.latest.last_event_id, opened_by=self.latest.request)
        self.messages.extend(self.latest.messages)
        return self.latest.messages

    def is_asked(self) -> Json:
        """Resume, and return the one request of the body."""
        (asked,) = (one for one in self.come_back() if "method" in one and "id" in one)
        return asked

    def says(self, request: Json, result: Json) -> None:
        """Answer a request."""
        assert self.client.respond(request, result=result).status == 202

    def fails(self, request: Json, error: Json) -> None:
        """Answer a request with an error."""
        assert self.client.respond(request, error=error).status == 202


@dataclass(frozen=True)
class Scene:
    """A task that asks, and the client that gets the question."""

    host: Host
    task_id: str
    token: str
    question: Json


def asked(world: World, client: LegacyClient, kind: str = "elicitation", *, seconds: float = 0) -> Scene:
    task_id = client.start()
    token = world.ask(task_id, "it", other=ASKED[kind], seconds=seconds)
    host = Host(client, client.task("result", task_id))
    (question,) = questions(host.latest.messages)
    return Scene(host, task_id, token, question)


def deferred(world: World, client: LegacyClient, kind: str = "elicitation", **created: Any) -> Scene:
    scene = asked(world, client, kind)
    scene.host.says(scene.question, {"task": told("working", **created)})
    return scene


def ended(world: World, client: LegacyClient, kind: str = "elicitation", status: str = "completed") -> Scene:
    scene = deferred(world, client, kind)
    scene.host.says(scene.host.is_asked(), told(status))
    return scene
