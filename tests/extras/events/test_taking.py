"""Which messages an invocation of function webhooks takes, and when they begin: in virtual time."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from stepwire.extras.events.delivering import IS_SLOW_AFTER, PLACES, TAKES_MORE_FOR, Job, Taking
from stepwire.principal import Principal
from tests.extras.events.load import Threads
from tests.kits import ALICE, BOB
from tests.virtual_time import VirtualTime


@dataclass
class Invocation:
    """An invocation, and what came of its messages."""

    time: VirtualTime
    more: list[list[Job] | None] = field(default_factory=list[list[Job] | None])
    """What further calls of the queue return."""
    rooms: list[int] = field(default_factory=list[int])
    """How many messages each of them has asked for."""
    began: dict[str, float] = field(default_factory=dict[str, float])
    put_back: list[str] = field(default_factory=list[str])
    ended_at: float | None = None

    def job(self, name: str, seconds: float, owner: Principal = ALICE) -> Job:
        def deliver() -> None:
            self.began[name] = self.time.now
            self.time.sleep(seconds)

        return Job(owner, deliver, lambda: self.put_back.append(name))

    def run(self, *batch: Job, spread: float = 1) -> None:
        def act() -> None:
            Taking(Threads(self.time), self._receive).run(batch, spread)
            self.ended_at = self.time.now

        self.time.spawn(act)
        self.time.run(1_000)

    def _receive(self, most: int) -> list[Job] | None:
        self.rooms.append(most)
        self.time.sleep(1 if not self.more else 0.01)
        return self.more.pop(0) if self.more else []


@pytest.fixture
def invocation() -> Iterator[Invocation]:
    with VirtualTime() as time:
        yield Invocation(time)


def callers(number: int) -> Principal:
    return Principal(f"caller {number}")


def test_a_quick_batch_takes_nothing_more(invocation: Invocation) -> None:
    invocation.run(invocation.job("one", IS_SLOW_AFTER / 2), invocation.job("two", IS_SLOW_AFTER / 2))

    assert (invocation.rooms, invocation.ended_at) == ([], IS_SLOW_AFTER / 2)


def test_one_caller_has_its_share_and_leaves_the_rest_to_others(invocation: Invocation) -> None:
    mine = [invocation.job(f"mine {number}", 9) for number in range(2 * PLACES.each)]
    invocation.more = [[invocation.job("another's", 0.1, BOB)]]

    invocation.run(*mine)

    assert [at for name, at in invocation.began.items() if name != "another's"] == [0] * PLACES.each + [9] * PLACES.each
    assert invocation.began["another's"] < 1
    assert invocation.rooms[0] == PLACES.all - PLACES.each


def test_a_full_invocation_takes_more_as_soon_as_one_delivery_ends(invocation: Invocation) -> None:
    full = [invocation.job(f"{number}", 9 if number else 1, callers(number)) for number in range(PLACES.all)]
    invocation.more = [[invocation.job("next", 0.1, BOB)]]

    invocation.run(*full)

    assert invocation.began["next"] == pytest.approx(1, abs=0.05)


def test_a_fault_of_the_queue_is_waited_out(invocation: Invocation) -> None:
    invocation.more = [None, [invocation.job("next", 0.1, BOB)]]

    invocation.run(invocation.job("slow", 9))

    assert invocation.began["next"] < 2


@pytest.mark.parametrize("spread", [0, 0.5, 1])
def test_an_invocation_ends_at_a_time_of_its_own_and_gives_back_what_has_not_begun(
    invocation: Invocation, spread: float
) -> None:
    names = [f"{number}" for number in range(10 * PLACES.each)]
    end = TAKES_MORE_FOR * (1 + spread) / 2

    invocation.run(*(invocation.job(name, 9) for name in names), spread=spread)

    assert sorted([*invocation.began, *invocation.put_back], key=int) == names
    assert max(invocation.began.values()) <= end
    assert invocation.ended_at is not None
    assert end <= invocation.ended_at <= end + 10
