"""Count what it costs to count one caller's active tasks, with so many of them open: which items are written and read.

The rule: `stepwire.tasks.limiter` decides where each task is counted. Here are only the items, and what each call
costs. Each task that ends is followed by a new one; the seed is fixed.
"""

import math
import random
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from stepwire.tasks.ids import RANDOM_BYTES, TaskId, new_task_id
from stepwire.tasks.limiter import Limits, home_of
from tests.fakes import START_OF_TIME

SEED: Final = 7
TASKS: Final = 10_000
"""That are created and ended before it is counted, so that the shards are as they are in the long run, and then."""
_ID: Final = 36  # bytes of a task's id
_REST: Final = 150  # bytes of the item beside the ids


@dataclass
class Counted:
    """What a task costs, from its creation to its end."""

    written: float = 0
    read: float = 0
    calls: float = 0


@dataclass
class Caller:
    """The active tasks of a caller, by shard."""

    limits: Limits
    sizes: list[int] = field(default_factory=list[int])
    counted: Counted = field(default_factory=Counted)

    def __post_init__(self) -> None:
        self.shares = [self.limits.share(shard).active for shard in range(self.limits.shards)]
        self.sizes = [0] * len(self.shares)

    def begin(self, task_id: TaskId) -> int:
        """Count a task, and return its shard."""
        shard = home_of(task_id, self.limits)
        self._write(shard, more=1)
        if self._has_room(shard):
            self.sizes[shard] += 1
            return shard
        self.counted.read += math.ceil(sum(map(self._bytes, range(len(self.sizes)))) / 4096)
        open_shards = [one for one in range(len(self.sizes)) if self._has_room(one)]
        shard = open_shards[crc32(task_id.encode()) % len(open_shards)]
        self._write(shard, more=1)
        self.counted.calls += 1
        self.sizes[shard] += 1
        return shard

    def end(self, shard: int) -> None:
        """Free the slot of a task."""
        self._write(shard)
        self.sizes[shard] -= 1

    def _has_room(self, shard: int) -> bool:
        return self.sizes[shard] < self.shares[shard]

    def _write(self, shard: int, more: int = 0) -> None:
        self.counted.calls += 1
        self.counted.written += math.ceil((self._bytes(shard) + _ID * more) / 1024)

    def _bytes(self, shard: int) -> int:
        return _REST + _ID * self.sizes[shard]


def counted_tasks(count: int, most: int) -> Counted:
    """Return what a task costs while so many tasks are open, of at most so many."""
    chance = random.Random(SEED)  # noqa: S311 - the same chance each time
    caller = Caller(Limits(active=most))
    shards = [caller.begin(_new_id(chance)) for _ in range(count)]
    for number in range(2 * TASKS):
        if number == TASKS:
            caller.counted = Counted()
        position = chance.randrange(count)
        caller.end(shards[position])
        shards[position] = caller.begin(_new_id(chance))
    found = caller.counted
    return Counted(found.written / TASKS, found.read / TASKS, found.calls / TASKS)


def _new_id(chance: random.Random) -> TaskId:
    return new_task_id(START_OF_TIME, chance.randbytes(RANDOM_BYTES))
