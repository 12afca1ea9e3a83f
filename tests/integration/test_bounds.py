"""Over HTTP too, a response waits exactly as long as its parameter allows, even if the workflow never answers."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from stepwire.aws.invocations import SystemClock
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire_local import never
from tests.integration.clock import Clock
from tests.integration.stacks import ROOT, deployed
from tests.server.answers import Answer
from tests.server.clients import ASKING_CAPABILITY, LegacyClient, ModernClient
from tests.waiting import HANG_GUARD

pytestmark = pytest.mark.long

WAIT, INLINE, HOLD = 2.0, 1.0, 1.0  # seconds
HOUR = 3600.0  # seconds
SLOW = {"message": "hello", "seconds": 7200}


@dataclass(frozen=True)
class Wire:
    """An endpoint over HTTP, which measures the time of each response."""

    url: str
    clock: Clock
    seconds: list[float] = field(default_factory=list[float])

    @property
    def server(self) -> "Wire":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request and measure its time."""
        began, headers = self.clock.now(), dict(request.headers)
        got = httpx.request(request.method, self.url, headers=headers, content=request.body, timeout=HANG_GUARD)
        self.seconds.append((self.clock.now() - began).total_seconds())
        return HttpResponse(got.status_code, got.text, {name.lower(): value for name, value in got.headers.items()})


@pytest.fixture(scope="module")
def running_wire() -> Iterator[Wire]:
    """The root template over HTTP, where the time of a request is the time that its handler sleeps."""
    seconds = (f"{value:g}" for value in (WAIT, INLINE, HOLD))
    waits = dict(zip(("WaitSeconds", "INLINE_WAIT_SECONDS", "HOLD_SECONDS"), seconds, strict=True))
    clock = Clock()
    with deployed(ROOT / "stack.yaml", never, 1, clock, **waits) as stack, clock.passing(seconds=HOUR):
        yield Wire(stack.stack.url, clock)


@pytest.fixture
def wire(running_wire: Wire) -> Wire:
    """The same endpoint, with the measurements reset."""
    running_wire.seconds.clear()
    return running_wire


def legacy(wire: Wire) -> LegacyClient:
    """Open a session for a client that resumes streams."""
    return LegacyClient.opened(wire, capabilities=ASKING_CAPABILITY)


def resumed(client: LegacyClient) -> Answer:
    """Resume the stream of a call."""
    first = client.call("wait_and_echo", SLOW)
    return client.resume(first.last_event_id, opened_by=first.request)


def result_of_a_task(client: LegacyClient) -> Answer:
    """Request the result of a running task."""
    return client.task("result", client.call("wait_and_echo", SLOW, task={}).id_in("task"))


@dataclass(frozen=True)
class Wait:
    """A request whose answer waits, and for how long."""

    ask: Callable[[Wire], Answer]
    seconds: float


WAITS = {
    "a plain call that is not come back for": Wait(lambda at: LegacyClient(at).call("wait_and_echo", SLOW), WAIT),
    "a result that is not come back for": Wait(lambda at: result_of_a_task(LegacyClient(at)), WAIT),
    "a round": Wait(lambda at: ModernClient(at, capabilities=ASKING_CAPABILITY).call("wait_and_echo", SLOW), WAIT),
    "a plain call that is come back for": Wait(lambda at: legacy(at).call("wait_and_echo", SLOW), INLINE),
    "a client that comes back": Wait(lambda at: resumed(legacy(at)), HOLD),
}


# K8, T6, T15
@pytest.mark.parametrize("wait", WAITS.values(), ids=list(WAITS))
def test_a_response_waits_exactly_as_long_as_allowed(wire: Wire, wait: Wait) -> None:
    answer = wait.ask(wire)

    assert answer.status == 200
    assert wire.seconds[-1] == max(wire.seconds) == wait.seconds


def test_a_sleep_of_the_functions_clock_is_never_too_short() -> None:
    began = time.monotonic()

    SystemClock().sleep(0.02)

    assert time.monotonic() - began >= 0.02
