"""Many events and receivers, some of them slow or dead: simulated, so no time passes."""

from collections import defaultdict
from functools import partial
from statistics import median
from typing import Final

import pytest

from stepwire.extras.events.delivering import IS_SLOW_AFTER, PLACES
from stepwire.principal import Principal
from tests.extras.events.load import CONCURRENCY, DEAD, Simulation
from tests.virtual_time import VirtualTime

EVENTS: Final = 2_000
RECEIVERS: Final = 100
SPACING: Final = 0.06  # seconds
QUICK: Final = 0.1
SLOW: Final = 9.0
VICTIM: Final = "https://victim.example/"
SUBSCRIPTIONS: Final = 100  # of each caller who attacks


def attacked(
    callers: int, tasks_a_minute: float, seconds: float, subscriptions: int = SUBSCRIPTIONS
) -> tuple[list[float], int]:
    """Let callers have 100 receivers each that answer after 9 s; each task of theirs changes twice.

    Return how late the events of another caller are, one in 20 s, and how many messages the queue has held.
    """
    with VirtualTime() as time:
        stack = Simulation(time)
        victim = stack.subscribe("victim", {VICTIM: QUICK})
        began: dict[str, float] = {}
        for number in range(callers):
            urls = {f"https://{number}.example/{one}": SLOW for one in range(subscriptions)}
            owner = stack.subscribe(f"caller {number}", urls)
            for change in range(int(seconds * tasks_a_minute / 30)):
                time.at(change * 30 / tasks_a_minute, partial(stack.change, owner))
        for number in range(1, int(seconds / 20)):

            def happen() -> None:
                began[stack.change(victim)] = time.now

            time.at(number * 20, happen)
        time.run(seconds)
        late = [at - began[task] for task, at in stack.got[VICTIM]]
        return late + [float("inf")] * (len(began) - len(late)), stack.queue.longest


ATTACKS: Final = {
    "one caller, 15 tasks a minute": (1, 15, 200),
    "one caller, 120 tasks a minute": (1, 120, 200),
    "three callers, 6 tasks a minute each": (3, 6, 300),
    "ten callers, 6 tasks a minute each": (10, 6, 200),
}


@pytest.mark.parametrize(
    "attack",
    [pytest.param(one, marks=pytest.mark.long if one[0] > 1 else (), id=name) for name, one in ATTACKS.items()],
)
def test_slow_receivers_of_some_callers_delay_nobody_else_and_fill_no_queue(attack: tuple[int, int, float]) -> None:
    late, messages = attacked(*attack)

    assert max(late) < 0.5, "seconds, of which its own receiver takes 0.1"
    assert messages <= attack[0] * SUBSCRIPTIONS + 1, "a subscription has one message at most"


def delays(dead: int, *, takes_more: bool = True) -> list[float]:
    """Let two thousand events happen to a hundred callers, some with a dead receiver; return how late they arrive."""
    with VirtualTime() as time:
        stack = Simulation(time, takes_more=takes_more)
        urls = [f"https://{number}.example/" for number in range(RECEIVERS)]
        ill = set(urls[:: RECEIVERS // dead] if dead else ())
        owners = [stack.subscribe(url, {url: DEAD if url in ill else QUICK}) for url in urls]
        began: dict[str, float] = {}
        expected: dict[str, list[str]] = defaultdict(list)

        def happen(url: str, owner: Principal) -> None:
            task = stack.change(owner)
            began[task] = time.now
            expected[url].append(task)

        for number in range(EVENTS):
            one = number % RECEIVERS
            time.at(number * SPACING, lambda one=one: happen(urls[one], owners[one]))
        time.run(2 * 86_400)

        for url in urls:
            assert [task for task, _ in stack.got[url]] == ([] if url in ill else expected[url]), "each once, in order"
        return sorted(at - began[task] for got in stack.got.values() for task, at in got)


def test_a_caller_is_served_beside_one_with_slow_receivers_for_each_delivery_at_a_time_and_two_more() -> None:
    places = CONCURRENCY * PLACES.all

    late, _ = attacked(places + 2, 0.4, 150, PLACES.each)

    assert max(late) < SLOW, "no longer than one delivery"


@pytest.mark.long
def test_dead_receivers_lose_no_event_and_delay_no_other_receiver() -> None:
    usual, hampered = delays(dead=0), delays(dead=RECEIVERS // 10)

    assert len(hampered) == len(usual) * 9 // 10
    assert median(hampered) == pytest.approx(median(usual), abs=0.05)
    assert hampered[-1] <= usual[-1] + 2 * IS_SLOW_AFTER


@pytest.mark.long
def test_invocations_that_only_wait_would_delay_the_others() -> None:
    """The simulation notices what it is for."""
    assert delays(dead=RECEIVERS // 10, takes_more=False)[-1] > DEAD / 2
