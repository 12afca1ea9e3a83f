"""Tasks through AgentCore Gateway, as AWS documents it: `agentcore_front` has the facts, their sources and the day.

Not tried at AWS.
"""

from typing import Final

import pytest
from msgspec.structs import replace

from tests.clients.replayed.agentcore_front import (
    SEPARATOR,
    TARGET,
    Gateway,
    GatewayClient,
    Outbound,
    SignedInAs,
    token_of,
)
from tests.kits import OPTIONAL, OUTPUT, World, catalog_of
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, ModernClient
from tests.server.messages import ACCEPT, CONFIRMING, answers_of, inputs_of, on_sleep, only_task

TOOL: Final = f"{TARGET}{SEPARATOR}optional"
INVALID_PARAMS: Final = -32602
MISSING_CAPABILITY: Final = -32021
FOLLOW_UPS: Final[list[tuple[str, Json]]] = [("get", {}), ("update", {"inputResponses": {}}), ("cancel", {})]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def client(world: World) -> GatewayClient:
    """A user's client with tasks, by token exchange."""
    return Gateway(world).client_of("alice")


def listed(gateway: Gateway, user: str) -> list[str]:
    """Return the ids that `task_list` shows to a user whose client has no tasks."""
    client = gateway.client_of(user, capabilities={})
    found = client.call(f"{TARGET}{SEPARATOR}task_list", {}).result["structuredContent"]["tasks"]
    return [one["taskId"] for one in found]


def only(unfinished: Answer) -> str:
    """Return the id of the task that an unfinished result names."""
    return unfinished.id_in("_meta", "stepwire/task")


def test_it_synchronizes_every_page_and_prefixes_the_names() -> None:
    names = [f"tool_{number:03}" for number in range(250)]
    gateway = Gateway(World(catalog=catalog_of(*(replace(OPTIONAL, name=name) for name in names))))

    gateway.synchronize()

    assert gateway.pages == 3
    assert [name for name in names if f"stepwire___{name}" not in gateway.tools] == []
    assert {"stepwire___task_result", "stepwire___task_cancel", "stepwire___task_list"} <= gateway.tools.keys()


def test_a_dynamic_list_has_the_tools_of_the_user_s_own_scopes() -> None:
    refund = replace(OPTIONAL, name="refund", scopes=("refunds",))
    gateway = Gateway(World(catalog=catalog_of(OPTIONAL, refund)))

    alice = gateway.client_of("alice", scope="call refunds").tools()
    bob = gateway.client_of("bob").tools()

    assert set(alice) - set(bob) == {"stepwire___refund"}
    assert TOOL in bob
    assert not {"stepwire___task_result", "stepwire___task_cancel"} & {*alice, *bob}, "they poll"


def test_a_call_is_a_task_that_is_polled_to_its_end(client: GatewayClient, world: World) -> None:
    task_id = client.call(TOOL).id_in()
    working = client.task("get", task_id).result["status"]
    world.succeed(task_id, OUTPUT)
    world.clock.advance(seconds=2)

    ended = client.task("get", task_id).result

    assert (working, ended["status"]) == ("working", "completed")
    assert ended["result"]["structuredContent"] == OUTPUT


def test_a_cancel_stops_the_workflow(client: GatewayClient, world: World) -> None:
    task_id = client.call(TOOL).id_in()

    client.task("cancel", task_id)

    assert client.task("get", task_id).result["status"] == "cancelled"
    assert not world.workflows.running()


def test_a_question_of_a_task_is_answered_by_an_update(client: GatewayClient, world: World) -> None:
    task_id = client.call(TOOL).id_in()
    token = world.ask(task_id)
    asked = client.task("get", task_id).result

    client.task("update", task_id, inputResponses={"approval": ACCEPT})

    assert (asked["status"], list(asked["inputRequests"])) == ("input_required", ["approval"])
    assert answers_of(world) == {token: ACCEPT}


def test_a_question_before_the_call_is_answered_by_repeating_it(client: GatewayClient, world: World) -> None:
    tool = f"{TARGET}{SEPARATOR}confirmed"
    asked = client.call(tool).result
    more = {"requestState": asked["requestState"], "inputResponses": {"confirm": CONFIRMING}}

    task_id = client.call(tool, more=more).id_in()

    assert asked["resultType"] == "input_required"
    assert task_id == only_task(world)
    assert inputs_of(world)[0]["confirmation"] == CONFIRMING["content"]


@pytest.mark.parametrize("method", ["get", "update", "cancel"])
def test_a_request_about_a_task_without_the_capability_is_refused(
    client: GatewayClient, world: World, method: str
) -> None:
    task_id = client.call(TOOL).id_in()
    silent = Gateway(world).client_of("alice", capabilities={})

    answer = silent.task(method, task_id, **({"inputResponses": {}} if method == "update" else {}))

    assert answer.code == MISSING_CAPABILITY
    assert client.task("get", task_id).result["status"] == "working"


def test_a_tool_that_the_gateway_shows_to_all_is_unknown_to_a_client_that_polls(
    client: GatewayClient, world: World
) -> None:
    task_id = client.call(TOOL).id_in()

    answer = client.call(f"{TARGET}{SEPARATOR}task_result", {"task_id": task_id})

    assert answer.code == INVALID_PARAMS
    assert only_task(world) == task_id


def test_a_client_without_tasks_gets_words_that_lead_to_the_result(world: World) -> None:
    client = Gateway(world).client_of("alice", capabilities={})
    unfinished = client.call(TOOL)
    waited = sum(world.clock.slept)
    world.succeed(only_task(world), OUTPUT)

    fetched = client.call(f"{TARGET}{SEPARATOR}task_result", {"task_id": only(unfinished)})

    assert waited == pytest.approx(15)  # of the 15 minutes that the Gateway allows
    assert "call task_result with" in unfinished.text
    assert unfinished.result.get("isError", False) is False
    assert fetched.result["structuredContent"] == OUTPUT


def test_a_client_without_tasks_that_can_ask_gets_rounds(world: World) -> None:
    client = Gateway(world).client_of("alice", capabilities=ASKING_CAPABILITY)
    first = client.call(TOOL)
    token = world.ask(only_task(world))
    second = client.call(TOOL, more={"requestState": first.result["requestState"]})
    on_sleep(world, 1, lambda: world.succeed(only_task(world), OUTPUT))
    more: Json = {"requestState": second.result["requestState"], "inputResponses": {"approval": ACCEPT}}

    last = client.call(TOOL, more=more)

    assert list(second.result["inputRequests"]) == ["approval"]
    assert answers_of(world) == {token: ACCEPT}
    assert last.result["structuredContent"] == OUTPUT


# ------------------------------------------------------------------------------------------------------ whose tasks


def test_by_token_exchange_a_task_belongs_to_its_user(world: World) -> None:
    gateway = Gateway(world, Outbound.TOKEN_EXCHANGE)
    alice, bob = gateway.client_of("alice"), gateway.client_of("bob")
    task_id = alice.call(TOOL).id_in()

    foreign = [bob.task(method, task_id, **more).code for method, more in FOLLOW_UPS]

    assert foreign == [INVALID_PARAMS] * len(FOLLOW_UPS)
    assert (listed(gateway, "alice"), listed(gateway, "bob")) == ([task_id], [])
    assert alice.task("get", task_id).result["status"] == "working"


def test_by_token_exchange_a_user_has_the_same_tasks_with_and_without_the_gateway(world: World) -> None:
    task_id = Gateway(world, Outbound.TOKEN_EXCHANGE).client_of("alice").call(TOOL).id_in()

    direct = ModernClient(SignedInAs(world, token_of("alice")))

    assert direct.task("get", task_id).result["status"] == "working"


@pytest.mark.parametrize("outbound", [Outbound.CLIENT_CREDENTIALS, Outbound.IAM_ROLE])
def test_by_a_credential_of_the_gateway_all_users_are_one_caller(world: World, outbound: Outbound) -> None:
    gateway = Gateway(world, outbound)
    alice, bob = gateway.client_of("alice"), gateway.client_of("bob")
    task_id = alice.call(TOOL).id_in()

    seen = listed(gateway, "bob")
    bob.task("cancel", task_id)

    assert seen == [task_id]
    assert alice.task("get", task_id).result["status"] == "cancelled"
