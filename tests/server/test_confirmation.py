"""Confirmation in modern: a tool asks by MRTR, and its task exists only after the answer."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

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
    untouched,
)
from tests.server.messages import CONFIRMATION, CONFIRMED_INPUT, CONFIRMING, inputs_of

TAMPERED: dict[str, Callable[[str], str]] = {
    "nothing": lambda state: "",
    "something else": lambda state: "x",
    "no payload and no seal": lambda state: ".",
    "cut short": lambda state: state[:-1],
    "a character more": lambda state: state + "A",
    "no seal": lambda state: state.partition(".")[0],
    "an empty seal": lambda state: state.partition(".")[0] + ".",
    "another first character": lambda state: "A" + state[1:],
    "two dots": lambda state: state.replace(".", ".."),
    "turned round": lambda state: ".".join(reversed(state.split("."))),
    "no ASCII": lambda state: "ü" + state,
    "another payload": lambda state: "e30." + state.partition(".")[2],
    "fifty times": lambda state: state * 50,
}


def again(client: ModernClient, answer: Answer, response: Any = ..., **more: Any) -> Answer:
    """Call again with what an answer asked to be given back, and with an answer to the question."""
    responses = {} if response is ... else {"inputResponses": {"confirm": response}}
    known: Json = {"requestState": answer.result["requestState"], **responses}
    return client.call("confirmed", more.pop("arguments", None), more={**known, **more})


# X9, M43, M44, M47
def test_a_call_is_asked_about_before_there_is_a_task(asking: ModernClient, world: World) -> None:
    answer = asking.call("confirmed")

    assert answer.result["resultType"] == "input_required"
    assert answer.result["inputRequests"] == {"confirm": CONFIRMATION}
    assert isinstance(answer.result["requestState"], str)
    assert untouched(world)


# X9, M46
def test_a_call_that_is_confirmed_becomes_a_task_with_the_answer_in_its_input(
    asking: ModernClient, world: World
) -> None:
    created = again(asking, asking.call("confirmed"), CONFIRMING).result

    assert (created["resultType"], created["status"]) == ("task", "working")
    assert inputs_of(world) == [CONFIRMED_INPUT]
    world.succeed(created["taskId"], OUTPUT)
    assert asking.task("get", created["taskId"]).result["result"]["structuredContent"] == OUTPUT


# M43, X2
def test_a_call_that_is_confirmed_by_a_client_without_tasks_is_waited_for(world: World) -> None:
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
def test_a_call_that_is_not_confirmed_starts_nothing_and_says_so(
    asking: ModernClient, world: World, action: str, words: str
) -> None:
    answer = again(asking, asking.call("confirmed"), {"action": action})

    assert (answer.result["resultType"], answer.result["isError"]) == ("complete", True)
    assert answer.text == f"The user {words}, and nothing was started."
    assert untouched(world)


# M46: a missing answer is asked for again, and other keys are ignored
@pytest.mark.parametrize("responses", [None, {}, {"another": CONFIRMING}])
def test_a_call_without_the_answer_is_asked_about_again(
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
    assert untouched(world)


# M46, M48
@pytest.mark.parametrize(
    "wrong",
    [None, {}, "yes", {"action": "ok"}, {"action": "accept", "content": {"reason": "x" * 21}}, {"action": True}],
)
def test_a_wrong_answer_is_asked_for_again_with_what_was_wrong(asking: ModernClient, world: World, wrong: Any) -> None:
    first = asking.call("confirmed")

    second = again(asking, first, wrong)
    nothing_yet = untouched(world)
    taken = again(asking, second, CONFIRMING)

    (question,) = second.result["inputRequests"].values()
    assert question["params"]["message"].startswith(f"{CONFIRMATION['params']['message']} (The answer before was not ")
    assert nothing_yet
    assert taken.result["resultType"] == "task"


# M46, M48
def test_an_answer_with_which_the_input_is_too_large_is_asked_for_again(asking: ModernClient, world: World) -> None:
    arguments = {"text": "x" * (LARGEST_INPUT - len('{"text":""}'))}
    first = asking.call("confirmed", arguments)

    second = again(asking, first, CONFIRMING, arguments=arguments)

    assert str(LARGEST_INPUT) in second.result["inputRequests"]["confirm"]["params"]["message"]
    assert untouched(world)


# M45: a state is valid for one task; presenting it again, after a lost response, returns that task
def test_a_state_that_is_presented_again_starts_nothing_new(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    task_id = again(asking, first, CONFIRMING).id_in()
    world.clock.advance(milliseconds=1)

    replayed = again(asking, first, CONFIRMING)

    assert replayed.id_in() == task_id
    assert len(world.workflows.starts) == 1


def test_a_state_that_is_presented_after_the_end_holds_no_slot(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    world.succeed(again(asking, first, CONFIRMING).id_in(), OUTPUT)
    world.clock.advance(milliseconds=1)

    again(asking, first, CONFIRMING)

    assert world.store.usage[ALICE].active == frozenset()


# M45
def test_a_state_that_was_used_leads_to_its_task_when_that_has_ended(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    task_id = again(asking, first, CONFIRMING).id_in()
    world.succeed(task_id, OUTPUT)

    replayed = again(asking, first, CONFIRMING)

    assert (replayed.id_in(), replayed.result["status"]) == (task_id, "completed")
    assert len(world.workflows.starts) == 1


# M45
def test_a_state_that_was_used_is_refused_when_its_time_is_over(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    world.succeed(again(asking, first, CONFIRMING).id_in(), OUTPUT)
    world.clock.time += LONGEST_CONFIRMATION

    replayed = again(asking, first, CONFIRMING)

    assert (replayed.status, replayed.code) == (400, -32602)
    assert len(world.workflows.starts) == 1


# M45
def test_a_state_is_good_for_a_quarter_of_an_hour(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    world.clock.time += LONGEST_CONFIRMATION
    world.clock.advance(milliseconds=-1)
    second = again(asking, first)
    world.clock.advance(milliseconds=1)

    expired = again(asking, first, CONFIRMING)

    assert second.result["inputRequests"] == {"confirm": CONFIRMATION}
    assert (expired.status, expired.code) == (400, -32602)
    assert "expired" in expired.error["message"]
    assert untouched(world)


# M45
@pytest.mark.parametrize("tampered", TAMPERED.values(), ids=list(TAMPERED))
def test_a_state_that_was_tampered_with_is_refused(
    asking: ModernClient, world: World, tampered: Callable[[str], str]
) -> None:
    state = asking.call("confirmed").result["requestState"]

    answer = asking.call("confirmed", more={"requestState": tampered(state), "inputResponses": {"confirm": CONFIRMING}})

    assert (answer.status, answer.code) == (400, -32602)
    assert untouched(world)


# M37, M45
@pytest.mark.parametrize("state", [7, True, [], {}])
def test_a_state_that_is_no_text_is_refused(asking: ModernClient, world: World, state: Any) -> None:
    answer = asking.call("confirmed", more={"requestState": state})

    assert (answer.status, answer.code) == (400, -32602)
    assert untouched(world)


# M45, M48
def test_a_state_is_its_callers_own(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")

    answer = again(ModernClient(world, BOB, capabilities=asking.capabilities), first, CONFIRMING)

    assert (answer.status, answer.code) == (400, -32602)
    assert untouched(world)


# M45
@pytest.mark.parametrize("arguments", [{"text": "goodbye"}, {"text": "hello", "count": 1}])
def test_a_state_is_good_for_the_same_arguments_only(asking: ModernClient, world: World, arguments: Json) -> None:
    first = asking.call("confirmed")

    answer = again(asking, first, CONFIRMING, arguments=arguments)

    assert (answer.status, answer.code) == (400, -32602)
    assert "another call" in answer.error["message"]
    assert untouched(world)


# M45: an object has no order
def test_the_same_arguments_in_another_order_are_the_same(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed", {"text": "hello", "count": 1})

    answer = again(asking, first, CONFIRMING, arguments={"count": 1, "text": "hello"})

    assert answer.result["resultType"] == "task"
    assert inputs_of(world) == [{**CONFIRMED_INPUT, "count": 1}]


# M45
@pytest.mark.parametrize("tool", ["optional", "eliciting"])
def test_a_state_is_good_for_its_tool_only(asking: ModernClient, world: World, tool: str) -> None:
    state = asking.call("confirmed").result["requestState"]

    answer = asking.call(tool, more={"requestState": state, "inputResponses": {"confirm": CONFIRMING}})

    assert (answer.status, answer.code) == (400, -32602)
    assert untouched(world)


# M45: a tool that asks no more, because it was changed in between
def test_a_state_of_a_tool_that_asks_no_more_starts_nothing_unasked(asking: ModernClient, world: World) -> None:
    first = asking.call("confirmed")
    changed = World(catalog=catalog_of(replace(CONFIRMED, confirmation=None)))

    answer = again(ModernClient(changed, capabilities=asking.capabilities), first, CONFIRMING)

    assert (answer.status, answer.code) == (400, -32602)
    assert untouched(changed)


# M19, M44, L3
@pytest.mark.parametrize("capabilities", [{}, URL_CAPABILITY, {"elicitation": None}, {"elicitation": {"url": {}}}])
def test_the_error_for_a_client_without_forms_names_what_is_missing(world: World, capabilities: Json) -> None:
    client = ModernClient(world, capabilities={**TASKS_CAPABILITY, **capabilities})

    answer = client.call("confirmed")

    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}
    assert untouched(world)


# M37: no user is asked about a call that could not be made
def test_arguments_are_checked_before_anybody_is_asked(asking: ModernClient, world: World) -> None:
    answer = asking.call("confirmed", {"text": 7})

    assert (answer.result["resultType"], answer.result["isError"]) == ("complete", True)
    assert world.store.calls == []


# M45: read when something is sealed or opened, and only then
def test_the_secret_is_read_only_where_it_is_needed(asking: ModernClient, legacy: LegacyClient, world: World) -> None:
    task_id = asking.start()
    asking.update(task_id, {})
    asking.listen({"taskIds": [task_id]})
    LegacyClient.opened(world, capabilities=ASKING_CAPABILITY).call("confirmed")
    before = world.store.calls.count("secret")

    asking.call("confirmed")

    assert (before, world.store.calls.count("secret")) == (0, 1)
