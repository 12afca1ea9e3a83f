"""Input during a task: `inputRequests` in `tasks/get`, `tasks/update`, and the same task seen from both eras."""

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
from tests.server.messages import answers_of, failures_of, questions
from tests.server.questions import ACCEPT, DECLINE, own, shown


# X10, M47, M49
def test_a_task_that_waits_shows_all_that_it_asks(asking: ModernClient, world: World) -> None:
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
def test_answers_to_other_keys_are_ignored_beside_one_that_counts(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    token = world.ask(task_id)

    answer = asking.update(task_id, {"approval": ACCEPT, "another": {"action": "???"}, "": None, "x" * 1_000: 1})

    assert own(answer.result) == {}
    assert answers_of(world) == {token: ACCEPT}


# X16
@pytest.mark.parametrize("again", [ACCEPT, DECLINE, {"action": "???"}, None])
def test_an_answer_that_comes_again_is_acknowledged_and_does_not_count(
    asking: ModernClient, world: World, again: Any
) -> None:
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


# X14: so too while the first is still open
def test_two_states_that_ask_by_the_same_key_get_their_own_answers(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    for turn in range(2):
        world.ask(task_id, token=f"token {turn}")

    first, second = shown(asking, task_id)["inputRequests"]
    asking.update(task_id, {second: DECLINE})
    asking.update(task_id, {first: ACCEPT})

    assert answers_of(world) == {"token 0": ACCEPT, "token 1": DECLINE}


# X14: Step Functions may invoke a function twice
def test_a_state_that_asks_twice_by_the_same_token_has_asked_once(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)
    world.ask(task_id)

    assert list(shown(asking, task_id)["inputRequests"]) == ["approval"]


# X16, X30
@pytest.mark.parametrize("how", ["well", "badly", "cancelled"])
def test_a_task_that_ended_while_it_waited_takes_answers_and_asks_nothing(
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


# X18, T23
def test_a_task_that_waits_can_be_cancelled(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)

    asking.task("cancel", task_id)

    assert shown(asking, task_id)["status"] == "cancelled"
    assert world.workflows.running() == ()


# -------------------------------------------------------------------------------------------------------- capabilities


# M44, M48, M22: by what this very request declares
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
def test_a_reader_is_shown_what_it_can_ask_its_user_and_nothing_more(
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
def test_what_the_client_that_called_can_never_be_asked_fails_the_state_that_asks(
    world: World, capabilities: Json, elicitation: Json
) -> None:
    client = ModernClient(world, capabilities={**TASKS_CAPABILITY, **capabilities})
    task_id = client.start()

    token = world.ask(task_id, elicitation=elicitation)

    assert failures_of(world) == {token: NOT_SUPPORTED}
    assert shown(client, task_id)["status"] == "working"


# ----------------------------------------------------------------------------------------------------------- both eras


# H, T30, X10
def test_a_task_that_modern_began_is_answered_over_a_legacy_stream(
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
def test_what_legacy_began_is_answered_by_a_modern_update(
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


# H: each shows the same wait in its own way
def test_both_eras_say_that_a_task_waits(asking: ModernClient, resuming: LegacyClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)

    in_legacy, in_modern = resuming.task("get", task_id).result, shown(asking, task_id)

    assert in_legacy["status"] == in_modern["status"] == "input_required"
    assert in_legacy["statusMessage"] == in_modern["statusMessage"]
    assert "inputRequests" not in in_legacy
