"""A call by `call_tool` is the call of the tool that it names: its answers, its task and its audit are the same."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.tools import TaskSupport
from stepwire.extras.search import CALL_TOOL, FIND_TOOL
from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.extras import parts
from tests.extras.search.searching import Through, new_world, searching
from tests.kits import ARGUMENTS, BAD_ARGUMENTS, OPTIONAL, OUTPUT, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    TASKS_CAPABILITY,
    Endpoint,
    LegacyClient,
    ModernClient,
    SignedIn,
    nothing_happened,
)
from tests.server.messages import ACCEPT, CONFIRMING, only_task, questions

BOTH: Final = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}


@pytest.fixture
def world() -> World:
    """Stepwire with one tool of each kind."""
    return new_world()


# T3, T4, T6
@pytest.mark.parametrize(
    ("supports", "shown", "works"),
    [
        ([], "optional", True),
        (["optional"], "optional", True),
        (["required"], "required", True),
        (["optional", "required"], "optional", True),
        (["forbidden"], "forbidden", True),
        (["forbidden", "optional"], "forbidden", True),
        (["forbidden", "optional", "required"], "optional", False),  # no way of calling suits all three
    ],
)
def test_a_host_that_makes_a_task_of_each_call_that_may_be_one_can_call_every_tool_by_call_tool(
    supports: list[str], shown: str, works: bool
) -> None:
    tools = [replace(OPTIONAL, name=one, task_support=TaskSupport(one)) for one in supports]
    world = World(catalog=catalog_of(*tools))
    like_vs_code = LegacyClient.opened(Through(searching(world, "&resume=0")))
    listed = {one["name"]: one["execution"]["taskSupport"] for one in like_vs_code.ask("tools/list").result["tools"]}
    task: Json = {} if listed[CALL_TOOL] == "forbidden" else {"task": {}}

    answers = [like_vs_code.call(one, **task).body for one in supports]

    assert listed[CALL_TOOL] == shown
    assert all("result" in answer for answer in answers) is works


def rounds(world: World, at: Endpoint) -> None:
    client = ModernClient(at, capabilities=ASKING_CAPABILITY)
    answer = client.call("optional")
    world.ask(only_task(world))
    for given in ({}, {"approval": {"action": "accept", "content": {"amount": 700}}}, None):
        state = {"requestState": answer.result["requestState"]}
        last = next(iter(answer.result.get("inputRequests", {})), "")
        answer = client.call("optional", more={**state, "inputResponses": {last: ACCEPT} if given is None else given})
    world.succeed(only_task(world), OUTPUT)
    client.call("optional", more={"requestState": answer.result["requestState"]})


def confirmation_in_rounds(world: World, at: Endpoint) -> None:
    client = ModernClient(at, capabilities=BOTH)
    state = client.call("confirmed").result["requestState"]
    client.call("optional", more={"requestState": state})
    task_id = client.call("confirmed", more={"requestState": state, "inputResponses": {"confirm": CONFIRMING}}).id_in()
    world.succeed(task_id, OUTPUT)
    client.task("get", task_id)


def tasks_of_2026(world: World, at: Endpoint) -> None:
    client = ModernClient(at, capabilities=BOTH)
    task_id = client.start("optional")
    world.ask(task_id)
    client.update(task_id, {"approval": ACCEPT})
    world.succeed(task_id, OUTPUT)
    client.task("get", task_id)
    client.task("cancel", client.start("required"))


def tasks_of_2025(world: World, at: Endpoint) -> None:
    client = LegacyClient.opened(at, capabilities=ASKING_CAPABILITY)
    task_id = client.start("required", task={"ttl": 90_000})
    world.ask(task_id)
    between: Callable[[Sequence[Json]], object] = lambda latest: [  # noqa: E731 - one expression
        (client.respond(one, result=ACCEPT), world.succeed(task_id, OUTPUT)) for one in questions(latest)
    ]
    client.follow(client.task("result", task_id), between=between)
    client.task("cancel", client.start("optional"))
    client.ask("tasks/list")


def elicitation_on_a_stream(world: World, at: Endpoint) -> None:
    client = LegacyClient.opened(at, capabilities=ASKING_CAPABILITY)
    answer = client.call("optional", progress_token="p")
    task_id = only_task(world)
    world.ask(task_id)

    def between(latest: Sequence[Json]) -> None:
        world.progress(task_id, 50)
        for one in questions(latest):
            client.respond(one, result=ACCEPT)
            world.succeed(task_id, OUTPUT)

    client.follow(answer, between=between)


def confirmation_on_a_stream(world: World, at: Endpoint) -> None:
    client = LegacyClient.opened(at, capabilities=ASKING_CAPABILITY)

    def between(latest: Sequence[Json]) -> None:
        for one in questions(latest):
            client.respond(one, result=CONFIRMING)
            world.succeed(only_task(world), OUTPUT)

    client.follow(client.call("confirmed"), between=between)


def a_client_without_anything(world: World, at: Endpoint) -> None:
    for client in (ModernClient(at, capabilities={}), LegacyClient(at, "2025-03-26")):
        task_id = next(iter(client.call("answered").result["structuredContent"].values()))["taskId"]
        world.ask(task_id)
        client.call("task_result", {"task_id": task_id})
        client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": {"amount": 7}})
        world.succeed(task_id, OUTPUT)
        client.call("task_result", {"task_id": task_id})
        client.call("structured")
        client.call("confirmed")
        client.call("express")


def repeated_calls(world: World, at: Endpoint) -> None:
    client = ModernClient(at)
    for text in ("a", "a", "b"):
        meta = {"stepwire/idempotencyKey": "k"}
        client.ask("tools/call", {"name": "keyed", "arguments": {"text": text}}, meta=meta)


def refusals(world: World, at: Endpoint) -> None:
    for client in (ModernClient(at), LegacyClient.opened(at), LegacyClient(at, "2025-03-26")):
        for tool in ("optional", "required", "forbidden", "express", "confirmed", "gone"):
            client.call(tool, BAD_ARGUMENTS)
            client.call(tool, {})
            client.call(tool)
            if isinstance(client, LegacyClient):
                client.call(tool, task={})
                client.call(tool, BAD_ARGUMENTS, task={})


SCRIPTS: Final = (
    rounds,
    confirmation_in_rounds,
    tasks_of_2026,
    tasks_of_2025,
    elicitation_on_a_stream,
    confirmation_on_a_stream,
    *(dialogue for part in parts("dialogues") for dialogue in part.DIALOGUES),
    a_client_without_anything,
    repeated_calls,
    refusals,
)


@dataclass
class Listening:
    """An endpoint that keeps what it answers."""

    endpoint: Endpoint
    answers: list[HttpResponse]

    @property
    def server(self) -> "Listening":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request, and keep the answer."""
        answer = self.endpoint.server.handle(request)
        self.answers.append(answer)
        return answer


# M12, M45, M46, X12, T7, T30
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_call_by_call_tool_is_answered_and_audited_as_a_direct_call(
    script: Callable[[World, Endpoint], None],
) -> None:
    worlds = (new_world(), new_world())
    ways: tuple[Endpoint, ...] = (searching(worlds[0]), Through(searching(worlds[1])))
    seen: tuple[list[HttpResponse], ...] = ([], [])

    for world, way, answers in zip(worlds, ways, seen, strict=True):
        script(world, Listening(way, answers))

    assert seen[0] == seen[1]
    assert worlds[0].audit == worlds[1].audit
    assert worlds[0].workflows.starts == worlds[1].workflows.starts
    assert worlds[0].store.tasks == worlds[1].store.tasks
    assert worlds[0].faults == worlds[1].faults == []


def test_a_direct_call_and_one_by_call_tool_are_equal(world: World) -> None:
    direct, through = ModernClient(searching(world)), ModernClient(Through(searching(world)))
    key = {"stepwire/idempotencyKey": "k"}
    params = {"name": "keyed", "arguments": ARGUMENTS}

    first, second = (one.ask("tools/call", params, meta=key).id_in() for one in (direct, through))
    state = ModernClient(searching(world), capabilities=BOTH).call("confirmed").result["requestState"]
    more = {"requestState": state, "inputResponses": {"confirm": CONFIRMING}}
    confirmed = ModernClient(Through(searching(world)), capabilities=BOTH).call("confirmed", more=more)

    assert first == second
    assert confirmed.result["resultType"] == "task"


# M39
def test_headers_that_repeat_arguments_are_not_needed_where_no_list_names_them(world: World) -> None:
    through = ModernClient(Through(searching(world)))

    assert through.call("routed", {"text": "a"}).result["resultType"] == "task"
    assert ModernClient(searching(world)).call("routed", {"text": "a"}).code == -32020


@pytest.mark.parametrize(
    ("given", "started"),
    [({"text": "a"}, {"text": "a"}), ('{"text": "a"}', {"text": "a"}), (' {"text":"a"}\n', {"text": "a"})],
)
def test_arguments_may_be_the_text_of_an_object(world: World, given: object, started: Json) -> None:
    ModernClient(searching(world)).call(CALL_TOOL, {"name": "optional", "arguments": given})

    assert [json.loads(one.input_text) for one in world.workflows.starts] == [started]


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "name"),
        ({"name": None}, "name"),
        ({"name": 7, "arguments": {}}, "name"),
        ({"name": ["optional"]}, "name"),
        ({"name": "optional", "arguments": []}, "arguments"),
        ({"name": "optional", "arguments": "text"}, "arguments"),
        ({"name": "optional", "arguments": "[]"}, "arguments"),
        ({"name": "optional", "arguments": '{"text":"a","text":"b"}'}, "arguments"),
        ({"name": "optional", "arguments": '{"text":1e999}'}, "arguments"),
        ({"name": "optional", "arguments": "[" * 40_000}, "arguments"),
        ({"name": "optional", "arguments": {}, "task": {}}, "task"),
        ({"name": "optional", "arguments": {}, "": 1}, "not valid"),
        ({"name": "optional", "text": "a"}, "text"),
        (
            {"name": CALL_TOOL, "arguments": {"name": "optional", "arguments": ARGUMENTS}},
            f"call {CALL_TOOL} by its name",
        ),
        ({"name": "task_list"}, "call task_list by its name"),
        ({"name": "gone"}, f"Unknown tool 'gone'. {FIND_TOOL} names"),
        ({"name": "x" * 100_000}, f"Unknown tool '{'x' * 80}'"),
        ({"name": "\x00\ud7ff\u202e"}, "Unknown tool"),
        ({"name": ""}, "Unknown tool ''"),
        ({"name": "optional"}, "The arguments of optional are not valid"),
        ({"name": "optional", "arguments": None}, "The arguments of optional are not valid"),
        ({"name": "optional", "arguments": BAD_ARGUMENTS}, "The arguments of optional are not valid"),
    ],
)
@pytest.mark.parametrize("as_task", [False, True])
def test_a_wrong_call_starts_nothing_and_says_what_is_wrong(
    world: World, arguments: Json, words: str, as_task: bool, era: Callable[[Endpoint], LegacyClient | ModernClient]
) -> None:
    client = era(searching(world))
    task: Json = {"task": {}} if as_task and isinstance(client, LegacyClient) else {}

    answer = client.ask("tools/call", {"name": CALL_TOOL, "arguments": arguments, **task})

    text = answer.body["error"]["message"] if "error" in answer.body else answer.result["content"][0]["text"]
    assert words in text
    assert len(text) < 5_000
    assert nothing_happened(world)


def test_no_call_is_made_that_the_url_forbids(
    world: World, era: Callable[[Endpoint], LegacyClient | ModernClient]
) -> None:
    client = era(Through(searching(world, "&group=finance")))

    assert f"Unknown tool 'optional'. {FIND_TOOL} names" in client.call("optional").error["message"]
    assert "Unknown tool" not in client.call("keyed").response.body


# F6
def test_a_call_that_the_scopes_forbid_gets_the_challenge_of_a_direct_call(
    era: Callable[[Endpoint], LegacyClient | ModernClient],
) -> None:
    world = World(catalog=catalog_of(replace(OPTIONAL, name="paying", scopes=("pay",))))
    at = searching(SignedIn(world, frozenset({"read"}), Access(metadata_url="https://mcp.example.com/metadata")))

    direct, through = (era(way).call("paying").response for way in (at, Through(at)))

    assert "insufficient_scope" in str(through.headers)
    assert (through.status, through.headers, through.body) == (direct.status, direct.headers, direct.body)
    assert nothing_happened(world)
