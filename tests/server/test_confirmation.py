"""Confirmation in modern: the server asks by MRTR, and the task exists only after the answer."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.principal import Principal
from stepwire.tasks.inputs import LONGEST_CONFIRMATION
from stepwire.tasks.task import LARGEST_INPUT
from tests.kits import ALICE, BOB, CONFIRMED, OUTPUT, World, catalog_of
from tests.server.answers import Answer, Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    TASKS_CAPABILITY,
    URL_CAPABILITY,
    LegacyClient,
    ModernClient,
    nothing_happened,
)
from tests.server.messages import CONFIRMATION, CONFIRMED_INPUT, CONFIRMING, inputs_of

TAMPERED: dict[str, Callable[[str], str]] = {
    "nothing": lambda state: "",
    "something else": lambda state: "x",
    "no payload and no signature": lambda state: ".",
    "cut short": lambda state: state[:-1],
    "a character more": lambda state: state + "A",
    "no signature": lambda state: state.partition(".")[0],
    "an empty signature": lambda state: state.partition(".")[0] + ".",
    "another first character": lambda state: "A" + state[1:],
    "two dots": lambda state: state.replace(".", ".."),
    "turned round": lambda state: ".".join(reversed(state.split("."))),
    "no ASCII": lambda state: "ü" + state,
    "another payload": lambda state: "e30." + state.partition(".")[2],
    "fifty times": lambda state: state * 50,
}


def again(client: ModernClient, answer: Answer, response: Any = ..., **more: Any) -> Answer:
    """Repeat a call with the requestState of the last answer, and an answer to the question."""
    responses = {} if response is ... else {"inputResponses": {"confirm": response}}
    known: Json = {"requestState": answer.result["requestState"], **responses}
    return client.call("confirmed", more.pop("arguments", None), more={**known, **more})


# X9, M43, M44, M47
def test_a_call_needs_a_confirmation_before_there_is_a_task(asking: ModernClient, world: World) -> None:
    answer = asking.call("confirmed")

    assert answer.result["resultType"] == "input_required"
    assert answer.result["inputRequests"] == {"confirm": CONFIRMATION}
    assert isinstance(answer.result["requestState"], str)
    assert nothing_happened(world)


# X9, M46
def test_a_confirmed_call_becomes_a_task_with_the_answer_in_its_input(asking: ModernClient, world: World) -> None:
    created = again(asking, asking.call("confirmed"), CONFIRMING).result

    assert (created["resultType"], created["status"]) == ("task", "working")
    assert inputs_of(world) == [CONFIRMED_INPUT]
    world.succeed(created["taskId"], OUTPUT)
    assert asking.task("get", created["taskId"]).result["result"]["structuredContent"] == OUTPUT


# M43, X2
def test_a_confirmed_call_of_a_client_without_tasks_waits_for_its_result(world: World) -> None:
    client = ModernClient(world, capabilities=FORM_CAPABILITY)
    first = client.call("confirmed")

    second = again(client, first, CONFIRMING)
    (execution,) = world.workflows.running()
    world.workflows.succeed(execution, OUTPUT)
    world.deliver()
    third = client.call("confirmed", more={"requestState": second.result["requestState"]})

    assert second.result["resultType"] == "input_required"
    assert third.result["structuredContent"] == OUTPUT
    assert inputs_of(world) == [CONFIRMED_INPUT]


# M48
@pytest.mark.parametrize(
    ("action", "words"), [("decline", "declined"), ("cancel", "dismissed the question without an answer")]
)
def test_a_declined_call_starts_nothing_and_its_result_says_so(
    asking: ModernClient, world: World, action: str, words: str
) -> None:
    answer = again(asking, asking.call("confirmed"), {"action": action})

    assert (answer.result["resultType"], answer.result["isError"]) == ("complete", True)
    assert answer.text == f"The user {words}, and nothing was started."
    assert nothing_happened(world)


# M46: a missing answer is asked for again, and other keys are ignored
@pytest.mark.parametrize("responses", [None, {}, {"another": CONFIRMING}])
def test_a_repeated_call_without_the_answer_gets_the_question_again(
    asking: ModernClient, world: World, responses: Json | None
) -> None:
    first = asking.call("confirmed")
    more: Json = {} if responses is None else {"inputResponses": responses}

    second = again(asking, first, **more)
    third = again(asking, second, CONFIRMING)

    assert second.result["inputRequests"] == {"confirm": CONFIRMATION}
    assert third.result["resultType"] == "task"
    assert len(world.workflows.starts) == 1


# M45, M46: an answer without the question's state is an answer to nothing
def test_an_answer_in_advance_confirms_nothing(asking: ModernClient, world: World) -> None:
    answer = asking.call("confirmed", more={"inputResponses": {"confirm": CONFIRMING}})

    assert answer.result["inputRequests"] == {"confirm": CONFIRMATION}
    assert nothing_happened(world)


# M46, M48
@pytest.mark.parametrize(
    "wrong",
    [None, {}, "yes", {"action": "ok"}, {"action": "accept", "content": {"reason": "x" * 21}}, {"action": True}],
)
def test_after_a_wrong_answer_the_question_is_asked_again_with_the_reason(
    asking: ModernClient, world: World, wrong: Any
) -> None:
    first = asking.call("confirmed")

    second = again(asking, first, wrong)
    nothing_yet = nothing_happened(world)
    taken = again(asking, second, CONFIRMING)

    (question,) = second.result["inputRequests"].values()
    assert question["params"]["message"].startswith(f"{CONFIRMATION['params']['message']} (The answer before was not ")
    assert nothing_yet
    assert taken.result["resultType"] == "task"


# M46, M48
def test_after_an_answer_that_makes_the_input_too_large_the_question_is_asked_again(
    asking: ModernClient, world: World
) -> None:
    arguments = {"text": "x" * (LARGEST_INPUT - len('{"text":""}'))}
    first = asking.call("confirmed", arguments)

    second = again(asking, first, CONFIRMING, arguments=arguments)

    assert str(LARGEST_INPUT) in second.result["inputRequests"]["confirm"]["params"]["message"]
    assert nothing_happened(world)


# M45: a requestState is valid for one task; presenting it again, after a lost response, returns that task
@pytest.mark.parametrize("status", ["working", "completed"])
def test_a_request_state_that_is_presented_again_starts_nothing_new(
    asking: ModernClient, world: World, status: str
) -> None:
    first = asking.call("confirmed")
    task_id = again(asking, first, CONFIRMING).id_in()
    if status == "completed":
        world.succeed(task_id, OUTPUT)
    world.clock.advance(milliseconds=1)

    replayed = again(asking, first, CONFIRMING)

    assert (replayed.id_in(), replayed.result["status"]) == (task_id, status)
    assert len(world.workflows.starts) == 1
    assert world.store.usage[ALICE].active == (frozenset() if status == "completed" else {task_id})


# M45
def test_a_used_request_state_is_refused_after_it_expired(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    world.succeed(again(asking, first, CONFIRMING).id_in(), OUTPUT)
    world.clock.time += LONGEST_CONFIRMATION

    replayed = again(asking, first, CONFIRMING)

    assert (replayed.status, replayed.code) == (400, -32602)
    assert len(world.workflows.starts) == 1


# M45
def test_a_request_state_is_valid_for_15_minutes(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    world.clock.time += LONGEST_CONFIRMATION
    world.clock.advance(milliseconds=-1)
    second = again(asking, first)
    world.clock.advance(milliseconds=1)

    expired = again(asking, first, CONFIRMING)

    assert second.result["inputRequests"] == {"confirm": CONFIRMATION}
    assert (expired.status, expired.code) == (400, -32602)
    assert "expired" in expired.error["message"]
    assert nothing_happened(world)


# M45
@pytest.mark.parametrize("tampered", TAMPERED.values(), ids=list(TAMPERED))
def test_a_request_state_that_was_tampered_with_is_refused(
    asking: ModernClient, world: World, tampered: Callable[[str], str]
) -> None:
    state = asking.call("confirmed").result["requestState"]

    answer = asking.call("confirmed", more={"requestState": tampered(state), "inputResponses": {"confirm": CONFIRMING}})

    assert (answer.status, answer.code) == (400, -32602)
    assert nothing_happened(world)


# M37, M45
@pytest.mark.parametrize("state", [7, True, [], {}])
def test_a_request_state_that_is_not_a_string_is_refused(asking: ModernClient, world: World, state: Any) -> None:
    answer = asking.call("confirmed", more={"requestState": state})

    assert (answer.status, answer.code) == (400, -32602)
    assert nothing_happened(world)


# M45, M48
@pytest.mark.parametrize(
    ("owner", "tool", "arguments"),
    [
        (BOB, "confirmed", {"text": "hello"}),
        (ALICE, "confirmed", {"text": "goodbye"}),
        (ALICE, "confirmed", {"text": "hello", "count": 1}),
        (ALICE, "optional", {"text": "hello"}),
        (ALICE, "eliciting", {"text": "hello"}),
    ],
)
def test_a_request_state_is_valid_for_the_same_call_only(
    asking: ModernClient, world: World, owner: Principal, tool: str, arguments: Json
) -> None:
    state = asking.call("confirmed", {"text": "hello"}).result["requestState"]
    more: Json = {"requestState": state, "inputResponses": {"confirm": CONFIRMING}}

    answer = ModernClient(world, owner, capabilities=asking.capabilities).call(tool, arguments, more=more)

    assert (answer.status, answer.code) == (400, -32602)
    assert "another call" in answer.error["message"]
    assert nothing_happened(world)


# M45: the members of an object have no order, and JSON Schema takes 1 and 1.0 for the same
def test_arguments_in_another_order_are_the_same_arguments(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed", {"text": "hello", "count": 1})

    answer = again(asking, first, CONFIRMING, arguments={"count": 1.0, "text": "hello"})

    assert answer.result["resultType"] == "task"
    assert inputs_of(world) == [{**CONFIRMED_INPUT, "count": 1}]


# M45: the tool was changed meanwhile, and no longer needs a confirmation
def test_a_request_state_starts_nothing_if_its_tool_no_longer_needs_a_confirmation(
    asking: ModernClient, world: World
) -> None:
    first = asking.call("confirmed")
    changed = World(catalog=catalog_of(replace(CONFIRMED, confirmation=None)))

    answer = again(ModernClient(changed, capabilities=asking.capabilities), first, CONFIRMING)

    assert (answer.status, answer.code) == (400, -32602)
    assert nothing_happened(changed)


# M19, M44, L3
@pytest.mark.parametrize("capabilities", [{}, URL_CAPABILITY, {"elicitation": None}, {"elicitation": {"url": {}}}])
def test_the_error_for_a_client_without_forms_names_the_missing_capability(world: World, capabilities: Json) -> None:
    client = ModernClient(world, capabilities={**TASKS_CAPABILITY, **capabilities})

    answer = client.call("confirmed")

    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert nothing_happened(world)


# M37: a user is asked only about a valid call
def test_arguments_are_checked_before_the_user_is_asked(asking: ModernClient, world: World) -> None:
    answer = asking.call("confirmed", {"text": 7})

    assert (answer.result["resultType"], answer.result["isError"]) == ("complete", True)
    assert world.store.calls == []


# M45: the secret is read only to sign or verify a requestState
def test_the_secret_is_read_only_if_it_is_needed(asking: ModernClient, legacy: LegacyClient, world: World) -> None:
    task_id = asking.start()
    asking.update(task_id, {})
    asking.listen({"taskIds": [task_id]})
    LegacyClient.opened(world, capabilities=ASKING_CAPABILITY).call("confirmed")
    before = world.store.calls.count("secret")

    asking.call("confirmed")

    assert (before, world.store.calls.count("secret")) == (0, 1)
