"""Tasks towards the client (2025-11-25 is symmetrical): questions that a client answers with a task of its own.

The client comes back for a stream, and is asked there about its task: `tasks/get`, then `tasks/result`, or
`tasks/cancel` where its answer is not wanted any more. Two instances of the server take turns.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

import pytest

from stepwire.engine.upkeep import NOT_SUPPORTED
from stepwire.server.kit import Patience
from stepwire.tasks.client_tasks import MOST_CLIENT_TASKS
from tests.kits import OUTPUT, SAMPLED, SAMPLING, URL, World
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.instances import TakingTurns, another_instance
from tests.server.messages import CONFIRMED_INPUT, CONFIRMING, answers_of, failures_of, inputs_of, only_task, questions

REQUESTS: Final[Json] = {"elicitation": {"create": {}}, "sampling": {"createMessage": {}}}
CAPABILITIES: Final[Json] = {
    **ASKING_CAPABILITY,
    "sampling": {},
    "roots": {},
    "tasks": {"cancel": {}, "requests": REQUESTS},
}
ACCEPT: Final[Json] = {"action": "accept", "content": {"amount": 7}}
ASKED: Final[Mapping[str, Json | None]] = {"elicitation": None, "sampling": {"sampling": SAMPLING}}
ANSWERS: Final[Mapping[str, Json]] = {"elicitation": ACCEPT, "sampling": SAMPLED}
KINDS: Final = tuple(ASKED)
ITS_TASK: Final = "the-client's-task"
TIMES: Final[Json] = {"createdAt": "2026-11-22T09:00:00Z", "lastUpdatedAt": "2026-11-22T09:00:00Z", "ttl": 60_000}
UNKNOWN: Final[Json] = {"code": -32602, "message": "Failed to retrieve task: Task not found"}


def told(status: str, task_id: str = ITS_TASK, **more: Any) -> Json:
    """Say how a client's task stands, as the client does."""
    return {"taskId": task_id, "status": status, **TIMES, **more}


@dataclass
class Host:
    """A client that comes back for one stream, and answers by hand."""

    client: LegacyClient
    latest: Answer
    messages: list[Json] = field(default_factory=list[Json])

    def come_back(self) -> list[Json]:
        """Give the messages of the next body."""
        self.latest = self.client.resume(self.latest.last_event_id, opened_by=self.latest.request)
        self.messages.extend(self.latest.messages)
        return self.latest.messages

    def is_asked(self) -> Json:
        """Come back, and give the one request of the body."""
        (asked,) = (one for one in self.come_back() if "method" in one and "id" in one)
        return asked

    def says(self, request: Json, result: Json) -> None:
        """Answer a request."""
        assert self.client.respond(request, result=result).status == 202

    def fails(self, request: Json, error: Json) -> None:
        """Answer a request with an error."""
        assert self.client.respond(request, error=error).status == 202


@pytest.fixture
def turns(world: World) -> TakingTurns:
    """Two instances."""
    return TakingTurns(itertools.cycle([world.server, another_instance(world)]))


@pytest.fixture
def client(turns: TakingTurns) -> LegacyClient:
    """A client that makes tasks of what it is asked, if it is allowed to."""
    return LegacyClient.opened(turns, capabilities=CAPABILITIES)


@dataclass(frozen=True)
class Scene:
    """A task that asks, and the client that is asked."""

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


# ------------------------------------------------------------------------------------------------------ the whole way


# T36
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_task", [True, False])
def test_a_question_that_the_client_makes_a_task_is_answered_by_its_result(
    world: World, client: LegacyClient, kind: str, *, as_task: bool
) -> None:
    first = client.call("optional", task={} if as_task else None)
    task_id = first.id_in("task") if as_task else only_task(world)
    token = world.ask(task_id, "it", other=ASKED[kind])
    host = Host(client, client.task("result", task_id) if as_task else first)
    (question,) = questions(host.latest.messages) or [host.is_asked()]

    host.says(question, {"task": told("working")})
    looks = [host.is_asked() for _ in range(2)]
    host.says(looks[0], told("working"))
    host.says(looks[1], told("completed"))
    fetch = host.is_asked()
    host.says(fetch, ANSWERS[kind])
    world.succeed(task_id, OUTPUT)
    host.come_back()

    assert isinstance(question["params"]["task"]["ttl"], int)
    assert [(one["method"], one["params"]) for one in looks] == [("tasks/get", {"taskId": ITS_TASK})] * 2
    assert (fetch["method"], fetch["params"]) == ("tasks/result", {"taskId": ITS_TASK})
    assert answers_of(world) == {token: ANSWERS[kind]}
    assert host.latest.result["structuredContent"] == OUTPUT
    assert [one.get("method") for one in host.latest.messages] == [None], "nothing is left to cancel"
    assert world.faults == world.troubles == []


def test_a_confirmation_may_be_a_task_too(world: World, client: LegacyClient) -> None:
    host = Host(client, client.call("confirmed"))
    (question,) = questions(host.latest.messages)

    host.says(question, {"task": told("working")})
    host.says(host.is_asked(), told("completed"))
    host.says(host.is_asked(), CONFIRMING)

    assert inputs_of(world) == [CONFIRMED_INPUT]


def test_a_page_to_open_may_be_a_task_too(world: World, client: LegacyClient) -> None:
    task_id = client.start()
    token = world.ask(task_id, "it", URL)
    host = Host(client, client.task("result", task_id))

    host.says(questions(host.latest.messages)[0], {"task": told("completed")})
    host.says(host.is_asked(), {"action": "accept"})

    assert answers_of(world) == {token: {"action": "accept"}}


def test_a_task_that_has_ended_at_once_is_not_asked_how_it_stands(world: World, client: LegacyClient) -> None:
    scene = asked(world, client)
    scene.host.says(scene.question, {"task": told("completed")})

    assert scene.host.is_asked()["method"] == "tasks/result"


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_may_answer_at_once_though_a_task_was_offered(world: World, client: LegacyClient, kind: str) -> None:
    scene = asked(world, client, kind)

    scene.host.says(scene.question, ANSWERS[kind])

    assert answers_of(world) == {scene.token: ANSWERS[kind]}
    assert not [one for one in scene.host.come_back() if "id" in one]


# --------------------------------------------------------------------------------------------------- who is offered it


# T35
@pytest.mark.parametrize(
    ("tasks", "offered"),
    [
        (None, []),
        ({}, []),
        ({"cancel": {}}, []),
        ({"requests": {}}, []),
        ({"requests": {"elicitation": {}}}, []),
        ({"requests": {"elicitation": {"create": True}}}, []),
        ({"requests": {"elicitation": ["create"]}}, []),
        ({"requests": {"elicitation": {"create": {}}}}, ["elicitation/create"]),
        ({"requests": {"sampling": {"createMessage": {}}}}, ["sampling/createMessage"]),
        ({"requests": REQUESTS}, ["elicitation/create", "sampling/createMessage"]),
    ],
)
def test_a_task_is_offered_to_those_who_declare_it_for_that_very_request(
    world: World, tasks: Json | None, offered: list[str]
) -> None:
    declared = {**CAPABILITIES, "tasks": tasks}
    client = LegacyClient.opened(world, capabilities={name: one for name, one in declared.items() if one is not None})
    task_id = client.start()
    world.ask(task_id, "user")
    world.ask(task_id, "model", other={"sampling": SAMPLING})
    world.ask(task_id, "folders", other={"roots": {}})

    found = questions(client.task("result", task_id).messages)

    assert len(found) == 3
    assert [one["method"] for one in found if "task" in one.get("params", {})] == offered


@pytest.mark.parametrize(("seconds", "milliseconds"), [(0, 3_600_000), (90, 90_000)])
def test_a_task_is_to_be_kept_for_as_long_as_its_question_may_be_answered(
    world: World, client: LegacyClient, seconds: float, milliseconds: int
) -> None:
    assert asked(world, client, seconds=seconds).question["params"]["task"] == {"ttl": milliseconds}


def test_a_task_is_to_be_kept_for_no_longer_than_the_timers_of_javascript_count(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=CAPABILITIES)
    task_id = client.start(task={"ttl": timedelta(days=30) // timedelta(milliseconds=1)})
    world.ask(task_id)

    (question,) = questions(client.task("result", task_id).messages)

    assert question["params"]["task"]["ttl"] < 2**31


def test_an_answer_that_looks_like_a_task_is_a_wrong_one_of_a_client_that_declares_none(world: World) -> None:
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    scene = asked(world, client)

    scene.host.says(scene.question, {"task": told("working")})

    assert "was not accepted" in scene.host.is_asked()["params"]["message"]


# ------------------------------------------------------------------------------------------------------------- the pace


# T36
@pytest.mark.parametrize(
    ("interval", "retry_ms"),
    [
        (0, 1_000),
        (700, 1_000),
        (3_000, 3_000),
        (20_000, 20_000),
        (10**9, 20_000),
        (-1, 1_000),
        ("3000", 1_000),
        (None, 1_000),
        (True, 1_000),
        (2_500.5, 2_500),
    ],
)
def test_the_client_names_the_pace(world: World, client: LegacyClient, interval: Any, retry_ms: int) -> None:
    scene = deferred(world, client, pollInterval=interval)

    scene.host.come_back()

    expected = 700 if interval == 700 else retry_ms
    assert scene.host.latest.retry_ms == expected


def test_a_client_that_is_slower_than_bodies_may_be_is_asked_on_some_of_them(
    world: World, client: LegacyClient
) -> None:
    scene = deferred(world, client, pollInterval=60_000)

    bodies = [len([one for one in scene.host.come_back() if "id" in one]) for _ in range(9)]

    assert bodies == [0, 0, 1] * 3
    assert scene.host.latest.retry_ms == 20_000


def test_a_look_that_finds_nothing_new_writes_nothing(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)
    look = scene.host.is_asked()
    world.store.calls.clear()

    scene.host.says(look, told("working"))
    scene.host.come_back()

    assert "save" not in world.store.calls


def test_no_body_is_held_while_a_client_is_to_be_asked_about_its_task(world: World) -> None:
    world = World(patience=Patience(resuming_request=timedelta(seconds=10)))
    client = LegacyClient.opened(world, capabilities=CAPABILITIES)
    scene = deferred(world, client)
    before = world.clock.now()

    scene.host.come_back()

    assert world.clock.now() == before


# ----------------------------------------------------------------------------------------------- what a client may say


# A client that wants input of us gets none: it is asked until its user has dealt with it.
def test_a_task_that_requires_input_goes_on(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)

    scene.host.says(scene.host.is_asked(), told("input_required"))

    assert scene.host.is_asked()["method"] == "tasks/get"


@pytest.mark.parametrize("kind", KINDS)
def test_a_task_that_failed_brings_its_error(world: World, client: LegacyClient, kind: str) -> None:
    scene = ended(world, client, kind, "failed")

    scene.host.fails(scene.host.is_asked(), {"code": -1, "message": "The user rejected it."})

    assert failures_of(world) == {scene.token: NOT_SUPPORTED}


def test_a_question_whose_task_was_cancelled_was_dismissed(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)

    scene.host.says(scene.host.is_asked(), told("cancelled"))

    assert answers_of(world) == {scene.token: {"action": "cancel"}}
    assert not [one for one in scene.host.come_back() if "id" in one]


def test_a_model_whose_task_was_cancelled_does_not_answer(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client, "sampling")

    scene.host.says(scene.host.is_asked(), told("cancelled"))

    assert failures_of(world) == {scene.token: NOT_SUPPORTED}
    assert not [one for one in scene.host.come_back() if "id" in one]


NONSENSE: Final[list[Json]] = [
    {},
    told("WORKING"),
    told("working", "another task"),
    {"taskId": ITS_TASK},
    {"task": told("working")},
    {"status": "completed"},
    ACCEPT,
]


# -32602 where it has expired, or its client has begun anew; -32601 where it cannot say how its tasks stand
@pytest.mark.parametrize("error", [UNKNOWN, {"code": -32601, "message": "tasks/get not supported"}])
def test_a_question_whose_task_is_lost_is_asked_again_without_a_task(
    world: World, client: LegacyClient, error: Json
) -> None:
    scene = deferred(world, client)

    scene.host.fails(scene.host.is_asked(), error)
    again = scene.host.is_asked()
    scene.host.says(again, ACCEPT)

    assert again["method"] == "elicitation/create"
    assert "task" not in again["params"]
    assert "the client has lost the task" in again["params"]["message"]
    assert answers_of(world) == {scene.token: ACCEPT}
    assert not [one for one in scene.host.come_back() if "id" in one]


@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_about_a_task_is_a_task_that_is_lost(world: World, client: LegacyClient, nonsense: Json) -> None:
    scene = deferred(world, client)

    scene.host.says(scene.host.is_asked(), nonsense)

    assert "task" not in scene.host.is_asked()["params"]


@pytest.mark.parametrize(
    "created",
    [
        {"task": {}},
        {"task": None},
        {"task": told("working", "")},
        {"task": told("working", "x" * 129)},
        {"task": told("working", "grüße")},
        {"task": told("working", "a b")},
        {"task": {**told("working"), "taskId": 7}},
        {"task": told("begun")},
        told("working"),
        {"task": [told("working")]},
    ],
)
def test_a_task_that_is_none_is_a_wrong_answer(world: World, client: LegacyClient, created: Json) -> None:
    scene = asked(world, client)

    scene.host.says(scene.question, created)
    again = scene.host.is_asked()
    scene.host.says(again, ACCEPT)

    assert "task" not in again["params"]
    assert answers_of(world) == {scene.token: ACCEPT}


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("elicitation", {}),
        ("elicitation", {"action": "accept", "content": {"amount": 0}}),
        ("elicitation", {"task": told("completed")}),
        ("sampling", {**SAMPLED, "role": "user"}),
        ("sampling", {**SAMPLED, "content": {"type": "text", "text": "x" * 20_000}}),
        ("sampling", {**SAMPLED, "content": {"type": "tool_use", "id": "1", "name": "a", "input": {}}}),
    ],
)
def test_the_result_of_a_task_is_checked_as_any_answer_is(
    world: World, client: LegacyClient, kind: str, wrong: Json
) -> None:
    scene = ended(world, client, kind)

    scene.host.says(scene.host.is_asked(), wrong)
    again = scene.host.is_asked()
    scene.host.says(again, ANSWERS[kind])

    assert "task" not in again["params"]
    assert answers_of(world) == {scene.token: ANSWERS[kind]}


def test_a_client_that_says_nothing_is_asked_again_and_again(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)

    methods = [scene.host.is_asked()["method"] for _ in range(3)]

    assert methods == ["tasks/get"] * 3
    assert answers_of(world) == {}


@pytest.mark.parametrize("tail", ["get", "get.1", "nothing.1.x", f"get.1.{ITS_TASK}x", f"result.1.{ITS_TASK}x", "..."])
def test_a_response_to_what_was_not_asked_changes_nothing(world: World, client: LegacyClient, tail: str) -> None:
    scene = deferred(world, client)

    scene.host.says({"id": f"{scene.task_id}.1.{tail}"}, told("completed"))

    assert scene.host.is_asked()["method"] == "tasks/get"
    assert answers_of(world) == {}


@pytest.mark.parametrize("number", ["0", "2", "-1", "x", "", "9" * 200, "²"])
def test_a_task_of_a_question_that_was_never_asked_is_not_kept(world: World, client: LegacyClient, number: str) -> None:
    scene = asked(world, client)

    scene.host.says({"id": f"{scene.task_id}.{number}"}, {"task": told("working")})

    assert not [one for one in scene.host.come_back() if "id" in one]


def test_of_more_tasks_than_are_kept_the_questions_are_asked_without(world: World, client: LegacyClient) -> None:
    task_id = client.start()
    for number in range(MOST_CLIENT_TASKS + 2):
        world.ask(task_id, f"q{number}")
    host = Host(client, client.task("result", task_id))

    for question in questions(host.latest.messages):
        host.says(question, {"task": told("working", f"task {question['id']}".replace(" ", "-"))})
    later = host.come_back()

    again = questions(later)
    assert len(again) == 2
    assert not any("task" in one["params"] for one in again)
    assert len([one for one in later if one["method"] == "tasks/get"]) == MOST_CLIENT_TASKS
    (key,) = world.store.tasks
    assert len(world.store.tasks[key].client_tasks) == MOST_CLIENT_TASKS


# ---------------------------------------------------------------------------------------------- what is not wanted now


def cancels_in(messages: list[Json]) -> list[Json]:
    return [one for one in messages if one.get("method") == "tasks/cancel"]


# T23, T37
def test_a_task_that_is_cancelled_takes_the_clients_task_with_it(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)

    client.task("cancel", scene.task_id)
    scene.host.come_back()

    *before, response = scene.host.latest.messages
    assert [one["params"] for one in cancels_in(before)] == [{"taskId": ITS_TASK}]
    assert response["result"]["isError"]


def test_a_call_that_is_cancelled_takes_the_clients_task_with_it(world: World, client: LegacyClient) -> None:
    first = client.call("optional", message_id="r")
    world.ask(only_task(world))
    host = Host(client, first)
    host.says(host.is_asked(), {"task": told("working")})

    client.notify("notifications/cancelled", {"requestId": "r"})
    host.come_back()

    assert [one["params"] for one in cancels_in(host.latest.messages)] == [{"taskId": ITS_TASK}]
    assert host.latest.is_answered


def test_work_that_ends_takes_the_clients_task_with_it(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)

    world.succeed(scene.task_id, OUTPUT)
    scene.host.come_back()

    assert len(cancels_in(scene.host.latest.messages)) == 1
    assert scene.host.latest.result["structuredContent"] == OUTPUT


# Many clients ask for a result only when the work has ended
def test_work_that_has_ended_takes_the_clients_task_with_it_on_a_later_stream(
    world: World, client: LegacyClient
) -> None:
    scene = deferred(world, client)
    world.succeed(scene.task_id, OUTPUT)

    answer = client.task("result", scene.task_id)

    assert len(cancels_in(answer.messages)) == 1
    assert answer.result["structuredContent"] == OUTPUT


def test_a_question_that_somebody_else_answers_takes_the_clients_task_with_it(
    world: World, client: LegacyClient
) -> None:
    scene = deferred(world, client)

    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(scene.task_id, {"it": ACCEPT})
    cancel = scene.host.is_asked()
    again = scene.host.is_asked()
    scene.host.says(again, told("cancelled"))

    assert cancel["method"] == again["method"] == "tasks/cancel", "until it is acknowledged"
    assert answers_of(world) == {scene.token: ACCEPT}
    assert not [one for one in scene.host.come_back() if "id" in one]


def test_a_question_that_expires_takes_the_clients_task_with_it(world: World, client: LegacyClient) -> None:
    scene = asked(world, client, seconds=30)
    scene.host.says(scene.question, {"task": told("working")})
    world.clock.advance(seconds=31)

    cancel = scene.host.is_asked()
    scene.host.fails(cancel, UNKNOWN)

    assert cancel["method"] == "tasks/cancel"
    assert not [one for one in scene.host.come_back() if "id" in one]


def test_a_task_that_is_made_of_a_question_after_it_was_closed_is_cancelled(world: World, client: LegacyClient) -> None:
    scene = asked(world, client)
    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(scene.task_id, {"it": ACCEPT})

    scene.host.says(scene.question, {"task": told("working")})

    assert scene.host.is_asked()["method"] == "tasks/cancel"


# T37
def test_a_client_that_does_not_declare_it_is_not_asked_to_cancel(world: World) -> None:
    client = LegacyClient.opened(world, capabilities={**CAPABILITIES, "tasks": {"requests": REQUESTS}})
    scene = deferred(world, client)

    world.succeed(scene.task_id, OUTPUT)

    assert [one.get("method") for one in scene.host.come_back()] == [None]


def test_a_result_that_comes_after_another_answer_counts_for_nothing(world: World, client: LegacyClient) -> None:
    scene = ended(world, client)
    fetch = scene.host.is_asked()
    ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}).update(
        scene.task_id, {"it": {"action": "decline"}}
    )

    scene.host.says(fetch, ACCEPT)

    assert answers_of(world) == {scene.token: {"action": "decline"}}
    assert not [one for one in scene.host.come_back() if "id" in one], "it has ended, so there is nothing to cancel"


# ------------------------------------------------------------------------------------------ several streams and clients


def test_another_stream_of_the_same_client_asks_nothing_twice(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)

    second = client.task("result", scene.task_id, message_id=2)
    call = client.call("task_result", {"task_id": scene.task_id, "wait_seconds": 0}, message_id=3)

    for stream in (second, call):
        assert questions(stream.messages) == []
        assert [one["method"] for one in stream.messages if "id" in one] == ["tasks/get"]


def test_another_client_is_asked_itself_and_the_first_answer_counts(
    world: World, turns: TakingTurns, client: LegacyClient
) -> None:
    first = deferred(world, client)
    other = LegacyClient.opened(turns, capabilities=CAPABILITIES)
    second = Host(other, other.task("result", first.task_id))
    (question,) = questions(second.latest.messages)

    second.says(question, {"task": told("completed", "of the other client")})
    assert second.is_asked()["method"] == "elicitation/create", "an id with spaces is none, so it is asked again"
    second.says({"id": second.latest.messages[-1]["id"]}, ACCEPT)

    assert first.host.is_asked()["method"] == "tasks/cancel"
    assert answers_of(world) == {first.token: ACCEPT}


def test_each_of_two_clients_is_asked_about_its_own_task(
    world: World, turns: TakingTurns, client: LegacyClient
) -> None:
    first = deferred(world, client)
    other = LegacyClient.opened(turns, capabilities=CAPABILITIES)
    second = Host(other, other.task("result", first.task_id))
    second.says(questions(second.latest.messages)[0], {"task": told("working", "theirs")})

    looks = (first.host.is_asked(), second.is_asked())
    second.says(looks[0], told("completed"))  # of what it was not asked
    second.says(looks[1], told("completed", "theirs"))
    second.says(second.is_asked(), ACCEPT)

    assert [one["params"]["taskId"] for one in looks] == [ITS_TASK, "theirs"]
    assert first.host.is_asked()["method"] == "tasks/cancel"
    assert answers_of(world) == {first.token: ACCEPT}


def test_a_client_that_makes_two_tasks_of_one_question_is_asked_about_both(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)
    scene.host.says(scene.question, {"task": told("working", "second")})

    looks = [one for one in scene.host.come_back() if one["method"] == "tasks/get"]
    scene.host.says(looks[1], told("completed", "second"))
    fetch = next(one for one in scene.host.come_back() if one["method"] == "tasks/result")
    scene.host.says(fetch, ACCEPT)

    assert answers_of(world) == {scene.token: ACCEPT}
    assert scene.host.is_asked()["params"] == {"taskId": ITS_TASK}


# ----------------------------------------------------------------------------------------------------- lost and doubled


@pytest.mark.parametrize("times", [1, 2, 3])
def test_no_response_that_comes_more_than_once_is_taken_more_than_once(
    world: World, client: LegacyClient, times: int
) -> None:
    scene = asked(world, client)

    for _ in range(times):
        scene.host.says(scene.question, {"task": told("working")})
    look = scene.host.is_asked()
    for _ in range(times):
        scene.host.says(look, told("completed"))
    fetch = scene.host.is_asked()
    for _ in range(times):
        scene.host.says(fetch, ACCEPT)

    assert [one.token for one in world.workflows.resumptions] == [scene.token]


@pytest.mark.parametrize("step", ["get", "result"])
def test_what_could_not_be_taken_is_asked_for_again(world: World, client: LegacyClient, step: str) -> None:
    scene = (deferred if step == "get" else ended)(world, client)
    request, said = scene.host.is_asked(), told("completed") if step == "get" else ACCEPT
    world.store.is_available = False
    refused = client.respond(request, result=said)
    world.store.is_available = True
    world.faults.clear()

    again = scene.host.is_asked()
    scene.host.says(again, said)

    assert refused.status == 503
    assert again["method"] == request["method"] == f"tasks/{step}"
    assert len(answers_of(world)) == (step == "result")


def test_a_body_that_is_lost_loses_nothing(world: World, client: LegacyClient) -> None:
    scene = deferred(world, client)
    before = scene.host.latest

    scene.host.come_back()  # and it never arrives
    scene.host.latest = before
    scene.host.says(scene.host.is_asked(), told("completed"))
    before = scene.host.latest
    scene.host.come_back()  # nor does this one
    scene.host.latest = before
    scene.host.says(scene.host.is_asked(), ACCEPT)

    assert answers_of(world) == {scene.token: ACCEPT}
