"""Tools with idempotency keys made of arguments, on the real handlers: concurrent calls, and AWS calls."""

from collections.abc import Iterator
from functools import partial

import pytest

from benchmarks.cost import calls
from stepwire_local import never
from tests.integration.clock import Clock
from tests.integration.stacks import OWN, Deployed, deployed
from tests.integration.test_threads import ROUNDS, THREADS, id_in, together
from tests.server.answers import Answer, Json
from tests.server.clients import LegacyClient, ModernClient

Client = LegacyClient | ModernClient


@pytest.fixture(scope="module")
def running_stack(clock: Clock) -> Iterator[Deployed]:
    """A stack with the tool and two instances per function. No status event arrives."""
    with deployed(OWN, never, 2, clock) as stack:
        yield stack


@pytest.fixture
def stack(running_stack: Deployed) -> Deployed:
    """The same stack, with the counts reset."""
    running_stack.calls.forget()
    return running_stack


def begin(client: Client, order: str, **more: object) -> Answer:
    """Call the tool with a task."""
    params: Json = {"name": "parrot_once", "arguments": {"order": order, **more}}
    as_task: Json = {"task": {}} if isinstance(client, LegacyClient) else {}
    return client.ask("tools/call", {**params, **as_task})


def is_marked(answer: Answer) -> bool:
    """Tell whether the call started nothing."""
    return "stepwire/repeated" in answer.result.get("_meta", {})


# X8
@pytest.mark.long
def test_concurrent_equal_calls_start_one_task_and_only_one_answer_has_no_mark(stack: Deployed) -> None:
    clients: list[Client] = [ModernClient(stack), LegacyClient(stack)] * (THREADS // 2)
    for number in range(ROUNDS):
        before = set(stack.executions())

        # Each call has its own text, so no two of them write the same task.
        answers = together(
            [partial(begin, client, f"at once {number}", note=place) for place, client in enumerate(clients)]
        )

        (task_id,) = {id_in(answer) for answer in answers}
        (execution,) = set(stack.executions()) - before
        assert execution.endswith(task_id)
        assert [is_marked(answer) for answer in answers].count(False) == 1


@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_an_equal_call_makes_the_aws_calls_of_a_repeated_call_with_a_key(stack: Deployed, era: type[Client]) -> None:
    client, order = era(stack), f"of {era.__name__}"
    begin(client, "before")
    stack.calls.forget()
    begin(client, order)
    first = list(stack.calls.made)
    begin(client, order)  # the first repetition saves the task, so that it is not rolled back
    stack.calls.forget()

    begin(client, order)

    # One more, as for any call, if the caller has just created another task.
    assert first in ([*calls.KEYED], ["PutItem", "UpdateItem", *calls.CREATE])
    assert stack.calls.made == [*calls.REPEATED]


# DynamoDB has not deleted the item by then: in this stack it never does.
def test_a_call_after_the_window_starts_another_task_with_one_write_more(stack: Deployed, clock: Clock) -> None:
    client = ModernClient(stack)
    first = begin(client, "monthly")
    clock.move(seconds=3601)
    stack.calls.forget()

    second = begin(client, "monthly")

    assert (id_in(second) != id_in(first), is_marked(second)) == (True, False)
    assert stack.calls.made == ["PutItem", *calls.KEYED]
