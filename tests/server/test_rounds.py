"""Plain calls in modern: answered in rounds of short responses (MRTR), with questions and progress."""

from copy import copy
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.engine.upkeep import NOT_SUPPORTED
from stepwire.server.mcp_server import McpServer
from stepwire.server.rounds import MOST_ROUNDS_WITHOUT_QUESTIONS
from stepwire.tasks.inputs import MOST_QUESTIONS
from tests.kits import BOB, FORM, OUTPUT, URL, World
from tests.server.answers import Answer, Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    FORM_CAPABILITY,
    RELATED_TASK,
    TASKS_CAPABILITY,
    URL_CAPABILITY,
    ModernClient,
)
from tests.server.messages import ACCEPT, again, answers_of, failures_of, on_sleep, only_task


# M43, T6
def test_a_round_without_news_asks_only_for_another_call(plain: ModernClient, world: World) -> None:
    answer = plain.call("optional")

    assert answer.result.keys() == {"resultType", "requestState", "_meta"}
    assert answer.result["resultType"] == "input_required"
    assert sum(world.clock.slept) == pytest.approx(15)


# M43, T6
def test_the_workflow_starts_once_and_runs_through_all_rounds(plain: ModernClient, world: World) -> None:
    first = plain.call("optional")
    second = again(plain, first)
    on_sleep(world, 2, lambda: world.succeed(only_task(world), OUTPUT))

    third = again(plain, second)

    assert third.result["structuredContent"] == OUTPUT
    assert RELATED_TASK not in third.result["_meta"]
    assert len(world.workflows.starts) == 1


# M43: clients give up after ten rounds
def test_after_the_last_round_without_news_the_result_names_the_task(plain: ModernClient, world: World) -> None:
    answers = [plain.call("optional")]
    while answers[-1].result["resultType"] == "input_required":
        answers.append(again(plain, answers[-1]))

    task_id = answers[-1].id_in("_meta", "stepwire/task")
    assert len(answers) == MOST_ROUNDS_WITHOUT_QUESTIONS + 1 < 10
    assert task_id == only_task(world)
    assert len(world.workflows.starts) == 1


# M43, M44, M47, M49
def test_a_question_of_the_workflow_ends_the_round_at_once(plain: ModernClient, world: World) -> None:
    def ask() -> None:
        world.ask(only_task(world), "form")
        world.ask(only_task(world), "page", URL)

    on_sleep(world, 1, ask)

    answer = plain.call("optional")

    assert answer.result["inputRequests"] == {
        "form": {"method": "elicitation/create", "params": {"mode": "form", **FORM}},
        "page": {"method": "elicitation/create", "params": URL},
    }
    assert len(world.clock.slept) == 1


def asked(plain: ModernClient, world: World) -> Answer:
    """Call a tool whose workflow asks a question."""
    on_sleep(world, 1, lambda: world.ask(only_task(world)))
    answer = plain.call("optional")
    world.clock.on_sleep = lambda: None
    assert "approval" in answer.result["inputRequests"]
    return answer


# M43, M46, M48
@pytest.mark.parametrize("response", [ACCEPT, {"action": "decline"}, {"action": "cancel"}])
def test_an_answer_reaches_the_workflow_and_the_call_continues(
    plain: ModernClient, world: World, response: Json
) -> None:
    first = asked(plain, world)
    on_sleep(world, 1, lambda: world.succeed(only_task(world), OUTPUT))

    second = again(plain, first, {"approval": response, "unknown": 7})

    assert answers_of(world) == {"token of approval": response}
    assert second.result["structuredContent"] == OUTPUT


# M46
@pytest.mark.parametrize("responses", [None, {}, {"another": ACCEPT}])
def test_a_round_without_the_answer_asks_again(plain: ModernClient, world: World, responses: Json | None) -> None:
    first = asked(plain, world)

    second = again(plain, first, responses)
    again(plain, second, {"approval": ACCEPT})

    assert second.result["inputRequests"] == first.result["inputRequests"]
    assert answers_of(world) == {"token of approval": ACCEPT}


# M46, M48
@pytest.mark.parametrize("wrong", [{}, None, {"action": "accept", "content": {"amount": 0}}])
def test_after_a_wrong_answer_the_next_round_asks_again(plain: ModernClient, world: World, wrong: Any) -> None:
    first = asked(plain, world)

    second = again(plain, first, {"approval": wrong})
    before = answers_of(world)
    again(plain, second, {"approval#2": ACCEPT})

    (question,) = second.result["inputRequests"].values()
    assert "(The answer before was not accepted: " in question["params"]["message"]
    assert before == {}
    assert answers_of(world) == {"token of approval": ACCEPT}


# X-M1: a wrong answer creates no second task
def test_a_wrong_answer_creates_no_second_task(plain: ModernClient, world: World) -> None:
    latest = asked(plain, world)

    for number in (2, 3, 4):
        (key,) = latest.result["inputRequests"]
        latest = again(plain, latest, {key: {"action": "accept", "content": {"amount": 5_000}}})
        assert list(latest.result["inputRequests"]) == [f"approval#{number}"]
    again(plain, latest, {"approval#4": ACCEPT})

    assert len(world.store.tasks) == 1
    assert answers_of(world) == {"token of approval": ACCEPT}


# M38: each wrong answer costs a write
def test_wrong_answers_under_future_keys_cost_no_writes(plain: ModernClient, world: World) -> None:
    first = asked(plain, world)
    world.store.calls.clear()
    keys = ["approval", *(f"approval#{number}" for number in range(2, 50))]

    second = again(plain, first, {key: {} for key in keys})

    assert list(second.result["inputRequests"]) == ["approval#3"]
    assert world.store.calls.count("save") == 2


# M38: at the limit, the question stays open under its key
def test_a_wrong_answer_to_a_question_that_is_asked_no_more_is_read_a_bounded_number_of_times(
    plain: ModernClient, world: World
) -> None:
    latest = asked(plain, world)
    for _ in range(MOST_QUESTIONS - 1):
        latest = again(plain, latest, {key: {} for key in latest.result["inputRequests"]})
    world.audit.clear()

    last = again(plain, latest, {key: {} for key in latest.result["inputRequests"]})

    assert last.result["inputRequests"] == latest.result["inputRequests"]
    assert [one.action for one in world.audit].count(AuditAction.REFUSED) == 2


# M46: a client may know the questions in advance
@pytest.mark.parametrize("round_number", [0, 1])
def test_an_answer_in_advance_is_used_when_the_question_comes(
    plain: ModernClient, world: World, round_number: int
) -> None:
    first = plain.call("optional", more={} if round_number else {"inputResponses": {"approval": ACCEPT}})
    if round_number:
        task_id = only_task(world)
        on_sleep(world, 2, lambda: world.ask(task_id))
        second = again(plain, first, {"approval": ACCEPT})
        assert answers_of(world) == {"token of approval": ACCEPT}
        assert "inputRequests" not in second.result
    else:
        assert answers_of(world) == {}
        assert "inputRequests" not in first.result


# M46
def test_an_answer_in_advance_is_used_in_the_first_round(plain: ModernClient, world: World) -> None:
    def move() -> None:
        match len(world.clock.slept):
            case 1:
                world.ask(only_task(world))
            case 3:
                world.succeed(only_task(world), OUTPUT)
            case _:
                pass

    world.clock.on_sleep = move

    answer = plain.call("optional", more={"inputResponses": {"approval": ACCEPT}})

    assert answer.result["structuredContent"] == OUTPUT
    assert answers_of(world) == {"token of approval": ACCEPT}


# M46: the question has not been asked yet, so this is not a wrong answer
def test_a_wrong_answer_in_advance_is_ignored_and_the_question_asked(plain: ModernClient, world: World) -> None:
    on_sleep(world, 1, lambda: world.ask(only_task(world)))

    answer = plain.call("optional", more={"inputResponses": {"approval": {"action": "accept"}}})

    assert list(answer.result["inputRequests"]) == ["approval#2"]
    assert answers_of(world) == {}


# M44, M48, M22: the capabilities of this request decide
@pytest.mark.parametrize(("capabilities", "seen"), [({}, []), (FORM_CAPABILITY, ["form"]), (URL_CAPABILITY, ["page"])])
def test_a_round_asks_only_questions_for_which_its_request_declares_capabilities(
    plain: ModernClient, world: World, capabilities: Json, seen: list[str]
) -> None:
    first = plain.call("optional")
    world.ask(only_task(world), "form")
    world.ask(only_task(world), "page", URL)

    second = again(ModernClient(world, capabilities=capabilities), first)

    assert list(second.result.get("inputRequests", {})) == seen


# M44
def test_a_question_that_a_plain_client_cannot_ask_fails_the_state(world: World) -> None:
    client = ModernClient(world, capabilities={})
    client.call("optional")

    token = world.ask(only_task(world))

    assert failures_of(world) == {token: NOT_SUPPORTED}


# M45
@pytest.mark.parametrize("difference", ["owner", "arguments", "tool", "a character"])
def test_the_state_of_a_round_is_valid_for_the_same_call_only(
    plain: ModernClient, world: World, difference: str
) -> None:
    first = plain.call("optional")
    state = first.result["requestState"]
    client = ModernClient(world, BOB, capabilities={}) if difference == "owner" else plain
    tool = "forbidden" if difference == "tool" else "optional"
    arguments: Json = {"text": "goodbye" if difference == "arguments" else "hello"}
    state = state[:-2] + ("AA" if not state.endswith("AA") else "BB") if difference == "a character" else state

    answer = client.call(tool, arguments, more={"requestState": state})

    assert (answer.status, answer.code) == (400, -32602)
    assert len(world.workflows.starts) == 1


# M45: a round changes nothing, so its state may be used again
def test_the_state_of_a_round_may_be_used_again_and_continues_the_same_task(plain: ModernClient, world: World) -> None:
    first = plain.call("optional")
    again(plain, first)
    world.succeed(only_task(world), OUTPUT)

    results = [again(plain, first).result for _ in range(2)]

    assert [result["structuredContent"] for result in results] == [OUTPUT] * 2
    assert len(world.workflows.starts) == 1


# M45, X13
def test_the_state_of_a_round_is_valid_as_long_as_its_task(plain: ModernClient, world: World) -> None:
    first = plain.call("optional")
    world.succeed(only_task(world), OUTPUT)
    world.clock.advance(minutes=59)
    kept = again(plain, first)
    world.clock.advance(minutes=1)

    gone = again(plain, first)

    assert kept.result["structuredContent"] == OUTPUT
    assert (gone.status, gone.code) == (400, -32602)
    assert "expired" in gone.error["message"]


# X2: a tool that is never a task
def test_a_client_with_tasks_gets_rounds_for_a_tool_that_is_never_a_task(world: World) -> None:
    client = ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})

    first = client.call("forbidden")
    world.succeed(only_task(world), OUTPUT)
    second = client.call("forbidden", more={"requestState": first.result["requestState"]})

    assert first.result["resultType"] == "input_required"
    assert second.result["structuredContent"] == OUTPUT


# M45
@pytest.mark.parametrize("others", [(b"new", b"old"), (b"old",)])
def test_a_round_continues_after_a_rotation_of_the_secret(world: World, others: tuple[bytes, ...]) -> None:
    """During a rotation, some instances have the old secret and some the new one."""
    first = ModernClient(with_secrets(world, b"old"), capabilities=ASKING_CAPABILITY).call("optional")
    rotated = ModernClient(with_secrets(world, b"new", others), capabilities=ASKING_CAPABILITY)
    world.succeed(only_task(world), OUTPUT)

    second = again(rotated, first)

    assert second.result["structuredContent"] == OUTPUT
    assert len(world.workflows.starts) == 1


# M45
def test_a_state_signed_with_an_unknown_secret_is_refused_after_a_rotation_too(world: World) -> None:
    first = ModernClient(with_secrets(world, b"of somebody else"), capabilities=ASKING_CAPABILITY).call("optional")

    refused = again(ModernClient(with_secrets(world, b"new", (b"new", b"old")), capabilities=ASKING_CAPABILITY), first)

    assert refused.code == -32602


def with_secrets(world: World, secret: bytes, others: tuple[bytes, ...] = ()) -> World:
    """Return the same world behind an instance with this secret, which finds the others when it reads them again."""
    services = replace(world.services, secret=lambda: secret, other_secrets=lambda: others)
    instance = copy(world)
    instance.server = McpServer(services, world.server.allowed_origins, world.server.report)
    return instance
