"""A store in bad weather: it does not answer its next reads."""

from dataclasses import dataclass, field
from datetime import timedelta

from stepwire.errors import StoreBusy
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import Task
from tests.fakes import FixedClock, InMemoryTaskStore


@dataclass
class Stormy(InMemoryTaskStore):
    """A store that does not answer its next reads."""

    busy: int = 0
    """How many reads it does not answer."""
    clock: FixedClock = field(default_factory=FixedClock)
    takes: timedelta = timedelta()
    """How long it takes to say so."""

    def __post_init__(self) -> None:
        super().__init__()

    def load(self, key: TaskKey) -> Task | None:
        if self.busy:
            self.busy -= 1
            self.clock.time += self.takes
            raise StoreBusy
        return super().load(key)
