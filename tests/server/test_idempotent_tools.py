"""Tools whose manifest makes an idempotency key of arguments: an equal call gets the first one's task, with a mark."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import Idempotency
from stepwire.engine.calls import idempotency_key_of
from stepwire.json_text import write
from stepwire.tasks.limiter import Limits
from tests.kits import BOB, CONFIRMED, OPTIONAL, OUTPUT, RESUMING, TOOLS, World, catalog_of
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient

MARK: Final = "stepwire/repeated"
WINDOW: Final = timedelta(minutes=10)
RULE: Final = Idempotency(("customer", "month"), WINDOW)
SCHEMA: Final = write(
    {
        "type": "object",
        "properties": {
            "customer": {"type": "string"},
            "month": {"type": "number"},
            "note": {"type": "string"},
            "confirmation": {"type": "object"},
        },
        "required": ["customer", "month"],
        "additionalProperties": False,
    }
)
SETTLE: Final = replace(OPTIONAL, name="settle", input_schema=SCHEMA, idempotency=RULE)
BILL: Final = replace(SETTLE, name="bill")
SETTLE_CONFIRMED: Final = replace(CONFIRMED, name="settle_confirmed", input_schema=SCHEMA, idempotency=RULE)
ARGUMENTS: Final[Json] = {"customer": "ACME", "month": 7}
IMMEDIATE: Final = "io.modelcontextprotocol/model-immediate-response"
WORDS: Final = "This call started nothing new: an earlier call with the same customer and month began this task"
Client = LegacyClient | ModernClient
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def world_with(**more: Any) -> World:
    """Return a world that also has the tools of this module."""
    return World(catalog=catalog_of(*TOOLS, SETTLE, BILL, SETTLE_CONFIRMED), **more)


@pytest.fixture
def world() -> World:
    return world_with()


def client_of(world: World, era: str, **more: Any) -> Client:
    """Return a client of this era with tasks, which can ask its user."""
    if era == "legacy":
        return LegacyClient.opened(world, capabilities=ASKING_CAPABILITY, **more)
    return ModernClient(world, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY}, **more)


def begun(client: Client, tool: str = "settle", key: str | None = None, **changes: Any) -> Answer:
    """Call a tool with a task."""
    params: Json = {"name": tool, "arguments": {**ARGUMENTS, **changes}}
    as_task: Json = {"task": {}} if isinstance(client, LegacyClient) else {}
    headers = None if key is None else {"idempotency-key": key}
    return client.ask("tools/call", {**params, **as_task}, headers=headers)


def id_of(answer: Answer) -> str:
    """Return the id of the task that a call created or found."""
    return answer.result.get("task", answer.result)["taskId"]


def is_marked(answer: Answer) -> bool:
    """Tell whether a result says that its call started nothing."""
    return answer.result.get("_meta", {}).get(MARK, False)


# X8
@eras
@pytest.mark.parametrize("status", ["working", "completed"])
def test_an_equal_call_gets_the_first_ones_task_with_a_mark(era: str, status: str, world: World) -> None:
    client = client_of(world, era)
    first = begun(client)
    if status == "completed":
        world.succeed(id_of(first), OUTPUT)
    starts = list(world.workflows.starts)

    second = begun(client)

    assert id_of(second) == id_of(first)
    assert second.result.get("task", second.result)["status"] == status
    assert (is_marked(first), is_marked(second)) == (False, True)
    assert world.workflows.starts == starts


# T33
def test_the_immediate_response_of_a_legacy_task_says_that_nothing_was_started(world: World) -> None:
    client = client_of(world, "legacy")
    first = begun(client)

    second = begun(client)

    assert IMMEDIATE not in first.result.get("_meta", {})
    assert second.result["_meta"][IMMEDIATE].startswith(WORDS)


@eras
def test_a_repeated_plain_call_gets_the_result_of_the_workflow_with_a_mark(era: str, world: World) -> None:
    own = {"content": [{"type": "text", "text": "settled"}], "_meta": {"example/own": 1}, "isError": False}
    client = client_of(world, era) if era == "legacy" else ModernClient(world, capabilities={})
    world.succeed(id_of(begun(client_of(world, era))), own)

    answer = client.call("settle", ARGUMENTS)

    assert answer.result["content"] == own["content"]
    assert answer.result["_meta"].items() >= {MARK: True, "example/own": 1}.items()


@pytest.mark.parametrize("client_name", ["unknown", "a modern one"])
def test_an_unfinished_result_of_a_repeated_call_names_the_earlier_call(client_name: str, world: World) -> None:
    begun(client_of(world, "modern"))
    if client_name == "unknown":
        answer = LegacyClient(world).call("settle", ARGUMENTS)
    else:
        modern = ModernClient(world, capabilities={})
        answer = modern.call("settle", ARGUMENTS)
        while answer.result["resultType"] == "input_required":
            assert is_marked(answer)
            answer = modern.call("settle", ARGUMENTS, more={"requestState": answer.result["requestState"]})

    assert is_marked(answer)
    assert answer.text.startswith(WORDS)
    assert answer.result["structuredContent"]["stepwire/task"]["repeated"] is True
    assert "stepwire/task" in answer.result["_meta"]


def test_an_unfinished_result_of_a_first_call_has_no_mark(world: World) -> None:
    answer = LegacyClient(world).call("settle", ARGUMENTS)

    assert not is_marked(answer)
    assert "started nothing new" not in answer.text
    assert "repeated" not in answer.result["structuredContent"]["stepwire/task"]


def resuming(world: World) -> LegacyClient:
    """Return a client that resumes its responses."""
    client = LegacyClient.opened(world, capabilities=ASKING_CAPABILITY)
    assert RESUMING is world.services.resuming
    return client


# L8
@pytest.mark.parametrize("how", ["ends", "takes too long", "cannot be read"])
def test_a_repeated_call_that_is_resumed_is_marked_however_it_ends(how: str, world: World) -> None:
    task_id = id_of(begun(client_of(world, "modern")))
    client = resuming(world)
    first = client.call("settle", ARGUMENTS)
    if how == "ends":
        world.succeed(task_id, OUTPUT)
    else:
        world.clock.advance(seconds=60)
    if how == "cannot be read":
        world.store.is_available = False

    *_, response = client.follow(first, limit=2)

    assert response["result"]["_meta"][MARK] is True
    text = response["result"]["content"][0]["text"]
    assert text.startswith("This call started nothing new") is (how != "ends")


# T29: the progress token belongs to the client of the first call.
def test_a_repeated_call_gets_no_progress_with_the_token_of_the_first(world: World) -> None:
    first, second = resuming(world), resuming(world)
    opened = first.call("settle", ARGUMENTS, progress_token="of the first")
    (task_id,) = [task.task_id for task in world.store.tasks.values()]
    answer = second.call("settle", ARGUMENTS, progress_token="of the second", message_id=2)
    world.progress(task_id, 10)
    world.clock.advance(seconds=51)

    own = first.follow(opened, limit=2)
    others = second.follow(answer, limit=2)

    assert {one["params"]["progressToken"] for one in own if "method" in one} == {"of the first"}
    assert [one.get("method") for one in others] == [None]
    assert "stepwire/task" in others[0]["result"]["_meta"]


# L8: only a call that created its task may stop it.
def test_cancelling_a_repeated_call_does_not_cancel_the_task_of_the_first(world: World) -> None:
    first = id_of(begun(client_of(world, "modern")))
    client = resuming(world)
    client.call("settle", ARGUMENTS, message_id=5)

    client.notify("notifications/cancelled", {"requestId": 5})

    assert len(world.workflows.running()) == 1
    assert client.task("get", first).result["status"] == "working"


@eras
@pytest.mark.parametrize(
    ("tool", "changes", "is_equal"),
    [
        ("settle", {"month": 7.0}, True),
        ("settle", {"note": "please hurry"}, True),
        ("settle", {"month": 8}, False),
        ("settle", {"customer": "acme"}, False),
        ("bill", {}, False),
    ],
)
def test_calls_are_equal_by_their_tool_and_the_values_of_the_named_arguments(
    era: str, tool: str, changes: Json, is_equal: bool, world: World
) -> None:
    client = client_of(world, era)
    first = begun(client)

    second = begun(client, tool, **changes)

    assert (id_of(second) == id_of(first)) is is_equal
    assert is_marked(second) is is_equal
    assert len(world.workflows.running()) == (1 if is_equal else 2)


@eras
def test_the_task_of_an_equal_call_keeps_the_arguments_of_the_first(era: str, world: World) -> None:
    client = client_of(world, era)
    begun(client, note="the first")

    begun(client, note="the second")

    (task,) = world.store.tasks.values()
    assert world.terms_of(task).input == write({**ARGUMENTS, "note": "the first"})


@eras
def test_equal_calls_of_two_callers_get_two_tasks(era: str, world: World) -> None:
    first = begun(client_of(world, era))

    second = begun(client_of(world, era, owner=BOB))

    assert id_of(second) != id_of(first)
    assert not is_marked(second)


# X8
@eras
def test_a_key_of_the_client_replaces_that_of_the_tool(era: str, world: World) -> None:
    client = client_of(world, era)
    first = begun(client)

    second, third = begun(client, key="my-own"), begun(client, key="my-own")

    assert id_of(first) != id_of(second) == id_of(third)
    assert (is_marked(second), is_marked(third)) == (False, True)
    assert id_of(begun(client)) == id_of(first)


# X8: the keys are in the table, where a newer version of the server must find them.
@pytest.mark.parametrize(
    ("given", "digests"),
    [
        ("my-own", ("e3afbe689fefbf9a68ff49e9171649bd", "088b3cc7fc9b72dfa999f9f738656e5b")),
        (None, ("b5da86a6b19b512bc80928d62c63b03a", "b5da86a6b19b512bc80928d62c63b03a")),
    ],
)
def test_a_key_stays_the_same_over_updates_of_the_server(given: str | None, digests: tuple[str, str]) -> None:
    key = idempotency_key_of(given, SETTLE, ARGUMENTS)

    assert key is not None
    assert (key.digest, key.call_digest) == digests


# A client's key differs even if its text equals the source of the tool's key.
def test_a_key_of_a_client_never_equals_a_key_of_a_tool() -> None:
    made = idempotency_key_of(None, SETTLE, ARGUMENTS)

    given = idempotency_key_of('["settle", {"customer": "ACME", "month": 7}]', SETTLE, ARGUMENTS)

    assert made
    assert given
    assert given.digest != made.digest


def test_equal_legacy_calls_with_confirmation_share_one_task_until_the_user_declines(world: World) -> None:
    client = client_of(world, "legacy")
    first, second = begun(client, "settle_confirmed"), begun(client, "settle_confirmed")
    modern = client_of(world, "modern")
    assert isinstance(modern, ModernClient)
    modern.update(id_of(first), {"confirm": {"action": "decline"}})

    third = begun(client, "settle_confirmed")

    assert id_of(first) == id_of(second) != id_of(third)
    assert [is_marked(one) for one in (first, second, third)] == [False, True, False]


def test_a_modern_call_that_was_confirmed_is_not_asked_again(world: World) -> None:
    client = client_of(world, "modern")
    asked = [begun(client, "settle_confirmed", note=note).result for note in ("one", "other")]
    confirm = {"confirm": {"action": "accept"}}

    def confirmed(note: str, state: str) -> Answer:
        params: Json = {"name": "settle_confirmed", "arguments": {**ARGUMENTS, "note": note}}
        return client.ask("tools/call", {**params, "requestState": state, "inputResponses": confirm})

    first, second = confirmed("one", asked[0]["requestState"]), confirmed("other", asked[1]["requestState"])
    third = begun(client, "settle_confirmed", note="a third")

    assert id_of(first) == id_of(second) == id_of(third)
    assert [is_marked(one) for one in (first, second, third)] == [False, True, True]
    assert len(world.workflows.running()) == 1


@eras
def test_bad_arguments_are_refused_before_the_key_is_derived(era: str, world: World) -> None:
    client = client_of(world, era)

    answer = client.call("settle", {"customer": "ACME"})

    assert answer.result["isError"] is True
    assert world.store.calls == []


# Each call of the store is one call of AWS.
@eras
def test_a_key_of_the_tool_costs_as_many_calls_as_a_key_of_the_client(era: str) -> None:
    def cost(tool: str, key: str | None) -> tuple[list[str], list[str]]:
        world = world_with()
        client = client_of(world, era)
        begun(client, tool, key)
        first, world.store.calls = world.store.calls, []
        begun(client, tool, key)
        return first, world.store.calls

    assert cost("settle", None) == cost("settle", "my-own")
    first, second = cost("settle", None)
    assert first[:3] == ["claim_key", "reserve", "create"]
    assert second[:3] == ["claim_key", "load", "save"], "the task is read once, and secured"
    assert second.count("load") == first.count("load") + 1


@eras
def test_a_call_of_a_tool_without_idempotency_claims_no_key(era: str, world: World) -> None:
    client = client_of(world, era)

    task_ids = {client.start("optional") for _ in range(2)}

    assert len(task_ids) == 2
    assert "claim_key" not in world.store.calls


# ------------------------------------------------------------------------------------------------------ when a key ends


# DynamoDB deletes expired items late: the claim still exists after its window.
@eras
@pytest.mark.parametrize(("after", "is_repeat"), [(WINDOW, True), (WINDOW + timedelta(milliseconds=1), False)])
def test_a_window_ends_at_its_time_although_the_claim_still_exists(
    era: str, after: timedelta, is_repeat: bool, world: World
) -> None:
    client = client_of(world, era)
    first = begun(client)
    world.clock.time += after

    second = begun(client)
    third = begun(client)

    assert is_marked(second) is is_repeat
    assert (id_of(second) == id_of(first)) is is_repeat
    assert (id_of(third), is_marked(third)) == (id_of(second), True)
    assert client.task("get", id_of(first)).result["status"] == "working"


def test_a_claim_expires_at_the_end_of_its_window(world: World) -> None:
    begun(client_of(world, "modern"))

    (claim,) = world.store.keys.values()
    assert claim.expires_at == world.clock.now() + WINDOW


ENDS: Final[dict[str, Callable[[World, str], object]]] = {
    "failed": lambda world, task_id: world.fail(task_id),
    "a JSON-RPC error": lambda world, task_id: world.fail(
        task_id, "Stepwire.ProtocolError", write({"code": 1001, "message": "No."})
    ),
    "a result that is an error": lambda world, task_id: world.succeed(
        task_id, {"content": [{"type": "text", "text": "no"}], "isError": True}
    ),
    "cancelled": lambda world, task_id: client_of(world, "modern").task("cancel", task_id),
}


@eras
@pytest.mark.parametrize("end", ENDS)
def test_a_task_that_failed_can_be_started_again_at_once(era: str, end: str, world: World) -> None:
    client = client_of(world, era)
    first = begun(client)
    ENDS[end](world, id_of(first))

    second, third = begun(client), begun(client)

    assert id_of(first) != id_of(second) == id_of(third)
    assert (is_marked(second), is_marked(third)) == (False, True)
    assert len(world.workflows.running()) == 1


# X8: with their own key, clients repeat a request whose response was lost, even if that response was a failure.
@eras
def test_a_key_of_the_client_returns_its_task_even_if_it_failed(era: str, world: World) -> None:
    client = client_of(world, era)
    first = begun(client, key="my-own")
    world.fail(id_of(first))

    assert id_of(begun(client, key="my-own")) == id_of(first)


@eras
@pytest.mark.parametrize("before", ["nothing", "a failure", "a window that is over"])
def test_concurrent_equal_calls_share_one_task_and_one_slot(era: str, before: str) -> None:
    world = world_with(limits=Limits(active=1))
    client, others = client_of(world, era), list[Answer]()
    if before != "nothing":
        world.fail(id_of(begun(client)))
    if before == "a window that is over":
        world.clock.time += 2 * WINDOW
    world.store.before_create = lambda: others.append(begun(client, note="the other"))

    mine = begun(client, note="mine")

    assert id_of(mine) == id_of(others[0])
    assert [is_marked(mine), is_marked(others[0])] == [True, False]
    assert len(world.workflows.running()) == 1


@pytest.mark.parametrize("end", ["failed", "window"])
def test_a_modern_call_needs_another_confirmation_after_its_window(end: str, world: World) -> None:
    client = client_of(world, "modern")
    asked = begun(client, "settle_confirmed").result
    more = {"requestState": asked["requestState"], "inputResponses": {"confirm": {"action": "accept"}}}
    first = client.ask("tools/call", {"name": "settle_confirmed", "arguments": ARGUMENTS, **more})
    if end == "failed":
        world.fail(id_of(first))
    else:
        world.clock.time += 2 * WINDOW

    again = begun(client, "settle_confirmed")

    assert again.result["inputRequests"].keys() == {"confirm"}


def test_a_call_after_the_window_does_not_read_the_earlier_task(world: World) -> None:
    client = client_of(world, "modern")
    begun(client)
    world.clock.time += 2 * WINDOW
    world.store.calls.clear()

    begun(client)

    assert world.store.calls == ["claim_key", "claim_key", "reserve", "create"]
