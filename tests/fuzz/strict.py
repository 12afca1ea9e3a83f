"""A world with the limits of AWS: what is sent must be within them, and is read back unchanged.

The limits are those of the API references; a text that is not valid Unicode (half a surrogate pair) is rejected.
"""

import copy
from dataclasses import dataclass
from typing import Final, TypeVar

from stepwire.aws.storage.items import item_of, task_of
from stepwire.json_text import write
from stepwire.tasks.task import Execution, Task
from tests.fake_workflows import FakeWorkflows
from tests.fakes import FixedClock, InMemoryTaskStore
from tests.kits import World

LARGEST_ITEM: Final = 409_600  # bytes
LARGEST_PAYLOAD: Final = 262_144  # bytes of an execution's input and of a state's output
LONGEST_CAUSE: Final = 32_768  # characters
LONGEST_ERROR: Final = 256  # characters
LONGEST_NAME: Final = 80  # characters
_Part = TypeVar("_Part")


class StrictStore(InMemoryTaskStore):
    """Stores only tasks that fit into an item, and checks that they are read back unchanged."""

    def _put(self, task: Task) -> Task:
        item = item_of(task)
        assert len(write(item).encode()) <= LARGEST_ITEM, "the task must fit into an item"
        assert task_of(item) == task, "the task must be read back unchanged"
        return super()._put(task)


@dataclass
class StrictWorkflows(FakeWorkflows):
    """Accepts only what Step Functions accepts."""

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        assert len(input_text.encode()) <= LARGEST_PAYLOAD, "the input is too large"
        assert 0 < len(execution.name) <= LONGEST_NAME, "the execution name is invalid"
        super().start(execution, input_text, trace_header)

    def complete_callback(self, token: str, output: str) -> bool:
        assert len(output.encode()) <= LARGEST_PAYLOAD, "the output is too large"
        return super().complete_callback(token, output)

    def fail_callback(self, token: str, error: str, cause: str) -> None:
        assert len(error) <= LONGEST_ERROR, "the error's name is too long"
        assert len(cause) <= LONGEST_CAUSE, "the cause is too long"
        assert cause.encode(), "a failed state must have an error name"
        super().fail_callback(token, error, cause)


def copied(world: World) -> World:
    """Copy a world quickly: tasks are immutable, so only their containers are copied."""
    return World(
        patience=world.patience,
        catalog=world.catalog,
        clock=FixedClock(world.clock.time),
        store=_copied(world.store),
        workflows=_copied(world.workflows),
    )


def _copied(part: _Part) -> _Part:
    clone = copy.copy(part)
    for name, value in vars(clone).items():
        if isinstance(value, dict | list | set):
            setattr(clone, name, copy.copy(value))  # pyright: ignore[reportUnknownArgumentType] - of whatever it holds
    return clone
