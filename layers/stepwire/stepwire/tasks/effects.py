"""What follows an event: data that `lifecycle.advance` returns and `engine.runs` performs, and nothing else does."""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from stepwire.tasks.task import Task


class Start(Struct, frozen=True):
    """Start or redrive the execution of a run."""

    run: int


class Wake(Struct, frozen=True):
    """Begin a run at a time to come."""

    run: int
    at: datetime


class Stop(Struct, frozen=True):
    """Stop the execution of a run: its task has ended."""

    run: int


Effect: TypeAlias = Start | Wake | Stop


class Advanced(Struct, frozen=True):
    """A task after an event, and what follows."""

    task: Task
    effects: tuple[Effect, ...] = ()
