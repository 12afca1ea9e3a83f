"""A world in which AWS is as strict as it is: what is sent to it must be what it takes, and be read back as it was.

The limits are those of the APIs' reference; a text that is not Unicode throughout (half a surrogate pair) is none.
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
LARGEST_PAYLOAD: Final = 262_144  # bytes of an execution's input, and of the output of a state
LONGEST_CAUSE: Final = 32_768  # characters
LONGEST_ERROR: Final = 256  # characters
LONGEST_NAME: Final = 80  # characters
_Part = TypeVar("_Part")


class StrictStore(InMemoryTaskStore):
    """Keeps tasks that fit into an item, and that come back from it as they were."""

    def _put(self, task: Task) -> Task:
        item = item_of(task)
        assert len(write(item).encode()) <= LARGEST_ITEM, "the task does not fit into an item"
        assert task_of(item) == task, "the task is another when it is read back"
        return super()._put(task)


@dataclass
class StrictWorkflows(FakeWorkflows):
    """Takes what Step Functions takes."""

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        assert len(input_text.encode()) <= LARGEST_PAYLOAD, "the input is too large"
        assert 0 < len(execution.name) <= LONGEST_NAME, "the name is none"
        super().start(execution, input_text, trace_header)

    def complete_callback(self, token: str, output: str) -> None:
        assert len(output.encode()) <= LARGEST_PAYLOAD, "the output is too large"
        super().complete_callback(token, output)

    def fail_callback(self, token: str, error: str, cause: str) -> None:
        assert len(error) <= LONGEST_ERROR, "the error's name is too long"
        assert len(cause) <= LONGEST_CAUSE, "the cause is too long"
        assert cause.encode(), "a state that fails says why"
        super().fail_callback(token, error, cause)


def copied(world: World) -> World:
    """Copy a world, as fast as can be: tasks never change, only what holds them."""
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
