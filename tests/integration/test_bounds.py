"""A response takes as long as its parameter allows, on the wire too, where a workflow gives no answer at all."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import httpx
import pytest

from local import never
from stepwire.protocol.http import HttpRequest, HttpResponse
from tests.integration.stacks import ROOT, deployed
from tests.server.clients import ASKING_CAPABILITY, Answer, LegacyClient, ModernClient

WAIT, INLINE, HOLD = 2.0, 1.0, 1.0  # seconds
GRACE = 1.0  # seconds; for the request itself, on a machine that has other things to do
SLOW = {"message": "hello", "seconds": 600}


@dataclass(frozen=True)
class Wire:
    """An endpoint behind HTTP, and how long each response of it took."""

    url: str
    seconds: list[float] = field(default_factory=list[float])

    @property
    def server(self) -> "Wire":
        """What answers."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request, and take its time."""
        began = time.monotonic()
        got = httpx.request(request.method, self.url, headers=dict(request.headers), content=request.body, timeout=30)
        self.seconds.append(time.monotonic() - began)
        return HttpResponse(got.status_code, got.text, {name.lower(): value for name, value in got.headers.items()})


@pytest.fixture(scope="module")
def running_wire() -> Iterator[Wire]:
    """The root template over HTTP, with short waits; a first request has built what is built once."""
    seconds = (f"{value:g}" for value in (WAIT, INLINE, HOLD))
    waits = dict(zip(("WaitSeconds", "InlineWaitSeconds", "HoldSeconds"), seconds, strict=True))
    with deployed(ROOT / "template.yaml", never, 1, **waits) as stack:
        wire = Wire(stack.stack.url)
        LegacyClient(wire).call("wait_and_echo", SLOW, task={})
        yield wire


@pytest.fixture
def wire(running_wire: Wire) -> Wire:
    """The same, with nothing timed yet."""
    running_wire.seconds.clear()
    return running_wire


def legacy(wire: Wire) -> LegacyClient:
    """Open a session for a client that comes back."""
    return LegacyClient.opened(wire, capabilities=ASKING_CAPABILITY)


def resumed(client: LegacyClient) -> Answer:
    """Come back for more of a call."""
    first = client.call("wait_and_echo", SLOW)
    return client.resume(first.last_event_id, opened_by=first.request)


def result_of_a_task(client: LegacyClient) -> Answer:
    """Ask for the result of a task that runs."""
    return client.task("result", client.call("wait_and_echo", SLOW, task={}).id_in("task"))


@dataclass(frozen=True)
class Wait:
    """A request whose answer waits, and for how long."""

    ask: Callable[[Wire], Answer]
    seconds: float


WAITS = {
    "a plain call that is not come back for": Wait(lambda at: LegacyClient(at).call("wait_and_echo", SLOW), WAIT),
    "a result that is not come back for": Wait(lambda at: result_of_a_task(LegacyClient(at)), WAIT),
    "a round": Wait(lambda at: ModernClient(at, capabilities={}).call("wait_and_echo", SLOW), WAIT),
    "a plain call that is come back for": Wait(lambda at: legacy(at).call("wait_and_echo", SLOW), INLINE),
    "a client that comes back": Wait(lambda at: resumed(legacy(at)), HOLD),
}


# K8, T6, T15
@pytest.mark.parametrize("wait", WAITS.values(), ids=list(WAITS))
def test_a_response_waits_as_long_as_it_may_and_no_longer(wire: Wire, wait: Wait) -> None:
    answer = wait.ask(wire)

    assert answer.status == 200
    assert wait.seconds <= wire.seconds[-1] < wait.seconds + GRACE
    assert max(wire.seconds) < wait.seconds + GRACE
