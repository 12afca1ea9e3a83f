"""What a tool's manifest adds to the arguments on their way to the workflow: who calls, constants and defaults.

The rule under test: what the server says of the caller cannot be said by the caller, and every start sends the same.
"""

from collections.abc import Mapping
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.tools import Additions, Context
from stepwire.errors import StartUnclear
from stepwire.json_text import load_json, write
from stepwire.principal import Caller, Claims
from stepwire.protocol.http import HttpRequest
from stepwire.tasks.task import LARGEST_INPUT
from tests.kits import ALICE, CONFIRMED, OPTIONAL, OUTPUT, World, catalog_of
from tests.server.answers import Answer, Json
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, LegacyClient, ModernClient, SignedIn

CLAIMS: Final = {"email": "alice@example.com", "sub": "alice", "secret_claim": "not for workflows"}
OPEN: Final = write(
    {
        "type": "object",
        "properties": {
            "order": {"type": "string"},
            "currency": {"type": "string", "default": "EUR"},
            "address": {"type": "object", "properties": {"country": {"type": "string", "default": "DE"}}},
        },
        "required": ["order"],
    }
)
REFUND: Final = replace(
    OPTIONAL,
    name="refund",
    input_schema=OPEN,
    additions=Additions(
        constants={"region": "eu"}, defaults={"priority": 5}, context=Context("caller", ("email", "groups"))
    ),
)
CONFIRMED_REFUND: Final = replace(
    CONFIRMED,
    name="confirmed_refund",
    input_schema=OPEN,
    additions=REFUND.additions,
    confirmation=replace(CONFIRMED.confirmation, message="Refund {order} in {currency}?"),  # type: ignore[type-var] - it has one
)
ORDER: Final[Json] = {"order": "A-1"}
eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def world_with() -> World:
    return World(catalog=catalog_of(REFUND, CONFIRMED_REFUND))


def client_of(world: World, era: str, claims: Mapping[str, str] = CLAIMS) -> LegacyClient | ModernClient:
    endpoint = SignedIn(world, claims=claims)
    if era == "legacy":
        return LegacyClient.opened(endpoint, capabilities=ASKING_CAPABILITY, name="known")
    return ModernClient(endpoint, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def called(client: LegacyClient | ModernClient, arguments: Json, tool: str = "refund", **more: Any) -> Answer:
    as_task: Json = {"task": {}} if isinstance(client, LegacyClient) else {}
    return client.ask("tools/call", {"name": tool, "arguments": arguments, **as_task}, **more)


def id_of(answer: Answer) -> str:
    return answer.result.get("task", answer.result)["taskId"]


def sent(world: World) -> list[Json]:
    """Return what each start sent to the workflow."""
    return [load_json(start.input_text) for start in world.workflows.starts]


@eras
def test_the_workflow_is_told_who_calls_with_the_listed_claims_only(era: str) -> None:
    world = world_with()

    task_id = id_of(called(client_of(world, era), ORDER))

    (start,) = sent(world)
    assert start["caller"] == {
        "principal": ALICE,
        "task_id": task_id,
        "tool": "refund",
        "claims": {"email": "alice@example.com", "groups": None},
    }


@eras
def test_without_claims_each_listed_one_is_null(era: str) -> None:
    world = world_with()

    called(client_of(world, era, {}), ORDER)

    assert sent(world)[0]["caller"]["claims"] == {"email": None, "groups": None}


@eras
def test_constants_and_defaults_are_added_at_any_depth(era: str) -> None:
    world = world_with()

    called(client_of(world, era), {**ORDER, "address": {"city": "Bonn"}})
    called(client_of(world, era), {**ORDER, "currency": "USD", "priority": 1, "address": {"country": "FR"}})

    first, second = sent(world)
    assert {name: first[name] for name in ("currency", "priority", "region", "address")} == {
        "currency": "EUR",
        "priority": 5,
        "region": "eu",
        "address": {"city": "Bonn", "country": "DE"},
    }
    assert (second["currency"], second["priority"], second["address"]) == ("USD", 1, {"country": "FR"})


# more_hosts.md 3: CrewAI writes a null for each argument that its model left out
@eras
def test_a_null_for_what_is_optional_is_what_is_left_out(era: str) -> None:
    world = world_with()
    client = client_of(world, era)

    answer = called(client, {**ORDER, "currency": None, "address": {"country": None, "city": None}})

    assert id_of(answer)
    (start,) = sent(world)
    assert (start["currency"], start["address"]) == ("EUR", {"country": "DE", "city": None})


@eras
def test_a_key_stands_for_the_caller_s_own_words(era: str) -> None:
    client = client_of(world_with(), era)
    key = {"idempotency-key": "a-key"}

    first, again, other = (
        called(client, {**ORDER, **more}, headers=key) for more in ({"currency": None}, {"currency": None}, {})
    )

    assert id_of(first) == id_of(again)
    assert other.code == -31003, "the key of a call with other words, though they mean the same"


@eras
@pytest.mark.parametrize("name", ["caller", "region"])
def test_a_caller_cannot_set_what_the_server_sets(era: str, name: str) -> None:
    world = world_with()
    client = client_of(world, era)

    answer = called(client, {**ORDER, name: {"principal": "0" * 32, "claims": {"email": "boss@example.com"}}})

    words = answer.error["message"] if era == "legacy" else answer.text
    assert f"at /{name}: is set by the server: leave it out" in words
    assert world.workflows.starts == []
    assert not world.store.tasks


@eras
def test_the_schema_that_is_shown_does_not_offer_what_the_server_sets(era: str) -> None:
    world = world_with()

    tools = {tool["name"]: tool for tool in client_of(world, era).ask("tools/list").result["tools"]}

    assert set(tools["refund"]["inputSchema"]["properties"]) == {"order", "currency", "address"}


@eras
def test_a_start_that_is_repaired_and_a_call_that_is_repeated_send_the_first_call_s_input(era: str) -> None:
    world = world_with()
    client = client_of(world, era)
    world.workflows.start_fault = StartUnclear()
    key = {"idempotency-key": "k"}

    task_id = id_of(called(client, ORDER, headers=key))
    world.workflows.start_fault = None
    # The token has other claims by now, and the manifest another constant.
    changed = replace(REFUND, additions=replace(REFUND.additions, constants={"region": "us"}))
    later = World(catalog=catalog_of(changed), store=world.store, workflows=world.workflows, clock=world.clock)
    later_client = client_of(later, era, {"email": "other@example.com"})
    assert id_of(called(later_client, ORDER, headers=key)) == task_id
    world.clock.time += world.intervals.repair
    later_client.task("get", task_id)

    assert len(world.workflows.starts) == 2
    stored = world.terms_of(next(iter(world.store.tasks.values()))).input
    assert {start.input_text for start in world.workflows.starts} == {stored}
    assert load_json(stored)["caller"]["claims"]["email"] == "alice@example.com"
    assert load_json(stored)["region"] == "eu"


def test_a_confirmed_call_tells_who_confirmed_it_in_modern() -> None:
    world = world_with()
    client = client_of(world, "modern")
    params: Json = {"name": "confirmed_refund", "arguments": ORDER}

    asked = client.ask("tools/call", params).result
    assert asked["inputRequests"]["confirm"]["params"]["message"] == 'Refund "A-1" in "EUR"?'
    answers = {"confirm": {"action": "accept", "content": {"reason": "ok"}}}
    answer = client.ask("tools/call", {**params, "requestState": asked["requestState"], "inputResponses": answers})

    (start,) = sent(world)
    assert start["confirmation"] == {"reason": "ok"}
    assert start["currency"] == "EUR"
    assert start["caller"]["task_id"] == answer.id_in()
    assert start["caller"]["claims"]["email"] == "alice@example.com"


def test_a_confirmed_call_tells_who_called_in_legacy() -> None:
    world = world_with()
    client = client_of(world, "legacy")
    task_id = id_of(called(client, ORDER, "confirmed_refund"))

    world.answers.respond(ALICE, task_id, {"confirm": {"action": "accept", "content": {"reason": "ok"}}})

    (start,) = sent(world)
    assert (start["confirmation"], start["region"], start["caller"]["task_id"]) == ({"reason": "ok"}, "eu", task_id)


@eras
def test_with_all_that_is_added_the_input_is_no_larger_than_a_workflow_takes(era: str) -> None:
    world = world_with()
    client = client_of(world, era, {"email": "é" * 2_000})

    answer = called(client, {"order": "x" * (LARGEST_INPUT - 3_000)})

    words = answer.error["message"] if era == "legacy" else answer.text
    assert "with their defaults are larger than 25" in words
    assert called(client, {"order": "x" * (LARGEST_INPUT - 6_000)}).status == 200
    assert len(world.workflows.starts[0].input_text.encode()) <= LARGEST_INPUT


# A default for each item of a list that the caller makes long.
@eras
def test_defaults_that_make_the_input_larger_than_a_workflow_takes_are_refused(era: str) -> None:
    item = {"type": "object", "properties": {"note": {"type": "string", "default": "x" * 1_000}}}
    schema = {"type": "object", "properties": {"items": {"type": "array", "items": item}}}
    tool = replace(OPTIONAL, name="order", input_schema=write(schema))
    world = World(catalog=catalog_of(tool))
    client = client_of(world, era)

    refused, begun = (called(client, {"items": [{}] * count}, "order") for count in (300, 200))

    words = refused.error["message"] if era == "legacy" else refused.text
    assert f"the arguments with their defaults are larger than {LARGEST_INPUT} bytes of JSON" in words
    assert [len(one["items"]) for one in sent(world)] == [200]
    assert begun.status == 200


@eras
def test_no_claim_is_in_the_audit_in_an_answer_or_in_what_a_request_shows_of_itself(era: str) -> None:
    world = world_with()
    client = client_of(world, era)

    answer = called(client, ORDER)
    world.succeed(id_of(answer), OUTPUT)
    shown = client.task("get", id_of(answer))

    written = [repr(entry) for entry in world.audit] + [answer.response.body, shown.response.body]
    request = HttpRequest("POST", {}, b"", Caller(ALICE, Claims(CLAIMS)))
    for text in (*written, repr(request), repr(world.faults), repr(world.troubles)):
        assert "alice@example.com" not in text
        assert "not for workflows" not in text
