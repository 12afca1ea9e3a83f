"""Requests that wait: how many may wait, and how long (A5, B9)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from stepwire.aws.invocations import SystemClock, deadline_of
from stepwire.engine.limiter import ALL_CALLERS, TIME_TO_ANSWER, HeldPlace
from stepwire.errors import StoreBusy
from stepwire.principal import Principal, principal_of
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.results import has_ended
from stepwire.server.services import Patience
from stepwire.tasks.limiter import Places, Refused
from stepwire.tasks.task import Completed, Task, Working
from tests.kits import ALICE, BOB, FORBIDDEN, OPTIONAL, OUTPUT, World
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient

TIMEOUT = timedelta(seconds=29)  # the timeout of function mcp
LONGEST_CALL = 7.0  # seconds; two attempts that time out
WAIT = timedelta(seconds=20)


def following(world: World, task: Task, deadline: datetime | None = None) -> Iterator[Task]:
    return world.operations.watch(task, WAIT, has_ended, deadline)


# --------------------------------------------------------------------------------------------------------- the deadline


@pytest.mark.parametrize("seconds_left", [9, 10, 15, 29, 60])
def test_a_wait_ends_while_there_is_time_to_answer(seconds_left: int) -> None:
    world = World()
    began = world.clock.now()
    deadline = began + timedelta(seconds=seconds_left)

    *_, task = following(world, world.call(), deadline)

    assert not task.has_ended
    assert world.clock.now() <= max(began, deadline - TIME_TO_ANSWER)
    assert world.clock.now() - began == min(WAIT, deadline - TIME_TO_ANSWER - began)


def test_a_wait_uses_the_time_that_earlier_calls_left() -> None:
    """AWS calls may take 15 seconds before the task exists: then the wait is shorter."""
    world = World()
    began = world.clock.now()
    task = world.call()
    world.clock.advance(seconds=15)

    list(following(world, task, began + TIMEOUT))

    assert world.clock.now() - began == TIMEOUT - TIME_TO_ANSWER


@dataclass(frozen=True)
class Context:
    """The part of Lambda's context object that the function uses."""

    left: int

    def get_remaining_time_in_millis(self) -> int:
        return self.left


def test_the_deadline_comes_from_the_invocation() -> None:
    before = SystemClock().now()

    deadline = deadline_of(Context(12_345), SystemClock().now())

    assert deadline is not None
    assert before <= deadline - timedelta(milliseconds=12_345) <= datetime.now(UTC)
    assert deadline_of(None, SystemClock().now()) is None


class Endpoint:
    """Answers requests as function mcp does, with the deadline that Lambda gives each."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.took = timedelta()

    @property
    def server(self) -> "Endpoint":
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        began = self.world.clock.now()
        response = self.world.server.handle(replace(request, deadline=began + TIMEOUT))
        self.took = self.world.clock.now() - began
        return response


def slowed(world: World, seconds: float, name: str, *, fails: bool = False) -> None:
    """Let every call of a store method take this long, and optionally fail."""
    method: Callable[..., object] = getattr(world.store, name)

    def slow(*args: object) -> object:
        world.clock.advance(seconds=seconds)
        if fails:
            raise StoreBusy
        return method(*args)

    setattr(world.store, name, slow)


@pytest.mark.parametrize("era", [LegacyClient, ModernClient])
def test_a_brownout_never_costs_the_handle_of_a_running_task(era: type[LegacyClient | ModernClient]) -> None:
    """B9: each call that creates the task takes 5 seconds, and the reads of the wait fail."""
    world = World()
    for name in ("reserve", "create"):
        slowed(world, 5, name)
    world.workflows.on_start = lambda: world.clock.advance(seconds=5)
    slowed(world, LONGEST_CALL, "load", fails=True)
    endpoint = Endpoint(world)
    client = era(endpoint) if era is LegacyClient else ModernClient(endpoint, capabilities={})

    result = client.call(FORBIDDEN.name).result

    (task,) = world.store.tasks.values()
    assert endpoint.took < TIMEOUT
    assert task.task_id in str(result) or "requestState" in result


def test_one_failed_read_does_not_end_a_wait() -> None:
    world = World()
    task = world.call()
    world.store.is_available = False

    def recover() -> None:
        if len(world.clock.slept) == 3:
            world.store.is_available = True
            world.succeed(task.task_id, OUTPUT)

    world.clock.on_sleep = recover

    *_, after = following(world, task)

    assert isinstance(after.status, Completed)
    assert [type(trouble) for trouble in world.troubles] == [StoreBusy] * 2


# ----------------------------------------------------------------------------------------------------------- the places


def held(world: World, count: int, owner: str = ALICE) -> None:
    """Take wait slots of a caller, as this many waiting requests would, for a minute."""
    for _ in range(count):
        until = world.clock.now() + timedelta(minutes=1)
        assert isinstance(world.operations.limiter.acquire(Principal(owner), until), HeldPlace)


def test_a_caller_gets_a_limited_number_of_slots() -> None:
    world = World(waits=Places(10, part=3))
    held(world, 3)

    *_, task = following(world, world.call())

    assert task.status == Working()
    assert world.clock.slept == []


def test_another_callers_request_still_waits() -> None:
    world = World(waits=Places(10, part=3))
    held(world, 3)

    list(following(world, world.call(owner=BOB)))

    assert sum(world.clock.slept) == pytest.approx(WAIT.total_seconds())


def test_all_callers_together_get_a_limited_number_of_slots() -> None:
    world = World(waits=Places(5, part=3))
    held(world, 3)
    held(world, 2, BOB)

    list(following(world, world.call()))

    assert world.clock.slept == []
    assert len(world.wait_slots.pools[ALICE]) == 3, "the caller's wait slot must be released"


def test_a_caller_who_was_refused_is_refused_for_a_second_without_a_look_at_the_slots() -> None:
    world = World(waits=Places(1))
    limiter, until = world.operations.limiter, world.clock.now() + timedelta(minutes=1)
    bobs = limiter.acquire(BOB, until)
    assert isinstance(bobs, HeldPlace)

    refused = limiter.acquire(ALICE, until)
    limiter.release(bobs)
    at_once = limiter.acquire(ALICE, until)
    world.clock.advance(seconds=1)

    assert refused == at_once == Refused(timedelta(seconds=1))
    assert isinstance(limiter.acquire(ALICE, until), HeldPlace)


def test_a_caller_who_was_refused_goes_before_those_who_rest_longer_and_no_others() -> None:
    world = World(waits=Places(1))
    limiter, until = world.operations.limiter, world.clock.now() + timedelta(hours=1)
    names = ("slow", "slower", "slowest")
    slow, slower, slowest = (principal_of(("jwt", "https://issuer.example", name), "a stack") for name in names)
    for seconds, owner in enumerate((slow, slower, slowest), start=20):
        place = limiter.acquire(owner, until)
        assert isinstance(place, HeldPlace)
        world.clock.advance(seconds=seconds)
        limiter.release(place)
    bobs = limiter.acquire(BOB, until)
    assert isinstance(bobs, HeldPlace)
    limiter.acquire(slower, until)
    limiter.release(bobs)

    after = [limiter.acquire(owner, until) for owner in (slowest, slow)]

    assert [type(one) for one in after] == [Refused, HeldPlace]


def test_a_slot_is_released_when_the_wait_ends() -> None:
    world = World()

    for _ in range(10):
        list(following(world, world.call()))

    assert world.wait_slots.pools[ALICE] == world.wait_slots.pools[ALL_CALLERS] == set()
    assert world.wait_slots.most_held == 1


def test_the_slot_of_a_dead_function_expires() -> None:
    world = World(waits=Places(5, part=1))
    held(world, 1)
    world.clock.advance(minutes=1, seconds=TIME_TO_ANSWER.total_seconds() + 1)

    list(following(world, world.call()))

    assert world.clock.slept != []


@pytest.mark.parametrize("limits", [Places(0), Places(5, part=0)])
def test_with_a_limit_of_zero_no_slots_are_used(limits: Places) -> None:
    world = World(waits=limits)

    list(following(world, world.call()))

    assert (world.clock.slept, world.wait_slots.pools) == ([], {})


def test_an_ended_task_needs_no_slot() -> None:
    world = World()
    task = world.call()
    world.succeed(task.task_id, OUTPUT)

    list(following(world, world.stored(task)))

    assert world.wait_slots.pools == {}


def test_with_the_store_down_no_request_waits() -> None:
    world = World()
    task = world.call()

    def broken(*_: object) -> bool:
        raise StoreBusy

    setattr(world.wait_slots, "acquire", broken)  # noqa: B010 - a fake's method

    list(following(world, task))

    assert world.clock.slept == []
    assert [type(trouble) for trouble in world.troubles] == [StoreBusy]


# ---------------------------------------------------------------------------- what a request gets that may not wait


def full() -> World:
    return World(patience=Patience(), waits=Places(0))


def test_a_plain_call_of_a_client_that_cannot_resume_gets_a_result_that_names_the_task() -> None:
    world = full()

    result = LegacyClient(world).call(OPTIONAL.name).result

    (task,) = world.store.tasks.values()
    assert task.task_id in str(result["content"])


def test_a_plain_call_of_a_client_that_resumes_gets_the_first_body_of_its_stream() -> None:
    answer = LegacyClient.opened(full()).call(OPTIONAL.name)

    assert answer.last_event_id


def test_a_request_for_a_result_gets_an_error_that_says_the_task_still_runs() -> None:
    world = full()
    client = LegacyClient(world)
    task_id = client.start()

    assert client.task("result", task_id).code == -31001


def test_a_modern_plain_call_gets_a_request_state_to_continue_with() -> None:
    assert "requestState" in ModernClient(full(), capabilities=ASKING_CAPABILITY).call(OPTIONAL.name).result
