"""`subscriptions/listen`: one finite body with an acknowledgement, the status of the acknowledged tasks, and an end."""

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import LiveCatalog, Published
from stepwire.server.extensions.tasks import MOST_SUBSCRIPTIONS, TOLD_FOR
from tests.kits import BOB, OUTPUT, World
from tests.server.answers import Answer, Json
from tests.server.clients import FORM_CAPABILITY, SERVER_INFO, TASKS_CAPABILITY, LegacyClient, ModernClient
from tests.server.messages import of
from tests.unit.catalog.test_live import Source, shard

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


def live(world: World, *, at: timedelta | None) -> Source:
    """Let owners register tools, which were published so long ago; None: when is not known."""
    published_at = None if at is None else world.clock.now() - at
    source = Source(Published("1", (shard("registered"),), published_at))
    catalog = LiveCatalog(world.catalog, source, world.clock.now, world.troubles.append)
    world.server = replace(world.server, services=replace(world.services, catalog=catalog))
    return source


# M54, M51, M52
@pytest.mark.parametrize(
    ("at", "count"),
    [(timedelta(), 1), (TOLD_FOR, 1), (TOLD_FOR + timedelta(seconds=1), 0), (None, 0)],
)
def test_a_listener_hears_of_a_change_of_the_tools_for_some_minutes(
    modern: ModernClient, world: World, at: timedelta | None, count: int
) -> None:
    live(world, at=at)

    answers = [modern.listen({"toolsListChanged": True}, message_id=number) for number in (1, 2)]

    for number, answer in enumerate(answers, 1):
        acknowledged, *told, response = answer.messages
        assert agreed(answer) == {"toolsListChanged": True}
        assert [one["method"] for one in told] == ["notifications/tools/list_changed"] * count
        metas = [one["params"]["_meta"] for one in (acknowledged, *told)]
        assert metas == [{SUBSCRIPTION: number}] * (count + 1)
        assert response["id"] == number
    assert world.clock.slept == []


# M54: whoever listens at least once in the time that a change is told misses none
def test_a_client_that_listens_again_and_again_misses_no_change(modern: ModernClient, world: World) -> None:
    source, seen = live(world, at=timedelta(days=1)), list[int]()
    for minute in range(40):
        if minute in {7, 8, 23}:
            source.published = Published(f"{minute}", (shard(f"tool{minute}"),), world.clock.now())
        world.clock.advance(seconds=60)
        if minute % 4 == 0:
            answer = modern.listen({"toolsListChanged": True})
            seen += [minute] if of(answer.messages, "notifications/tools/list_changed") else []

    assert seen == [8, 12, 24]
    assert len(source.reads) == 10, "one read a listener, which comes less often than every 30 seconds"


# M54, M52: the table is not read for a listener that does not ask
@pytest.mark.parametrize("wanted", [{}, {"toolsListChanged": False}, {"toolsListChanged": None}, {"taskIds": []}])
def test_a_listener_that_does_not_ask_for_tools_costs_no_read(modern: ModernClient, world: World, wanted: Json) -> None:
    source = live(world, at=timedelta())

    answer = modern.listen(wanted)

    assert (agreed(answer), len(answer.messages), source.reads) == ({}, 2, [])


# M54
def test_only_a_server_whose_tools_can_change_claims_to_tell_and_only_in_the_era_that_has_a_stream(
    modern: ModernClient, world: World
) -> None:
    before = modern.ask("server/discover").result["capabilities"]["tools"]
    live(world, at=None)

    assert before == {}
    assert modern.ask("server/discover").result["capabilities"]["tools"] == {"listChanged": True}
    assert LegacyClient(world).initialize().result["capabilities"]["tools"] == {}


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
