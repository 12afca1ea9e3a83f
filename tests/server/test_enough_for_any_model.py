"""Each answer about work that goes on is enough for a model that sees its text alone, or its structured content alone.

What a client declares is a hint: its library may refuse rounds, its host may show no card. So whatever it declares, a
model reads what happened, the id of the task, and the next call with its arguments; and nothing is started twice.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import pytest

from stepwire.rendering import UNFINISHED_TASK
from tests.extras import parts
from tests.kits import OUTPUT, TOOLS, World, catalog_of
from tests.server.answers import Answer
from tests.server.clients import ASKING_CAPABILITY, LegacyClient
from tests.server.fetching import ASKING, NEXT_STEP, RIGHT, Client, on_first_sleep, without_tasks
from tests.server.messages import only_task


@dataclass(frozen=True)
class Case:
    """An answer that is not a tool's own result."""

    name: str
    answer: Callable[[World, Client], Answer]
    says: str
    """What happened, in words."""
    next_tool: str | None
    """The tool that the model calls next; None: there is nothing more to do."""


def working(world: World, client: Client) -> Answer:
    return client.call("optional")


def asking_the_model(world: World, client: Client) -> Answer:
    on_first_sleep(world, lambda: world.ask(only_task(world)))
    return client.call("asking")


def asking_a_person(world: World, client: Client) -> Answer:
    task_id = world.call().task_id
    world.ask(task_id)
    return fetched(client, task_id)


def fetched(client: Client, task_id: str) -> Answer:
    return client.call("task_result", {"task_id": task_id, "wait_seconds": 0})


def answered(world: World, client: Client, key: str = "approval", amount: int = 7) -> Answer:
    task_id = world.call(ASKING).task_id
    world.ask(task_id)
    return client.call("task_answer", {"task_id": task_id, "question": key, "answer": {**RIGHT, "amount": amount}})


def answered_for_a_person(world: World, client: Client) -> Answer:
    task_id = world.call().task_id
    world.ask(task_id)
    return client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": RIGHT})


def answered_too_late(world: World, client: Client) -> Answer:
    return client.call("task_answer", {"task_id": world.call(ASKING).task_id, "question": "approval", "answer": RIGHT})


def cancelled(world: World, client: Client) -> Answer:
    return client.call("task_cancel", {"task_id": world.call().task_id})


def cancelled_after_the_end(world: World, client: Client) -> Answer:
    task_id = world.call().task_id
    world.succeed(task_id, OUTPUT)
    return client.call("task_cancel", {"task_id": task_id})


def result_of_cancelled(world: World, client: Client) -> Answer:
    task_id = world.call().task_id
    client.call("task_cancel", {"task_id": task_id})
    return fetched(client, task_id)


CASES: Final = (
    Case("working", working, "is not done yet", "task_result"),
    Case("asking the model", asking_the_model, "an answer that you may give", "task_answer"),
    Case("asking a person", asking_a_person, "an answer that a person gives", "task_result"),
    Case("answered", answered, "The answer was taken", "task_result"),
    Case("a wrong answer", lambda w, c: answered(w, c, amount=0), "The answer was not accepted", "task_answer"),
    Case("a wrong key", lambda w, c: answered(w, c, key="other"), "Nothing was answered", "task_answer"),
    Case("answered for a person", answered_for_a_person, "waits for a person, not for you", "task_result"),
    Case("answered too late", answered_too_late, "has no open question", "task_result"),
    Case("cancelled", cancelled, "was cancelled", None),
    Case("cancelled after the end", cancelled_after_the_end, "had ended already, as completed", "task_result"),
    Case("the result of a cancelled task", result_of_cancelled, "was cancelled, so it has no result", None),
)
CLIENTS: Final[dict[str, Callable[[World], Client]]] = {
    "2025-11-25": lambda world: without_tasks(world, "legacy"),
    "2026-07-28": lambda world: without_tasks(world, "modern"),
    "2025-06-18, declares elicitation": lambda world: LegacyClient.opened(
        world, "2025-06-18", capabilities=ASKING_CAPABILITY
    ),
    **{name: opened for part in parts("enough") for name, opened in part.CLIENTS.items()},
}


def read_alone(answer: Answer) -> list[str]:
    """Return what a model reads that sees one part alone; a host shows the text where there is no other content."""
    structured = answer.result.get("structuredContent")
    return [answer.text, *([] if structured is None else [str(structured[UNFINISHED_TASK]["instructions"])])]


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.name)
@pytest.mark.parametrize("name", CLIENTS)
def test_each_part_alone_says_what_happened_to_which_task_and_what_to_call_next(name: str, case: Case) -> None:
    world = World(catalog=catalog_of(*TOOLS, ASKING))
    answer = case.answer(world, CLIENTS[name](world))
    (task_id,) = (key.task_id for key in world.store.tasks)

    for read in read_alone(answer):
        assert case.says in read
        assert task_id in read
        step = NEXT_STEP.search(read)
        assert (step and step[1]) == case.next_tool
        if step is not None:
            assert json.loads(step[2])["task_id"] == task_id
    assert len(world.workflows.starts) == 1


@pytest.mark.parametrize("name", CLIENTS)
def test_a_question_for_a_person_says_where_it_can_be_answered(name: str) -> None:
    world = World()

    answer = asking_a_person(world, CLIENTS[name](world))

    for read in read_alone(answer):
        assert "from a client that supports MCP elicitation, signed in as the same user" in read


# Codex declares elicitation in 2025-06-18, in which nothing can be asked of it here.
def test_no_client_that_declares_elicitation_reads_that_it_cannot_ask_its_user() -> None:
    world = World()
    client = CLIENTS["2025-06-18, declares elicitation"](world)

    read = [*read_alone(asking_a_person(world, client)), client.call("confirmed").error["message"]]

    assert not [one for one in read if "client cannot" in one]
    assert "over this client's connection" in read[0]
