"""HTTP clients of both eras that follow the poll hint and several tasks each, and record what they see.

The life of a task is a generator that yields the seconds until its next step; so one client follows many tasks with one
request at a time. The oracle of the tests checks every answer.
"""

import heapq
import json
import ssl
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from http import HTTPStatus
from threading import Event, Thread
from typing import Any, Final, Protocol

import httpx

from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import questions

Life = Generator[float]
"""What a client does with a task: yields the seconds until the next step."""
ENDED: Final = frozenset({"completed", "failed", "cancelled"})
_KEY: Final = "words"  # the key of the question, and the field in its form
_TIMEOUT: Final = 60.0
# Shorter than the server's five seconds, so that no client uses a connection that the server is closing.
_KEPT: Final = 2.0
_SSL: Final = ssl.create_default_context()  # one for all, because it is slow to create; nothing here is encrypted


class Kind(Enum):
    """What a client does with a task."""

    POLLED = "polled"
    STREAMED = "streamed"
    """The client resumes a stream (2025-11-25), or listens (2026-07-28)."""
    FAILING = "failing"
    ASKING = "asking"
    """The workflow asks; the client answers when all tasks exist."""
    CANCELLED = "cancelled"
    """The client cancels it when all tasks exist."""


_ENDINGS: Final = {Kind.FAILING: "fails", Kind.CANCELLED: "never"}
"""The given behaviour of the workflow; by default it echoes its message."""


@dataclass
class Story:
    """A task as its client record_status it."""

    client: str
    number: int
    kind: Kind
    words: str
    """The unique text that the workflow gets, or the answer to its question, and that the result must contain."""
    task_id: str = ""
    statuses: list[str] = field(default_factory=list[str])
    """The statuses seen, without repetitions in a row."""
    result: Json = field(default_factory=dict[str, Any])
    """A CallToolResult; empty if there is none."""
    last_status: str = ""
    """The status in a final read after everything else."""

    def record_status(self, status: str) -> None:
        """Record the status of the task."""
        if self.statuses[-1:] != [status]:
            self.statuses.append(status)

    @property
    def tool(self) -> str:
        """Return the name of the tool."""
        return "ask" if self.kind is Kind.ASKING else "work"

    @property
    def arguments(self) -> Json:
        """Return the arguments of the call, without what the workflow asks for."""
        if self.kind is Kind.ASKING:
            return {}
        return {"words": self.words, "ending": _ENDINGS.get(self.kind, "gives_back")}


@dataclass(frozen=True)
class Request:
    """An answered request."""

    method: str
    """The method; `GET` for resuming a stream, `answer` for an answer to the server's request."""
    status: int
    seconds: float
    answered_at: float
    """On the monotonic clock."""


@dataclass(frozen=True)
class Endpoint:
    """The server for one caller, with a record of its requests."""

    url: str
    token: str
    requests: list[Request]
    http: httpx.Client = field(
        default_factory=lambda: httpx.Client(
            verify=_SSL, timeout=_TIMEOUT, limits=httpx.Limits(keepalive_expiry=_KEPT), trust_env=False
        )
    )

    @property
    def server(self) -> "Endpoint":
        """This endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Send a request, and record the time of its answer."""
        method = json.loads(request.body).get("method", "answer") if request.body else request.method
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        begun = time.monotonic()
        answer = self.http.request(request.method, self.url, headers=headers, content=request.body)
        ended = time.monotonic()
        self.requests.append(Request(method, answer.status_code, ended - begun, ended))
        return HttpResponse(answer.status_code, answer.text, dict(answer.headers))


@dataclass(frozen=True)
class Look:
    """The status of a task."""

    status: str
    hint: float
    """Seconds until the next poll."""


class Era(Protocol):
    """What differs between the eras."""

    def create(self, story: Story) -> Look:
        """Call the tool."""
        ...

    def look(self, story: Story) -> Look:
        """Poll."""
        ...

    def cancel(self, story: Story) -> None:
        """Cancel."""
        ...

    def answer(self, story: Story) -> Life:
        """Answer what is asked."""
        ...

    def stream(self, story: Story) -> Life:
        """Follow the task on a stream until it ends."""
        ...

    def result(self, story: Story) -> Json:
        """Fetch the result."""
        ...

    def listed(self) -> frozenset[str] | None:
        """Return the ids of the caller's tasks; None if the era has no list."""
        ...


class Modern:
    """2026-07-28."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._client = ModernClient(endpoint, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})

    def create(self, story: Story) -> Look:
        """Call the tool."""
        created = self._client.call(story.tool, story.arguments).result
        story.task_id = created["taskId"]
        return _modern_look(created)

    def look(self, story: Story) -> Look:
        """Poll."""
        return _modern_look(self._client.task("get", story.task_id).result)

    def cancel(self, story: Story) -> None:
        """Cancel."""
        assert self._client.task("cancel", story.task_id).result

    def answer(self, story: Story) -> Life:
        """Answer what is asked."""
        assert self._client.update(story.task_id, {_KEY: _answer(story)}).result
        yield 0.0

    def stream(self, story: Story) -> Life:
        """Follow the task with a listener, which gets its status and then the end of the stream."""
        while True:
            _, told, _ = self._client.listen({"taskIds": [story.task_id]}).messages
            look = _modern_look(told["params"])
            story.record_status(look.status)
            if look.status in ENDED:
                return
            yield look.hint

    def result(self, story: Story) -> Json:
        """Return the result, which is part of the task."""
        return self._client.task("get", story.task_id).result.get("result", {})

    def listed(self) -> frozenset[str] | None:
        """Return None, because this era has no list."""
        return None


class Legacy:
    """2025-11-25."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._client = LegacyClient.opened(endpoint, capabilities=ASKING_CAPABILITY)

    def create(self, story: Story) -> Look:
        """Call the tool."""
        created = self._client.call(story.tool, story.arguments, task={}).result["task"]
        story.task_id = created["taskId"]
        return _legacy_look(created)

    def look(self, story: Story) -> Look:
        """Poll."""
        return _legacy_look(self._client.task("get", story.task_id).result)

    def cancel(self, story: Story) -> None:
        """Cancel."""
        assert self._client.task("cancel", story.task_id).result["status"] == "cancelled"

    def answer(self, story: Story) -> Life:
        """Answer what is asked: on the stream of the result."""
        return self.stream(story)

    def stream(self, story: Story) -> Life:
        """Resume the result until it is ready, and answer questions meanwhile."""
        answer = self._client.task("result", story.task_id, message_id=story.number)
        while not (answer.is_stream and answer.is_answered):
            if not answer.is_stream:
                return
            for question in questions(answer.messages):
                assert self._client.respond(question, result=_answer(story)).status == HTTPStatus.ACCEPTED
            yield _retry(answer)
            answer = self._client.resume(answer.last_event_id, opened_by=answer.request)

    def result(self, story: Story) -> Json:
        """Fetch the result; a cancelled task has none."""
        return self._client.task("result", story.task_id).body.get("result", {})

    def listed(self) -> frozenset[str] | None:
        """Return the ids of the caller's tasks."""
        return frozenset(task["taskId"] for task in self._client.ask("tasks/list").result["tasks"])


def _modern_look(task: Json) -> Look:
    return Look(task["status"], task["pollIntervalMs"] / 1000)


def _legacy_look(task: Json) -> Look:
    return Look(task["status"], task["pollInterval"] / 1000)


def _answer(story: Story) -> Json:
    return {"action": "accept", "content": {_KEY: story.words}}


def _retry(answer: Answer) -> float:
    assert answer.retry_ms is not None
    return answer.retry_ms / 1000


def life(manners: Era, story: Story, all_there: Event) -> Life:
    """Create a task, follow it to its end, and fetch its result."""
    look = manners.create(story)
    story.record_status(look.status)
    yield look.hint
    if story.kind is Kind.STREAMED:
        yield from manners.stream(story)
    while (look := manners.look(story)).status not in ENDED:
        story.record_status(look.status)
        if all_there.is_set() and story.kind is Kind.CANCELLED:
            manners.cancel(story)
        elif all_there.is_set() and look.status == "input_required":
            yield from manners.answer(story)
        else:
            yield look.hint
    story.record_status(look.status)
    story.result = manners.result(story)


class Caller(Thread):
    """One client and its observations; faults are described in text.

    Args:
        name: the owner of the tasks.
        era: the protocol of the client.
        endpoint: the server.
        kinds: the kinds of its tasks.
        all_there: set when the tasks of all clients exist and may end.
    """

    def __init__(
        self, name: str, era: Callable[[Endpoint], Era], endpoint: Endpoint, kinds: Sequence[Kind], all_there: Event
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._era = era
        self.stories = [Story(name, number, kind, f"{name}, {number}") for number, kind in enumerate(kinds)]
        self.listed: frozenset[str] | None = None
        self.faults: list[str] = []
        self._given_up = Event()
        self._endpoint = endpoint
        self._all_there = all_there

    @property
    def has_created(self) -> bool:
        """Tell whether all tasks have been created."""
        return all(story.task_id for story in self.stories) or bool(self.faults)

    def give_up(self) -> None:
        """Stop waiting, and read each task once."""
        if self.is_alive():
            self.faults.append(f"{self.name} has waited too long")
        self._given_up.set()
        self.join()

    def run(self) -> None:
        """Follow all tasks, the earliest due first; then read each once more."""
        manners = self._era(self._endpoint)
        due = [(0.0, story.number, life(manners, story, self._all_there)) for story in self.stories]
        while due and not self._given_up.is_set():
            at, number, steps = heapq.heappop(due)
            self._given_up.wait(max(0.0, at - time.monotonic()))
            delay = self._step(number, steps)
            if delay is not None:
                heapq.heappush(due, (time.monotonic() + delay, number, steps))
        self._step(-1, self._look_again(manners))

    def _step(self, number: int, steps: Life) -> float | None:
        """Take one step; return the time of the next, or None if there is none or this one failed."""
        try:
            return next(steps, None)
        except Exception as error:  # noqa: BLE001  # every error is reported
            self.faults.append(f"{self.name}, task {number}: {type(error).__name__}: {error}")
            return None

    def _look_again(self, manners: Era) -> Life:
        for story in self.stories:
            if story.task_id:
                story.last_status = manners.look(story).status
        self.listed = manners.listed()
        return
        yield
