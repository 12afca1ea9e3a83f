"""The largest item of an active task, built only with requests of clients and events of workflows.

DynamoDB allows items of 400 KB. The largest parts are the input and output schema, open questions, the reasons of wrong
answers, undelivered answers, used keys, and texts.
"""

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.aws.storage.items import divided, item_of, task_of
from stepwire.engine.answers import WrongAnswer
from stepwire.engine.calls import ToolCall
from stepwire.json_text import JsonObject, write
from stepwire.manifests.manifest import LARGEST_SCHEMA
from stepwire.protocol.messages import LONGEST_ID
from stepwire.tasks.inputs import LARGEST_CONTENT, MOST_QUESTIONS
from stepwire.tasks.task import LARGEST_INPUT, LONGEST_TTL, Origin, Task
from tests.extras import parts
from tests.kits import ALICE, BOTH_MODES, OPTIONAL, World, plan_of, state_machine_arn
from tests.tables import size_of

LARGEST_ITEM: Final = 400 * 1024
LARGEST_SQUARE: Final = "\N{LARGE RED SQUARE}"  # four bytes
SCHEMA: Final[JsonObject] = {"type": "object", "properties": {"a": {"type": "string"}}}


def called(world: World) -> Task:
    """Call a tool with arguments of the maximum size."""
    schema = {"type": "object", "description": "x" * (LARGEST_SCHEMA - len('{"type":"object","description":""}'))}
    tool = replace(
        OPTIONAL,
        name="n" * 128,
        plan=plan_of(state_machine_arn("m" * 80)),
        output_schema=write(schema),
        poll_interval=timedelta(hours=1),
    )
    arguments = {"text": "x" * (LARGEST_INPUT - len('{"text":""}'))}
    origin = Origin(BOTH_MODES, "\x01" * LONGEST_ID, "d" * 32)
    return world.calls.call(ToolCall(ALICE, tool, arguments, LONGEST_TTL // timedelta(milliseconds=1), origin))


@dataclass(frozen=True)
class Filling:
    """How a task is filled."""

    token: int
    """The length of tokens; AWS allows 2,048 characters."""
    message: str
    """The message of each question."""
    content: str
    """The answer of the user to each question."""

    def ask(self, world: World, task: Task, number: int) -> None:
        """Ask another question; the state fails if the task is full."""
        token = f"{number:03d}".ljust(self.token, "t")
        form = {"message": self.message, "requestedSchema": SCHEMA}
        world.ask(task.task_id, "k" * 64, form, token=token, seconds=31_622_400)

    def has_answered(self, world: World, task: Task) -> bool:
        """Answer all open questions while no answer can be delivered; return whether the answers fitted."""
        answer = {"action": "accept", "content": {"a": self.content}}
        keys = [request.key for request in world.stored(task).input_requests]
        after = world.answers.respond(ALICE, task.task_id, dict.fromkeys(keys, answer))
        return not any(request.refusal for request in after.input_requests)


def filled(world: World, filling: Filling, most_answers: int) -> Task:
    """Return a task of the maximum size: full of undelivered answers, then of open questions and refusals."""
    task = called(world)
    world.progress(task.task_id, 1.2345678901234567e-300, 1.2345678901234567e-300, LARGEST_SQUARE * 2_000)
    numbers = iter(range(MOST_QUESTIONS + 1))
    for number in islice(numbers, most_answers):
        world.workflows.is_available = True  # the same question is asked often: each time, the states before still wait
        filling.ask(world, task, number)
        world.workflows.is_available = False
        if not filling.has_answered(world, task):
            break
    world.workflows.is_available = True
    for number in numbers:
        filling.ask(world, task, number)
    full = world.stored(task)
    for part in parts("largest"):
        full = part.noted_most(world, full)
    wrong = WrongAnswer(LARGEST_SQUARE * 2_000)
    world.answers.ask_again(full, {request.key: wrong for request in full.input_requests})
    return world.stored(task)


FILLINGS: Final = {
    "few large questions": Filling(2_048, "m" * 4_000, "x" * (LARGEST_CONTENT - 8)),
    "many small questions": Filling(3, "m", "x"),
    "many middling questions": Filling(3, "m" * 300, "x" * 700),
    "long tokens": Filling(2_048, "m", ""),
    "words that JSON writes longer": Filling(700, '"' * 2_000, '"' * (LARGEST_CONTENT // 2 - 8)),
    "control characters": Filling(3, "\x01" * 2_000, "\x01" * (LARGEST_CONTENT // 6 - 8)),
    "the largest characters": Filling(3, LARGEST_SQUARE * 2_000, LARGEST_SQUARE * (LARGEST_CONTENT // 4 - 8)),
}


@pytest.mark.parametrize("most_answers", [0, 3, 50, MOST_QUESTIONS])
@pytest.mark.parametrize("how", FILLINGS)
def test_the_largest_task_that_runs_fits_into_an_item(how: str, most_answers: int) -> None:
    world = World()
    task = filled(world, FILLINGS[how], most_answers)
    whole = replace(task, work=replace(task.work, terms=world.terms_of(task)))

    stored = divided(whole)

    assert not task.has_ended
    assert all(size_of(item) < LARGEST_ITEM for item in (stored.item, *stored.parts))
    assert task_of(item_of(whole)) == whole
    assert task_of(stored.item) == stored.head


def test_the_largest_task_is_at_every_limit() -> None:
    world = World()
    task = filled(world, FILLINGS["few large questions"], 3)

    terms = world.terms_of(task)
    assert len(terms.input) == LARGEST_INPUT
    assert len(terms.output_schema or "") == LARGEST_SCHEMA
    assert len(task.inputs.undelivered) > 1
    assert len(task.input_requests) > 1
    whole = replace(task, work=replace(task.work, terms=terms))
    assert size_of(item_of(whole)) > 0.9 * LARGEST_ITEM
