"""No response takes longer than 25 seconds, even with the longest waits that the template allows."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.services import Patience
from tests.kits import World
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.flows import FLOWS, Flow
from tests.server.messages import only_task

BOUND = 25  # seconds; API Gateway ends at 30
MOST_PATIENT = Patience(
    unresumable_request=timedelta(seconds=24),
    first_request=timedelta(seconds=24),
    resuming_request=timedelta(seconds=20),
)
"""The largest values that the template allows."""
NO_TASKS = ASKING_CAPABILITY


@dataclass(frozen=True)
class Timed:
    """An endpoint that measures the time of each response."""

    world: World
    seconds: list[float] = field(default_factory=list[float])

    @property
    def server(self) -> "Timed":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request and measure its time."""
        before = len(self.world.clock.slept)
        response = self.world.server.handle(request)
        self.seconds.append(sum(self.world.clock.slept[before:]))
        return response


def resumed(client: LegacyClient) -> Any:
    """Resume the stream of a task's result."""
    first = client.task("result", client.start())
    return client.resume(first.last_event_id, opened_by=first.request)


WAITS: dict[str, Callable[[Timed], Any]] = {
    "a plain call that is not come back for": lambda at: LegacyClient(at).call("optional"),
    "a plain call of an older version": lambda at: LegacyClient(at, "2025-06-18").call("optional"),
    "a plain call that is come back for": lambda at: LegacyClient.opened(at).call("optional", progress_token="t"),
    "a result that is not come back for": lambda at: LegacyClient(at).task("result", LegacyClient(at).start()),
    "a result that is come back for": lambda at: resumed(LegacyClient.opened(at)),
    "a round": lambda at: ModernClient(at, capabilities=NO_TASKS).call("optional", progress_token="t"),
    "a round with answers in advance": lambda at: ModernClient(at, capabilities=NO_TASKS).call(
        "optional", more={"inputResponses": {f"key{number}": {"action": "decline"} for number in range(100)}}
    ),
}


# K8
@pytest.mark.parametrize("flow", FLOWS.values(), ids=list(FLOWS))
def test_no_response_of_any_conversation_takes_longer_than_the_bound(flow: Flow) -> None:
    world = World(patience=MOST_PATIENT)
    at = Timed(world)

    flow(world, at)

    assert max(at.seconds) < BOUND


# K8, T6, T15
@pytest.mark.parametrize("waits", WAITS.values(), ids=list(WAITS))
@pytest.mark.parametrize("meanwhile", ["nothing", "progress", "questions", "the store falls silent"])
def test_no_response_takes_longer_whatever_the_workflow_does(waits: Callable[[Timed], Any], meanwhile: str) -> None:
    world = World(patience=MOST_PATIENT)
    at = Timed(world)
    number = iter(range(1_000))
    happens: dict[str, Callable[[], object]] = {
        "nothing": lambda: None,
        "progress": lambda: world.progress(only_task(world), next(number)),
        "questions": lambda: world.ask(only_task(world), f"key{next(number)}"),
        "the store falls silent": lambda: setattr(world.store, "is_available", len(world.clock.slept) < 3),
    }
    world.clock.on_sleep = happens[meanwhile]

    waits(at)

    assert max(at.seconds) < BOUND
    assert meanwhile != "nothing" or max(at.seconds) >= 20


# M50, T13, X10: methods that only read do not wait
def test_a_method_that_only_reads_does_not_wait() -> None:
    world = World(patience=MOST_PATIENT)
    at = Timed(world)
    modern = ModernClient(at, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})
    task_id = modern.start()
    world.ask(task_id)

    modern.task("get", task_id)
    modern.listen({"taskIds": [task_id]})
    modern.update(task_id, {"approval": {"action": "decline"}})
    modern.call("confirmed")
    modern.task("cancel", task_id)
    LegacyClient.opened(at).ask("tasks/list")

    assert set(at.seconds) == {0}
