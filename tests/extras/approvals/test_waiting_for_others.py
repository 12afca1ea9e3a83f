"""What the caller of a tool sees while others decide, in both eras: work that goes on, and never their question."""

import pytest
from msgspec.structs import replace

from tests.extras.approvals.approving import POLICY, REFUND, Decider, ask, refunds, signed_in, started, words
from tests.kits import ALICE, OPTIONAL, OUTPUT, World, catalog_of, keeping
from tests.server.answers import Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import ACCEPT, DECLINE, answers_of, questions

WAITS = "Waits for one of finance to decide, until Saturday 2026-08-01 13:00 UTC."
OF_ONE_KEY = keeping(REFUND, approvals=replace(POLICY, questions=("approval",)))
"""Others decide the question `approval`, and the caller answers every other."""


def asking(world: World) -> ModernClient:
    return ModernClient(signed_in(world, "alice"), ALICE, {**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def test_the_task_of_a_modern_client_works_and_says_whom_it_waits_for(world: World) -> None:
    task_id = started(world, timeout_seconds=3600)

    shown = asking(world).task("get", task_id).result

    assert (shown["status"], shown["statusMessage"]) == ("working", WAITS)
    assert "inputRequests" not in shown


def test_the_task_of_an_older_client_works_and_its_stream_asks_nothing(world: World) -> None:
    client = LegacyClient.opened(signed_in(world, "alice"), capabilities=ASKING_CAPABILITY)
    task_id = client.start("refund")
    ask(world, task_id, timeout_seconds=3600)

    first = client.task("result", task_id)
    shown = client.task("get", task_id).result
    messages = client.follow(first, between=lambda _: world.succeed(task_id, OUTPUT))

    assert (shown["status"], shown["statusMessage"]) == ("working", WAITS)
    assert questions(messages) == []
    assert messages[-1]["result"]["structuredContent"] == OUTPUT


def test_an_answer_of_the_caller_to_a_question_for_others_changes_nothing(world: World) -> None:
    task_id = started(world)

    answer = asking(world).update(task_id, {"approval": ACCEPT})

    assert answer.status == 200
    assert answers_of(world) == {}


def test_of_questions_to_both_the_caller_gets_their_own() -> None:
    world = World(catalog=catalog_of(OF_ONE_KEY))
    task_id = started(world)
    ask(world, task_id, "reason")

    shown = asking(world).task("get", task_id).result

    assert (shown["status"], shown["statusMessage"]) == ("input_required", "Waiting for an answer: May it go on?")
    assert list(shown["inputRequests"]) == ["reason"]


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_model_reads_that_others_decide_and_that_it_must_not(world: World, era: str) -> None:
    endpoint = signed_in(world, "alice")
    capable: Json = {"elicitation": {"form": {}}}
    client = ModernClient(endpoint, ALICE, capable) if era == "modern" else LegacyClient.opened(endpoint)
    task_id = started(world)

    result = client.call("task_result", {"task_id": task_id, "wait_seconds": 0}).result

    assert "Waits for one of finance to decide" in words(result)
    assert "nobody can answer it here, so do not try" in words(result)
    assert "your user can" not in words(result)


def test_a_wait_of_a_model_ends_when_others_are_asked(world: World) -> None:
    client = ModernClient(signed_in(world, "alice"), ALICE, {})
    task_id = asking(world).start("refund")
    world.clock.on_sleep = lambda: ask(world, task_id)

    result = client.call("task_result", {"task_id": task_id}).result

    assert "Waits for one of finance to decide" in words(result)
    assert len(world.clock.slept) == 1


@pytest.mark.parametrize(
    ("shows", "message"),
    [
        (True, "bob@example.com of finance refused, 2026-08-01 12:00 UTC."),
        (False, "finance refused, 2026-08-01 12:00 UTC."),
    ],
)
def test_the_decision_is_the_message_of_the_task_with_who_made_it_if_the_manifest_shows_it(
    shows: bool, message: str
) -> None:
    world = refunds(replace(POLICY, shows_decision=shows))
    task_id = started(world)
    bob = Decider.of(world, "modern")

    bob.decide(bob.listed()[0]["approvalId"], DECLINE)

    shown = asking(world).task("get", task_id).result
    world.succeed(task_id, OUTPUT)
    ended = asking(world).task("get", task_id).result
    assert (shown["status"], shown["statusMessage"]) == ("working", message)
    assert (ended["status"], ended["statusMessage"]) == ("completed", message)


def test_a_tool_without_approvers_keeps_nothing_of_who_called() -> None:
    world = World(catalog=catalog_of(OPTIONAL))
    client = ModernClient(signed_in(world, "alice"))

    client.start()

    (task,) = world.store.tasks.values()
    assert (task.origin.person, task.work.routes) == (None, {})
