"""While AWS throttles the server, a client gets its answer a little later, or is told when to ask again."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.errors import StoreBusy
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.rounds import MOST_ROUNDS_WITHOUT_QUESTIONS
from tests.kits import OUTPUT, World
from tests.server.clients import FORM_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import again, only_task
from tests.stormy import Stormy


@dataclass(frozen=True)
class _CutOff:
    """An endpoint whose requests have the time that Lambda gives them."""

    world: World

    @property
    def server(self) -> "_CutOff":
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        return self.world.server.handle(replace(request, deadline=self.world.clock.now() + timedelta(seconds=29)))


FORM_ANSWER = {"approval": {"action": "accept", "content": {"amount": 7}}}


@pytest.fixture
def store() -> Stormy:
    return Stormy()


@pytest.fixture
def world(store: Stormy) -> World:
    world = World(store=store)
    store.clock = world.clock
    return world


def test_a_poll_that_meets_a_throttled_table_is_answered_a_second_later(world: World, store: Stormy) -> None:
    client = ModernClient(world, capabilities=TASKS_CAPABILITY)
    task_id = client.start()
    store.busy = 2

    found = client.task("get", task_id)

    assert found.result["status"] == "working"
    assert world.clock.slept == [0.5, 1.0]


def test_a_modern_client_is_told_when_to_ask_again(world: World, store: Stormy) -> None:
    client = ModernClient(world, capabilities=TASKS_CAPABILITY)
    task_id = client.start()
    store.busy = 99

    refused = client.task("get", task_id)
    store.busy = 0

    assert (refused.status, refused.response.headers["retry-after"]) == (429, "2")
    assert (refused.code, refused.error["data"]) == (-32603, {"retryAfterMs": 2000})
    assert client.task("get", task_id).result["status"] == "working"


def test_a_legacy_client_is_told_so_with_status_200_which_ends_no_session(world: World, store: Stormy) -> None:
    client = LegacyClient.opened(world)
    task_id = client.call("optional", task={}).id_in("task")
    store.busy = 99

    refused = client.ask("tasks/get", {"taskId": task_id})

    assert (refused.status, refused.error["data"]) == (200, {"retryAfterMs": 2000})


def test_a_request_that_got_no_answer_for_seconds_is_not_repeated(world: World, store: Stormy) -> None:
    task_id = ModernClient(world, capabilities=TASKS_CAPABILITY).start()
    store.busy, store.takes = 99, timedelta(seconds=10)

    ModernClient(_CutOff(world), capabilities=TASKS_CAPABILITY).task("get", task_id)

    assert store.busy == 98


def test_an_answer_is_recorded_although_the_table_is_throttled(world: World, store: Stormy) -> None:
    client = ModernClient(world, capabilities={**TASKS_CAPABILITY, **FORM_CAPABILITY})
    task_id = client.start()
    world.ask(task_id)
    store.busy = 2

    taken = client.update(task_id, FORM_ANSWER)

    assert taken.result["resultType"] == "complete"
    assert len(world.workflows.resumptions) == 1


def test_a_call_that_begins_work_is_not_repeated(world: World) -> None:
    begun = list[Any]()

    def reserve(*given: Any, **_: Any) -> int:
        begun.append(given)
        raise StoreBusy

    world.store.reserve = reserve

    refused = ModernClient(world, capabilities=TASKS_CAPABILITY).call("optional")

    assert refused.status == 429
    assert len(begun) == 1


def test_a_plain_call_goes_on_in_rounds_while_its_task_cannot_be_read(
    world: World, store: Stormy, plain: ModernClient
) -> None:
    client = plain
    first = client.call("optional")
    store.busy = 99

    unread = again(client, first)
    store.busy = 0
    world.succeed(only_task(world), OUTPUT)

    assert unread.result.keys() == {"resultType", "requestState", "_meta"}
    assert again(client, unread).result["structuredContent"] == OUTPUT


def test_the_rounds_without_a_read_end_with_a_result_that_names_the_task(
    world: World, store: Stormy, plain: ModernClient
) -> None:
    client = plain
    answers = [client.call("optional")]
    store.busy = 999

    while answers[-1].result["resultType"] == "input_required":
        answers.append(again(client, answers[-1]))

    assert len(answers) == MOST_ROUNDS_WITHOUT_QUESTIONS + 1
    assert answers[-1].id_in("_meta", "stepwire/task") == only_task(world)
