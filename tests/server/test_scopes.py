"""Scopes: a refusal names all required scopes; a caller sees only the tools it may call; its tasks stay its own."""

import dataclasses
import re
from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.audit import AuditAction
from stepwire.catalog.access import Access
from stepwire.catalog.tools import OWN_TOOLS
from stepwire.protocol.http import HttpResponse
from tests.kits import CONFIRMED, OPTIONAL, OUTPUT, REQUIRED, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import (
    ASKING_CAPABILITY,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
    SignedIn,
    nothing_happened,
)
from tests.server.messages import questions

Client = LegacyClient | ModernClient
METADATA: Final = "https://mcp.example/.well-known/oauth-protected-resource/mcp"
CALL: Final = "tools:call"
REFUNDS: Final = "refunds"
AUDITS: Final = "audits"
PLAIN: Final = replace(OPTIONAL, name="plain")
REFUND: Final = replace(OPTIONAL, name="refund", scopes=(REFUNDS,))
CONFIRMED_REFUND: Final = replace(CONFIRMED, name="confirmed_refund", scopes=(REFUNDS,))
AUDIT: Final = replace(REQUIRED, name="audit", scopes=(REFUNDS, AUDITS))
BOTH: Final = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}
ANSWER: Final[Json] = {"action": "accept", "content": {"amount": 7}}
YES: Final[Json] = {"confirm": {"action": "accept", "content": {}}}
NEEDS_CALL: Final = Access((CALL,), metadata_url=METADATA)


@pytest.fixture
def world() -> World:
    """Stepwire with tools that need scopes."""
    return World(catalog=catalog_of(PLAIN, REFUND, CONFIRMED_REFUND, AUDIT))


@pytest.fixture(params=[LegacyClient, ModernClient])
def era(request: pytest.FixtureRequest) -> type[Client]:
    """One kind of client."""
    return request.param


def holding(world: World, *scopes: str) -> SignedIn:
    return SignedIn(world, frozenset(scopes), NEEDS_CALL)


def listed(client: Client) -> list[str]:
    """Return the operator's tools in the list that a client gets."""
    names = [tool["name"] for tool in client.ask("tools/list").result["tools"]]
    return [name for name in names if name not in OWN_TOOLS]


def challenged(response: HttpResponse) -> dict[str, str]:
    """Return the challenge of a refusal."""
    scheme, _, parameters = response.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    return dict(re.findall(r'(\w+)="([^"]*)"(?:, |$)', parameters))


METHODS: Final = {
    LegacyClient: ("initialize", "ping", "tools/list", "tools/call", "tasks/get", "tasks/list", "nonsense"),
    ModernClient: ("server/discover", "tools/list", "tools/call", "tasks/get", "subscriptions/listen", "nonsense"),
}


# M4
def test_without_the_required_scope_nothing_is_answered(world: World, era: type[Client]) -> None:
    client = era(holding(world, "openid"))

    answers = [client.ask(method, {"name": "plain", "taskId": "x"}) for method in METHODS[era]]

    assert {(answer.status, answer.code, answer.body["id"]) for answer in answers} == {(403, -31004, 1)}
    assert nothing_happened(world)


# M4, F3
def test_the_challenge_names_what_is_needed_and_where_to_ask_for_it(world: World, era: type[Client]) -> None:
    answer = era(holding(world)).ask("tools/list")

    facts = {"error": "insufficient_scope", "scope": CALL, "resource_metadata": METADATA}
    assert challenged(answer.response) == facts
    assert answer.error["data"] == facts, "API Gateway renames www-authenticate, so the body must be complete"


# M4
def test_notifications_and_streams_need_the_scope_too(world: World) -> None:
    session = LegacyClient.opened(holding(world, CALL))
    running = session.call("plain")
    stranger = dataclasses.replace(session, endpoint=holding(world))

    assert stranger.notify("notifications/cancelled", {"requestId": 1}).status == 403
    assert stranger.resume(running.last_event_id, opened_by=running.request).status == 403
    assert len(world.workflows.running()) == 1


# M4
def test_the_origin_is_checked_first(world: World) -> None:
    client = LegacyClient(holding(world))

    assert client.ask("ping", headers={"origin": "https://evil.example"}).code == -32600


# M32, M33
@pytest.mark.parametrize(
    ("scopes", "tools"),
    [
        ((CALL,), ["plain"]),
        ((CALL, REFUNDS), ["confirmed_refund", "plain", "refund"]),
        ((CALL, AUDITS), ["plain"]),
        ((CALL, REFUNDS, AUDITS), ["audit", "confirmed_refund", "plain", "refund"]),
        ((CALL, "refund", "refunds:all", "Refunds"), ["plain"]),
    ],
)
def test_a_tool_is_listed_for_the_callers_that_may_call_it(
    world: World, era: type[Client], scopes: tuple[str, ...], tools: list[str]
) -> None:
    assert listed(era(holding(world, *scopes))) == tools


# M38, M32
@pytest.mark.parametrize("tool", ["refund", "confirmed_refund", "audit"])
def test_a_tool_that_is_not_listed_cannot_be_called(world: World, era: type[Client], tool: str) -> None:
    client = era(holding(world, CALL))

    answers = [client.call(tool), *([client.call(tool, task={})] if isinstance(client, LegacyClient) else [])]

    # The refusal of one tool must not end the session of a client.
    assert {(one.status, one.code) for one in answers} == {(200 if era is LegacyClient else 403, -31004)}
    assert nothing_happened(world)


# M38, F6: it names the scopes of the caller too, because a new token replaces the old, but none of other resources
@pytest.mark.parametrize(("held", "tool"), [((CALL, AUDITS), "audit"), ((CALL, AUDITS, "openid"), "refund")])
def test_one_challenge_names_all_scopes_that_the_tool_needs(
    world: World, era: type[Client], held: tuple[str, ...], tool: str
) -> None:
    challenge = challenged(era(holding(world, *held)).call(tool).response)

    assert challenge["scope"].split() == [CALL, REFUNDS, AUDITS]


# M38
def test_a_caller_with_the_scopes_may_call(world: World, era: type[Client]) -> None:
    answer = era(holding(world, CALL, REFUNDS, "openid")).call("refund")

    assert answer.status == 200
    assert len(world.workflows.starts) == 1


# M38
def test_every_round_needs_the_scope(world: World) -> None:
    asked = ModernClient(holding(world, CALL, REFUNDS), capabilities={"elicitation": {"form": {}}})
    state = asked.call("confirmed_refund").result["requestState"]

    again = dataclasses.replace(asked, endpoint=holding(world, CALL))
    answer = again.call("confirmed_refund", more={"requestState": state, "inputResponses": YES})

    assert answer.status == 403
    assert nothing_happened(world)


# X28
def test_a_task_stays_its_owners_when_the_scope_of_its_tool_is_gone(world: World, era: type[Client]) -> None:
    before = era(holding(world, CALL, REFUNDS))
    task_id = before.start("refund")

    after = era(holding(world, CALL))
    world.succeed(task_id, OUTPUT)

    assert after.task("get", task_id).result["status"] == "completed"


# M4, M38
def test_a_caller_with_unknown_scopes_may_call_only_tools_without_scopes(world: World, era: type[Client]) -> None:
    client = era(SignedIn(world, None, Access(metadata_url=METADATA)))

    assert listed(client) == ["plain"]
    refused = client.call("refund")
    assert (refused.code, refused.status) == (-31004, 200 if era is LegacyClient else 403)
    assert nothing_happened(world)
    assert client.call("plain").status == 200


# M38
def test_an_answer_needs_the_scope_of_the_tool(world: World) -> None:
    before = ModernClient(holding(world, CALL, REFUNDS), capabilities=BOTH)
    task_id = before.start("refund")
    world.ask(task_id)
    after = dataclasses.replace(before, endpoint=holding(world, CALL))

    refused = after.update(task_id, {"approval": ANSWER})

    assert (refused.status, refused.code) == (403, -31004)
    assert challenged(refused.response)["scope"].split() == [CALL, REFUNDS]
    assert before.task("get", task_id).result["status"] == "input_required"
    assert before.update(task_id, {"approval": ANSWER}).status == 200


# M38
def test_a_caller_that_has_lost_the_scope_cannot_confirm(world: World) -> None:
    before = LegacyClient.opened(holding(world, CALL, REFUNDS), capabilities=ASKING_CAPABILITY)
    task_id = before.call("confirmed_refund", task={}).id_in("task")
    (asked,) = questions(before.task("result", task_id).messages)
    after = dataclasses.replace(before, endpoint=holding(world, CALL))

    refused = after.respond(asked, result=YES["confirm"])

    # A lost scope must not end the session of a client that answers; the question stays open.
    assert refused.status == 202
    assert [entry.outcome for entry in world.audit if entry.action is AuditAction.REFUSED] == ["InsufficientScope"]
    assert world.workflows.starts == []
    assert before.respond(asked, result=YES["confirm"]).status == 202
    assert len(world.workflows.starts) == 1


# M38, X28
def test_a_caller_that_has_lost_the_scope_may_still_cancel(world: World, era: type[Client]) -> None:
    task_id = era(holding(world, CALL, REFUNDS)).start("refund")

    era(holding(world, CALL)).task("cancel", task_id)

    assert len(world.workflows.stops) == 1


# M38
def test_scopes_have_the_prefix_of_the_resource_if_the_issuer_adds_it(world: World, era: type[Client]) -> None:
    access = Access(("call",), prefix="https://mcp.example/mcp/", metadata_url=METADATA)
    client = era(SignedIn(world, frozenset({"https://mcp.example/mcp/call", "refunds"}), access))

    challenge = challenged(client.call("refund").response)

    assert challenge["scope"] == "https://mcp.example/mcp/call https://mcp.example/mcp/refunds"


class TestWithoutSignIn:
    """T21: without sign-in all callers are one principal, so only a secret id protects a task from others."""

    @pytest.fixture
    def anybody(self, world: World) -> LegacyClient:
        return LegacyClient(SignedIn(world, None, Access(knows_callers=False)))

    def test_the_list_of_tasks_is_not_offered(self, anybody: LegacyClient) -> None:
        capabilities = anybody.initialize().result["capabilities"]

        assert capabilities["tasks"] == {"cancel": {}, "requests": {"tools": {"call": {}}}}

    def test_the_list_of_tasks_is_refused(self, anybody: LegacyClient) -> None:
        task_id = anybody.start("plain")

        answer = anybody.ask("tasks/list")

        assert answer.code == -32601
        assert task_id not in answer.response.body

    def test_any_caller_that_knows_its_id_gets_a_task(self, anybody: LegacyClient) -> None:
        assert anybody.task("get", anybody.start("plain")).result["status"] == "working"
