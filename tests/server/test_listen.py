"""`subscriptions/listen`: one finite body with an acknowledgement, the status of the acknowledged tasks, and an end."""

from typing import Any

import pytest

from stepwire.server.tasks import MOST_SUBSCRIPTIONS
from tests.kits import BOB, OUTPUT, World
from tests.server.answers import Answer, Json
from tests.server.clients import FORM_CAPABILITY, SERVER_INFO, TASKS_CAPABILITY, ModernClient
from tests.server.messages import of

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def agreed(answer: Answer) -> Json:
    """Return the filter that was acknowledged."""
    return answer.messages[0]["params"]["notifications"]


def without_meta(params: Json) -> Json:
    """Leave out the members that only a notification or only a result has."""
    return {name: value for name, value in params.items() if name not in {"_meta", "resultType"}}


# M50, M51, M52, M53, M55, X23
@pytest.mark.parametrize("message_id", ["listen:0", 7, 0, ""])
def test_the_tasks_are_between_the_acknowledgement_and_the_end(
    modern: ModernClient, world: World, message_id: str | int
) -> None:
    ids = [modern.start() for _ in range(2)]

    answer = modern.listen({"taskIds": ids}, message_id=message_id)

    acknowledged, *told, response = answer.messages
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    assert agreed(answer) == {"taskIds": ids}
    assert [one["method"] for one in told] == ["notifications/tasks"] * 2
    assert [one["params"]["taskId"] for one in told] == ids
    assert {one["params"]["_meta"][SUBSCRIPTION] for one in (acknowledged, *told)} == {message_id}
    assert response["result"]["_meta"][SUBSCRIPTION] == message_id
    assert (response["id"], response["result"]["resultType"]) == (message_id, "complete")


# M50: a client that waits for the acknowledgement must not wait for a change too
def test_a_listener_is_answered_at_once(modern: ModernClient, world: World) -> None:
    task_id = modern.start()

    modern.listen({"taskIds": [task_id]})

    assert world.clock.slept == []
    assert world.store.calls == ["reserve", "create", "load"]


# M8
def test_intermediaries_must_not_hold_back_the_events(modern: ModernClient) -> None:
    answer = modern.listen({})

    assert answer.response.headers["x-accel-buffering"] == "no"
    assert answer.response.headers["cache-control"] == "no-store"
    assert SERVER_INFO in answer.result["_meta"]


# X23, X22
@pytest.mark.parametrize("how", ["working", "progress", "input_required", "completed", "failed", "error", "cancelled"])
def test_a_task_is_shown_as_tasks_get_shows_it(world: World, how: str) -> None:
    modern = ModernClient(world, capabilities={**TASKS_CAPABILITY, **FORM_CAPABILITY})
    task_id = modern.start()
    ways: dict[str, Any] = {
        "working": lambda: None,
        "progress": lambda: world.progress(task_id, 30, message="reading"),
        "input_required": lambda: world.ask(task_id),
        "completed": lambda: world.succeed(task_id, OUTPUT),
        "failed": lambda: world.fail(task_id),
        "error": lambda: world.fail(task_id, "Stepwire.ProtocolError", '{"code": 4001, "message": "No."}'),
        "cancelled": lambda: modern.task("cancel", task_id),
    }
    ways[how]()

    answer = modern.listen({"taskIds": [task_id]})

    (told,) = of(answer.messages, "notifications/tasks")
    assert without_meta(told) == without_meta(modern.task("get", task_id).result)
    assert of(answer.messages, "notifications/progress") == []


# M52, M44: the capabilities of this request decide
def test_a_listener_sees_no_question_that_it_cannot_ask(asking: ModernClient, world: World) -> None:
    task_id = asking.start()
    world.ask(task_id)

    answer = ModernClient(world).listen({"taskIds": [task_id]})

    (told,) = of(answer.messages, "notifications/tasks")
    assert (told["status"], told["inputRequests"]) == ("input_required", {})


# X23, X28: left out of the acknowledged filter, for whatever reason
def test_unknown_foreign_expired_and_malformed_ids_are_left_out(modern: ModernClient, world: World) -> None:
    expired = modern.start()
    world.clock.advance(hours=1)
    mine, foreign = modern.start(), ModernClient(world, BOB).start()

    answer = modern.listen({"taskIds": ["0" * 36, foreign, mine, expired, "nonsense", "", mine]})

    assert agreed(answer) == {"taskIds": [mine]}
    assert [told["taskId"] for told in of(answer.messages, "notifications/tasks")] == [mine]


# X23
def test_unknown_tasks_are_left_out(modern: ModernClient) -> None:
    answer = modern.listen({"taskIds": ["0" * 36]})

    assert len(answer.messages) == 2
    assert agreed(answer) == {"taskIds": []}


# M52, M54: other notifications are never sent, so they are not acknowledged
@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"toolsListChanged": True},
        {"promptsListChanged": True, "resourcesListChanged": True},
        {"resourceSubscriptions": ["file:///a"]},
        {"toolsListChanged": False},
        {"taskIds": []},
        {"taskIds": None},
    ],
)
def test_a_listener_is_promised_only_notifications_that_are_sent(modern: ModernClient, wanted: Json) -> None:
    answer = modern.listen(wanted)

    assert agreed(answer) == {}
    assert len(answer.messages) == 2


# M50, M24
def test_a_client_without_tasks_may_listen_for_the_rest(world: World) -> None:
    answer = ModernClient(world, capabilities={}).listen({"toolsListChanged": True})

    assert (answer.status, agreed(answer)) == (200, {})


# X24, M19: before any task is read
@pytest.mark.parametrize("exists", [True, False])
def test_a_client_that_does_not_declare_tasks_cannot_listen_for_them(
    modern: ModernClient, world: World, exists: bool
) -> None:
    task_id = modern.start() if exists else "0" * 36
    calls = list(world.store.calls)

    answer = ModernClient(world, capabilities={}).listen({"taskIds": [task_id]})

    assert (answer.status, answer.code) == (400, -32021)
    assert answer.error["data"] == {"requiredCapabilities": TASKS_CAPABILITY}
    assert world.store.calls == calls


# M55, M7
@pytest.mark.parametrize("accept", ["application/json", "application/*"])
def test_a_client_that_accepts_no_events_cannot_listen(modern: ModernClient, accept: str) -> None:
    answer = modern.ask("subscriptions/listen", {"notifications": {}}, headers={"accept": accept})

    assert (answer.status, answer.code) == (406, -32600)


# M37
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": []},
        {"notifications": {"taskIds": "all"}},
        {"notifications": {"taskIds": [7]}},
        {"notifications": {"taskIds": {}}},
        {"notifications": {"taskIds": ["0" * 36] * (MOST_SUBSCRIPTIONS + 1)}},
    ],
)
def test_an_invalid_filter_is_refused(modern: ModernClient, world: World, params: Json) -> None:
    answer = modern.ask("subscriptions/listen", params)

    assert (answer.status, answer.code) == (400, -32602)
    assert "params.notifications" in answer.error["message"]
    assert world.store.calls == []


# M9: a finished response cannot be cancelled
def test_a_subscription_stores_nothing(modern: ModernClient, world: World) -> None:
    task_id = modern.start()
    before = dict(world.store.tasks)

    first, second = (modern.listen({"taskIds": [task_id]}).messages for _ in range(2))

    assert first == second
    assert world.store.tasks == before
