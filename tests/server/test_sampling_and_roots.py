"""Questions to the client itself: its model (`sampling/createMessage`) and its roots (`roots/list`), in both eras."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from stepwire.engine.upkeep import NOT_SUPPORTED
from stepwire.json_text import is_object
from stepwire.tasks.inputs import LARGEST_CONTENT
from tests.kits import LISTED, OUTPUT, SAMPLED, SAMPLING, World
from tests.server.answers import Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    RELATED_TASK,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import answers_of, failures_of, only_task, questions

CAPABILITIES: Final[Json] = {"sampling": {}, "roots": {}}
"""The capabilities of a client that supports sampling and roots, but not elicitation."""
TEXT: Final[Json] = SAMPLED["content"]
ASKED: Final[Mapping[str, Json]] = {"sampling": SAMPLING, "roots": {}}
METHODS: Final = {"sampling": "sampling/createMessage", "roots": "roots/list"}
ANSWERS: Final[Mapping[str, Json]] = {"sampling": SAMPLED, "roots": LISTED}
KINDS: Final = tuple(ASKED)
WRONG: Final[list[tuple[str, Any, str]]] = [
    ("sampling", None, "role"),
    ("sampling", "Paris.", "role"),
    ("sampling", {"action": "accept", "content": {}}, "role"),
    ("sampling", {**SAMPLED, "role": "user"}, "/role"),
    ("sampling", {**SAMPLED, "content": {"type": "video", "data": "AAAA"}}, "/content"),
    ("sampling", {**SAMPLED, "content": {"type": "tool_use", "id": "1", "name": "x", "input": {}}}, "/content"),
    ("sampling", {**SAMPLED, "content": []}, "/content"),
    ("sampling", {**SAMPLED, "content": [TEXT, {"type": "text"}]}, "/content"),
    ("sampling", {**SAMPLED, "content": {"type": "image", "data": "no base64", "mimeType": "image/png"}}, "/content"),
    ("sampling", {**SAMPLED, "content": {**TEXT, "text": "x" * LARGEST_CONTENT}}, "larger than"),
    ("sampling", {"role": "assistant", "content": TEXT}, "model"),
    ("roots", None, "roots"),
    ("roots", {"roots": {}}, "/roots"),
    ("roots", {"roots": [{"name": "no uri"}]}, "uri"),
    ("roots", {"roots": [{"uri": "https://a.example"}]}, "/roots/0/uri"),
    ("roots", {"roots": [{"uri": "file:///" + "x" * LARGEST_CONTENT}]}, "larger than"),
]
OBJECTS: Final = [(kind, wrong) for kind, wrong, _ in WRONG if is_object(wrong)]


@pytest.fixture
def modern(world: World) -> ModernClient:
    """A client of 2026-07-28 with tasks, sampling and roots."""
    return ModernClient(world, capabilities={**TASKS_CAPABILITY, **CAPABILITIES})


@pytest.fixture
def legacy(world: World) -> LegacyClient:
    """A client of 2025-11-25 that resumes, with sampling and roots."""
    return LegacyClient.opened(world, capabilities=CAPABILITIES)


# --------------------------------------------------------------------------------------------------------- 2026-07-28


# M44, X10, X15
@pytest.mark.parametrize("kind", KINDS)
def test_a_task_shows_the_request_and_the_result_is_what_the_state_gets(
    modern: ModernClient, world: World, kind: str
) -> None:
    task_id = modern.start()
    token = world.ask(task_id, "it", other={kind: ASKED[kind]})

    shown = modern.task("get", task_id).result
    modern.update(task_id, {"it": ANSWERS[kind]})

    assert shown["status"] == "input_required"
    assert shown["inputRequests"] == {"it": {"method": METHODS[kind], "params": ASKED[kind]}}
    assert answers_of(world) == {token: ANSWERS[kind]}
    assert modern.task("get", task_id).result["status"] == "working"


# M43
@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_call_asks_in_rounds(world: World, kind: str) -> None:
    client = ModernClient(world, capabilities=CAPABILITIES)
    state = client.call("forbidden").result["requestState"]
    token = world.ask(only_task(world), "it", other={kind: ASKED[kind]})

    asked = client.call("forbidden", more={"requestState": state}).result
    client.call("forbidden", more={"requestState": asked["requestState"], "inputResponses": {"it": ANSWERS[kind]}})

    assert asked["inputRequests"] == {"it": {"method": METHODS[kind], "params": ASKED[kind]}}
    assert answers_of(world) == {token: ANSWERS[kind]}


# M46: as for a form
@pytest.mark.parametrize(("kind", "wrong", "expected"), WRONG)
def test_a_wrong_result_is_asked_for_again_and_the_status_says_why(
    modern: ModernClient, world: World, kind: str, wrong: Any, expected: str
) -> None:
    task_id = modern.start()
    token = world.ask(task_id, "it", other={kind: ASKED[kind]})

    modern.update(task_id, {"it": wrong})
    between = modern.task("get", task_id).result
    modern.update(task_id, {"it#2": ANSWERS[kind]})

    assert between["inputRequests"] == {"it#2": {"method": METHODS[kind], "params": ASKED[kind]}}
    assert expected in between["statusMessage"]
    assert answers_of(world) == {token: ANSWERS[kind]}


# M44: with questions of all kinds, each request sees those whose capabilities it declares
def test_a_client_sees_the_questions_whose_capabilities_its_request_declares(world: World) -> None:
    everything = {**CAPABILITIES, **ASKING_CAPABILITY}
    task_id = ModernClient(world, capabilities={**TASKS_CAPABILITY, **everything}).start()
    world.ask(task_id, "user")
    world.ask(task_id, "model", other={"sampling": SAMPLING})
    world.ask(task_id, "folders", other={"roots": {}})

    declared: list[Json] = [everything, FORM_CAPABILITY, {"sampling": {}}]
    clients = [ModernClient(world, capabilities={**TASKS_CAPABILITY, **one}) for one in declared]
    seen = [list(client.task("get", task_id).result["inputRequests"]) for client in clients]

    assert seen == [["user", "model", "folders"], ["user"], ["model"]]


# --------------------------------------------------------------------------------------------------------- 2025-11-25


# T30, K8: on the stream of the call, or of tasks/result
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("as_task", [True, False])
def test_the_request_travels_on_the_stream_and_its_response_reaches_the_state(
    legacy: LegacyClient, world: World, kind: str, *, as_task: bool
) -> None:
    first = legacy.call("optional", task={} if as_task else None)
    task_id = first.id_in("task") if as_task else only_task(world)
    token = world.ask(task_id, "it", other={kind: ASKED[kind]})

    stream = legacy.task("result", task_id) if as_task else legacy.resume(first.last_event_id, opened_by=first.request)
    (asked,) = questions(stream.messages)
    accepted = legacy.respond(asked, result=ANSWERS[kind])

    related = {"_meta": {RELATED_TASK: {"taskId": task_id}}} if as_task else {}
    assert (asked["method"], asked["params"]) == (METHODS[kind], {**ASKED[kind], **related})
    assert accepted.status == 202
    assert answers_of(world) == {token: ANSWERS[kind]}


@pytest.mark.parametrize(("kind", "wrong"), OBJECTS)
def test_a_wrong_response_is_asked_for_again_on_the_stream(
    legacy: LegacyClient, world: World, kind: str, wrong: Any
) -> None:
    task_id = legacy.start()
    token = world.ask(task_id, "it", other={kind: ASKED[kind]})
    stream = legacy.task("result", task_id)

    legacy.respond(questions(stream.messages)[0], result=wrong)
    again = legacy.resume(stream.last_event_id, opened_by=stream.request)
    legacy.respond(questions(again.messages)[0], result=ANSWERS[kind])

    assert answers_of(world) == {token: ANSWERS[kind]}


# A user may reject a prompt for the model: the client answers with an error
@pytest.mark.parametrize("kind", KINDS)
def test_an_error_of_the_client_fails_the_state(legacy: LegacyClient, world: World, kind: str) -> None:
    task_id = legacy.start()
    token = world.ask(task_id, "it", other={kind: ASKED[kind]})
    (asked,) = questions(legacy.task("result", task_id).messages)

    legacy.respond(asked, error={"code": -1, "message": "User rejected sampling request"})

    assert failures_of(world) == {token: NOT_SUPPORTED}


# ------------------------------------------------------------------------------------------------------ who is asked


# M44, L3
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "others", [{}, ASKING_CAPABILITY, {"sampling": None, "roots": True}, {"sampling": [], "roots": "yes"}]
)
def test_a_client_that_did_not_declare_it_is_never_asked(world: World, kind: str, others: Json) -> None:
    declared: Json = {**others, **{name: {} for name in KINDS if name != kind}}
    modern = ModernClient(world, capabilities={**TASKS_CAPABILITY, **declared})
    legacy = LegacyClient.opened(world, capabilities=declared)
    task_ids = (modern.start(), legacy.start())
    tokens = [world.ask(task_id, token=f"token {task_id}", other={kind: ASKED[kind]}) for task_id in task_ids]

    assert failures_of(world) == dict.fromkeys(tokens, NOT_SUPPORTED)


# A question to a user needs forms: a client with sampling and roots alone cannot be asked
def test_a_client_with_sampling_and_roots_only_is_asked_no_forms(world: World) -> None:
    modern = ModernClient(world, capabilities={**TASKS_CAPABILITY, **CAPABILITIES})
    task_id = modern.start()

    token = world.ask(task_id)
    refused = modern.call("confirmed")

    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert refused.error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# The tools for clients without tasks answer forms alone
@pytest.mark.parametrize("kind", KINDS)
def test_no_tool_answers_in_place_of_the_client(world: World, kind: str) -> None:
    task_id = ModernClient(world, capabilities={**TASKS_CAPABILITY, **CAPABILITIES}).start()
    world.ask(task_id, "it", other={kind: ASKED[kind]})
    plain = ModernClient(world, capabilities={})

    waiting = plain.call("task_result", {"task_id": task_id, "wait_seconds": 0})
    answered = plain.call("task_answer", {"task_id": task_id, "question": "it", "answer": ANSWERS[kind]})
    world.succeed(task_id, OUTPUT)

    assert "elicitation" not in waiting.text
    assert "Waiting for" in waiting.text
    assert answered.result["isError"]
    assert answers_of(world) == {}


# A question for the client itself needs no elicitation, also while its model waits for the task
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_whose_model_waits_for_a_task_is_asked_at_once(world: World, legacy: LegacyClient, kind: str) -> None:
    task_id = legacy.start()
    token = world.ask(task_id, "it", other={kind: ASKED[kind]})
    modern = ModernClient(world, capabilities=CAPABILITIES)

    stream = legacy.call("task_result", {"task_id": task_id, "wait_seconds": 0})
    round_ = modern.call("task_result", {"task_id": task_id, "wait_seconds": 0}).result
    (asked,) = questions(stream.messages)
    legacy.respond(asked, result=ANSWERS[kind])

    assert asked["method"] == METHODS[kind]
    assert round_["inputRequests"] == {"it": {"method": METHODS[kind], "params": ASKED[kind]}}
    assert answers_of(world) == {token: ANSWERS[kind]}
