"""Input during a task: `inputRequests` in `tasks/get`, `tasks/update`, and the same task in both eras."""

from typing import Any

import pytest

from stepwire.engine.upkeep import NOT_SUPPORTED
from tests.kits import FORM, OUTPUT, URL, World
from tests.server.answers import Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    TASKS_CAPABILITY,
    URL_CAPABILITY,
    LegacyClient,
    ModernClient,
)
from tests.server.messages import ACCEPT, DECLINE, answers_of, failures_of, own, questions, shown


# X10, M47, M49
def test_a_waiting_task_shows_all_its_questions(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id, "form")
    world.ask(task_id, "page", URL)

    found = shown(asking, task_id)

    assert (found["resultType"], found["status"]) == ("complete", "input_required")
    assert found["statusMessage"] == "Waiting for an answer: May it go on?"
    assert found["inputRequests"] == {
        "form": {"method": "elicitation/create", "params": {"mode": "form", **FORM}},
        "page": {"method": "elicitation/create", "params": URL},
    }


# X15, X10: recorded and delivered before the acknowledgement
@pytest.mark.parametrize("answer", [ACCEPT, DECLINE, {"action": "cancel"}])
def test_an_answer_is_acknowledged_reaches_the_workflow_and_is_seen_by_the_next_reader(
    asking: ModernClient, world: World, answer: Json
) -> None:
    task_id = asking.start()
    token = world.ask(task_id)

    acknowledged = asking.update(task_id, {"approval": answer}).result
    found = shown(asking, task_id)

    assert own(acknowledged) == {}
    assert answers_of(world) == {token: answer}
    assert found["status"] == "working"
    assert "inputRequests" not in found


# X17
def test_some_answers_may_come_before_others(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    tokens = [world.ask(task_id, key) for key in ("first", "second", "third")]

    asking.update(task_id, {"second": ACCEPT})
    between = shown(asking, task_id)
    asking.update(task_id, {"first": DECLINE, "third": ACCEPT})
    after = shown(asking, task_id)

    assert (between["status"], list(between["inputRequests"])) == ("input_required", ["first", "third"])
    assert after["status"] == "working"
    assert answers_of(world) == {tokens[0]: DECLINE, tokens[1]: ACCEPT, tokens[2]: ACCEPT}


# X16
def test_answers_to_unknown_keys_are_ignored_beside_a_valid_one(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    token = world.ask(task_id)

    answer = asking.update(task_id, {"approval": ACCEPT, "another": {"action": "???"}, "": None, "x" * 1_000: 1})

    assert own(answer.result) == {}
    assert answers_of(world) == {token: ACCEPT}


# X16
@pytest.mark.parametrize("again", [ACCEPT, DECLINE, {"action": "???"}, None])
def test_a_repeated_answer_is_acknowledged_and_ignored(asking: ModernClient, world: World, again: Any) -> None:
    task_id = asking.start()
    token = world.ask(task_id)
    asking.update(task_id, {"approval": ACCEPT})

    answer = asking.update(task_id, {"approval": again})

    assert own(answer.result) == {}
    assert answers_of(world) == {token: ACCEPT}


# X14
def test_a_key_is_never_used_again(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    keys: list[str] = []
    for turn in range(3):
        world.ask(task_id, token=f"token {turn}")
        (key,) = shown(asking, task_id)["inputRequests"]
        keys.append(key)
        asking.update(task_id, {key: ACCEPT})

    assert keys[0] == "approval"
    assert len(set(keys)) == 3
    assert list(answers_of(world)) == ["token 0", "token 1", "token 2"]


# X14: even while the first question is still open
def test_two_states_that_use_the_same_key_get_separate_answers(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    for turn in range(2):
        world.ask(task_id, token=f"token {turn}")

    first, second = shown(asking, task_id)["inputRequests"]
    asking.update(task_id, {second: DECLINE})
    asking.update(task_id, {first: ACCEPT})

    assert answers_of(world) == {"token 0": ACCEPT, "token 1": DECLINE}


# X14: Step Functions may invoke a function twice
def test_a_question_that_is_repeated_with_the_same_token_is_asked_once(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)
    world.ask(task_id)

    assert list(shown(asking, task_id)["inputRequests"]) == ["approval"]


# X16, X30
@pytest.mark.parametrize("how", ["well", "badly", "cancelled"])
def test_a_task_that_ended_while_it_waited_acknowledges_answers_and_shows_no_question(
    asking: ModernClient, world: World, how: str
) -> None:
    task_id = asking.start()
    world.ask(task_id)
    ways: dict[str, Any] = {
        "well": lambda: world.succeed(task_id, OUTPUT),
        "badly": lambda: world.fail(task_id),
        "cancelled": lambda: asking.task("cancel", task_id),
    }
    ways[how]()
    before = shown(asking, task_id)

    answer = asking.update(task_id, {"approval": ACCEPT})

    assert own(answer.result) == {}
    assert "inputRequests" not in before
    assert shown(asking, task_id) == before
    assert answers_of(world) == {}


# -------------------------------------------------------------------------------------------------------- capabilities


# M44, M48, M22: the capabilities of this request decide
@pytest.mark.parametrize(
    ("capabilities", "seen"),
    [
        ({}, []),
        (FORM_CAPABILITY, ["form"]),
        ({"elicitation": {}}, ["form"]),
        (URL_CAPABILITY, ["page"]),
        (ASKING_CAPABILITY, ["form", "page"]),
        ({"elicitation": {"voice": {}}}, []),
    ],
)
def test_a_reader_sees_only_the_questions_that_it_can_ask_its_user(
    asking: ModernClient, world: World, capabilities: Json, seen: list[str]
) -> None:
    task_id = asking.start()
    world.ask(task_id, "form")
    world.ask(task_id, "page", URL)
    reader = ModernClient(world, capabilities={**TASKS_CAPABILITY, **capabilities})

    found = shown(reader, task_id)

    assert (found["status"], list(found["inputRequests"])) == ("input_required", seen)


# M19, M44
@pytest.mark.parametrize(
    ("capabilities", "elicitation"), [({}, FORM), ({}, URL), (FORM_CAPABILITY, URL), (URL_CAPABILITY, FORM)]
)
def test_a_question_that_the_calling_client_cannot_ask_fails_the_state(
    world: World, capabilities: Json, elicitation: Json
) -> None:
    client = ModernClient(world, capabilities={**TASKS_CAPABILITY, **capabilities})
    task_id = client.start()

    token = world.ask(task_id, elicitation=elicitation)

    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert shown(client, task_id)["status"] == "working"


# ----------------------------------------------------------------------------------------------------------- both eras


# H, T30, X10
def test_a_question_of_a_modern_task_is_answered_on_a_legacy_stream(
    asking: ModernClient, resuming: LegacyClient, world: World
) -> None:
    task_id = asking.start()
    token = world.ask(task_id)

    (asked,) = questions(resuming.task("result", task_id).messages)
    answer = resuming.respond(asked, result=ACCEPT)

    assert answer.status == 202
    assert answers_of(world) == {token: ACCEPT}
    assert shown(asking, task_id)["status"] == "working"


# H, T30, X10
@pytest.mark.parametrize("kind", ["a task", "a plain call"])
def test_a_question_of_a_legacy_task_is_answered_by_a_modern_update(
    asking: ModernClient, resuming: LegacyClient, world: World, kind: str
) -> None:
    first = resuming.call("optional") if kind == "a plain call" else resuming.task("result", resuming.start())
    task_id = resuming.ask("tasks/list").result["tasks"][0]["taskId"]
    token = world.ask(task_id)
    second = resuming.resume(first.last_event_id, opened_by=first.request)

    asking.update(task_id, {"approval": ACCEPT})
    late = resuming.respond(questions(second.messages)[0], result=DECLINE)
    (response,) = resuming.follow(second, between=lambda _: world.succeed(task_id, OUTPUT))[1:]

    assert late.status == 202
    assert answers_of(world) == {token: ACCEPT}
    assert response["result"]["structuredContent"] == OUTPUT


# H: each era has its own form for the same status
def test_both_eras_show_that_a_task_waits_for_input(asking: ModernClient, resuming: LegacyClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)

    in_legacy, in_modern = resuming.task("get", task_id).result, shown(asking, task_id)

    assert in_legacy["status"] == in_modern["status"] == "input_required"
    assert in_legacy["statusMessage"] == in_modern["statusMessage"]
    assert "inputRequests" not in in_legacy
