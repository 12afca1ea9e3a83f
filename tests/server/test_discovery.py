"""Discovery: a client finds tools by searching, and calls them by `call_tool` as if it had called them directly."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from msgspec import structs
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.tools import CALL_TOOL, FIND_TOOL, OWN_TOOLS, TASK_TOOLS, TaskSupport, Tool
from stepwire.json_text import write
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.tasks.outcomes import Succeeded
from tests.kits import (
    ARGUMENTS,
    BAD_ARGUMENTS,
    CONFIRMED,
    EXPRESS,
    FORBIDDEN,
    OPTIONAL,
    OUTPUT,
    REQUIRED,
    STRUCTURED,
    World,
    catalog_of,
)
from tests.server.answers import Json
from tests.server.cards import CARD, client_of
from tests.server.clients import (
    ASKING_CAPABILITY,
    CARD_CAPABILITY,
    TASKS_CAPABILITY,
    AtUrl,
    Endpoint,
    LegacyClient,
    ModernClient,
    SignedIn,
    nothing_happened,
)
from tests.server.messages import ACCEPT, CONFIRMING, only_task, questions

Client = LegacyClient | ModernClient
ROUTED: Final = replace(
    OPTIONAL,
    name="routed",
    input_schema=write({"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}),
)
ANSWERED: Final = replace(OPTIONAL, name="answered", model_may_answer=True)
KEYED: Final = replace(OPTIONAL, name="keyed", groups=("finance", "month-end"))
TOOLS: Final = (OPTIONAL, REQUIRED, FORBIDDEN, STRUCTURED, CONFIRMED, EXPRESS, ROUTED, ANSWERED, KEYED)
BOTH: Final = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}


def new_world() -> World:
    world = World(catalog=catalog_of(*TOOLS))
    world.sync_workflows.answer = Succeeded(write(OUTPUT))
    return world


@pytest.fixture
def world() -> World:
    """Stepwire with one tool of each kind."""
    return new_world()


@pytest.fixture(params=["2025-03-26", "2025-11-25", "2026-07-28", "2026-07-28 without tasks"])
def era(request: pytest.FixtureRequest) -> Callable[[Endpoint], Client]:
    """Makes clients of an era."""
    version, _, without = request.param.partition(" ")
    if version == "2026-07-28":
        return lambda at: ModernClient(at, capabilities={} if without else TASKS_CAPABILITY)
    return lambda at: LegacyClient.opened(at, version)


def searching(world: Endpoint, more: str = "") -> AtUrl:
    return AtUrl(world, f"discover=1{more}")


def found(client: Client, query: str, **more: Any) -> Json:
    result = client.call(FIND_TOOL, {"query": query, **more}).result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]


def names(client: Client, query: str, **more: Any) -> list[str]:
    return [tool["name"] for tool in found(client, query, **more)["tools"]]


# ---------------------------------------------------------------------------------------------------- what is listed


def test_a_client_that_discovers_is_listed_two_tools_and_those_of_tasks(
    world: World, era: Callable[[Endpoint], Client]
) -> None:
    usual = [one["name"] for one in era(world).ask("tools/list").result["tools"]]
    listed = [one["name"] for one in era(searching(world)).ask("tools/list").result["tools"]]

    assert listed == [FIND_TOOL, CALL_TOOL, *(name for name in usual if name in TASK_TOOLS)]
    assert not {FIND_TOOL, CALL_TOOL} & set(usual)


@pytest.mark.parametrize(
    ("operators", "query", "searches"),
    [
        (False, "", False),
        (True, "", True),
        (True, "key=1", True),
        (True, "discover=0", False),
        (False, "discover=1", True),
    ],
)
def test_the_url_decides_before_the_operator(
    operators: bool, query: str, searches: bool, era: Callable[[Endpoint], Client], world: World
) -> None:
    world.server = structs.replace(world.server, services=structs.replace(world.services, discovery=operators))
    client = era(AtUrl(world, query))

    listed = {one["name"] for one in client.ask("tools/list").result["tools"]}
    called = client.call(FIND_TOOL, {"query": "x"}).response.body

    assert (FIND_TOOL in listed, "optional" in listed, "Unknown tool" not in called) == (
        searches,
        not searches,
        searches,
    )


def test_call_tool_says_what_holds_for_every_tool_that_it_may_call(world: World) -> None:
    def shown(*hints: Json) -> Json:
        tools = [replace(OPTIONAL, name=f"t{place}", annotations=one) for place, one in enumerate(hints)]
        listed = LegacyClient(searching(World(catalog=catalog_of(*tools)))).ask("tools/list").result["tools"]
        (call,) = (one for one in listed if one["name"] == CALL_TOOL)
        assert "outputSchema" not in call
        assert "_meta" not in call
        return call["annotations"]

    names = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    reads, closed = {"readOnlyHint": True, "openWorldHint": False}, {"openWorldHint": False}
    assert [shown(reads)[name] for name in names] == [True, False, True, False]
    assert [shown(reads, {})[name] for name in names] == [False, True, False, True]
    assert [shown(reads, {**closed, "destructiveHint": False})[name] for name in names] == [False, False, False, False]
    assert [shown({"idempotentHint": True, **closed}, reads)[name] for name in names] == [False, True, True, False]
    assert [shown()[name] for name in names][:1] == [False]


# T3, T4, T6
@pytest.mark.parametrize(
    ("supports", "shown", "works"),
    [
        ([], "optional", True),
        (["optional"], "optional", True),
        (["required"], "required", True),
        (["optional", "required"], "optional", True),
        (["forbidden"], "forbidden", True),
        (["forbidden", "optional"], "forbidden", True),
        (["forbidden", "optional", "required"], "optional", False),  # no way of calling suits all three
    ],
)
def test_a_host_that_makes_a_task_of_each_call_that_may_be_one_can_call_every_tool_by_call_tool(
    supports: list[str], shown: str, works: bool
) -> None:
    tools = [replace(OPTIONAL, name=one, task_support=TaskSupport(one)) for one in supports]
    world = World(catalog=catalog_of(*tools))
    like_vs_code = LegacyClient.opened(Through(searching(world, "&resume=0")))
    listed = {one["name"]: one["execution"]["taskSupport"] for one in like_vs_code.ask("tools/list").result["tools"]}
    task: Json = {} if listed[CALL_TOOL] == "forbidden" else {"task": {}}

    answers = [like_vs_code.call(one, **task).body for one in supports]

    assert listed[CALL_TOOL] == shown
    assert all("result" in answer for answer in answers) is works


# U3
def test_call_tool_has_a_card_where_a_tool_behind_it_has_one(world: World) -> None:
    def call_of(*tools: Tool) -> Json:
        client = ModernClient(searching(World(catalog=catalog_of(*tools))), capabilities=CARD_CAPABILITY)
        return next(one for one in client.ask("tools/list").result["tools"] if one["name"] == CALL_TOOL)

    assert call_of(OPTIONAL, EXPRESS)["_meta"]["ui"]["resourceUri"]
    assert "_meta" not in call_of(EXPRESS)


# ---------------------------------------------------------------------------------------------------- what is found

CATALOG: Final = tuple(
    replace(OPTIONAL, name=name, title=title, description=description, groups=groups)
    for name, title, description, groups in (
        ("settle_invoices", "Settle invoices", "Settles all open invoices of a customer.", ("finance",)),
        ("list_invoices", "List invoices", "Lists the invoices of a month.", ("finance",)),
        ("refundOrder", "Refund an order", "Pays a customer's money back.", ("support",)),
        ("hire", "Hire somebody", "Creates the account of a new employee, and orders a laptop.", ("hr",)),
        ("close_month", None, "Closes the books: no more invoices can be settled.", ("finance", "month-end")),
        ("rueckzahlung", "Rückzahlung", "Überweist einen Betrag zurück.", ()),
        ("tuikuan", "退款", "处理客户退款请求", ()),
    )
)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("settle invoices", ["settle_invoices", "close_month", "list_invoices"]),
        ("settling an invoice", ["settle_invoices", "close_month", "list_invoices"]),
        ("SETTLE_INVOICES", ["settle_invoices"]),
        ("refunds", ["refundOrder"]),
        ("I want to refund the order of a customer", ["refundOrder", "settle_invoices", "hire"]),
        ("employees", ["hire"]),
        ("accounting", ["hire"]),
        ("month", ["close_month", "list_invoices"]),
        ("hr", ["hire"]),
        ("finance", ["close_month", "list_invoices", "settle_invoices"]),
        ("order a laptop", ["hire", "refundOrder"]),
        ("rückzahlung", ["rueckzahlung"]),
        ("退款", ["tuikuan"]),
        ("the", ["close_month"]),
        ("submarine", []),
        ("?!", None),
        ("", None),
    ],
)
def test_the_tools_that_match_best_come_first(query: str, first: list[str] | None) -> None:
    client = ModernClient(searching(World(catalog=catalog_of(*CATALOG))))
    by_name = sorted(tool.name for tool in CATALOG)

    ranked = names(client, query)

    assert ranked[: len(first) if first else None] == (by_name[:5] if first is None else first)


def test_a_found_tool_is_described_as_a_list_would_and_says_more(
    world: World, era: Callable[[Endpoint], Client]
) -> None:
    listed = {one["name"]: one for one in era(world).ask("tools/list").result["tools"]}
    client = era(searching(world))

    shown = {one["name"]: one for one in found(client, "", limit=20)["tools"]}

    assert shown.keys() == listed.keys() - OWN_TOOLS
    for name, one in shown.items():
        same = ("title", "description", "inputSchema", "annotations")
        assert [one.get(member) for member in same] == [listed[name].get(member) for member in same]
    assert (shown["keyed"]["groups"], shown["confirmed"]["asksForConfirmation"]) == (["finance", "month-end"], True)


def test_what_does_not_fit_is_named_and_counted(world: World) -> None:
    client = ModernClient(searching(world))
    all_of_them = sorted(tool.name for tool in TOOLS)

    some = found(client, "", limit=2)

    assert [one["name"] for one in some["tools"]] == all_of_them[:2]
    assert (some["others"], some["matches"], some["groups"]) == (all_of_them[2:], 9, ["finance", "month-end"])


def test_large_tools_fill_no_answer_and_the_best_is_always_there() -> None:
    large = write({"type": "object", "description": "x" * 30_000})
    tools = [replace(OPTIONAL, name=f"large_{number}", input_schema=large) for number in range(3)]
    client = ModernClient(searching(World(catalog=catalog_of(*tools))))

    assert names(client, "large") == ["large_0"]
    assert found(client, "large")["others"] == ["large_1", "large_2"]


def test_a_search_finds_what_the_scopes_and_the_url_show(world: World, era: Callable[[Endpoint], Client]) -> None:
    hidden = replace(KEYED, name="hidden", scopes=("secrets",))
    world = World(catalog=catalog_of(*TOOLS, hidden))

    def seen(scopes: set[str], more: str) -> list[str]:
        return names(
            era(searching(SignedIn(world, frozenset(scopes), Access()), more)), "hidden keyed optional", limit=20
        )

    assert {"keyed", "optional"} <= set(seen(set(), ""))
    assert "hidden" not in seen(set(), "")
    assert seen({"secrets"}, "&group=finance") == ["hidden", "keyed"]
    assert seen(set(), "&group=finance&tools=optional") == ["keyed", "optional"]


def test_ten_thousand_tools_are_searched_and_listed_in_bounded_answers(world: World) -> None:
    words = ("invoice", "order", "customer", "month", "refund", "account", "report")
    tools = [
        replace(OPTIONAL, name=f"tool_{n:05}", description=f"Handles the {words[n % 7]} {n} of a {words[n // 7 % 7]}.")
        for n in range(10_000)
    ]
    client = ModernClient(searching(World(catalog=catalog_of(*tools))))

    one, many = found(client, "tool 04711"), found(client, "the refunds of all customers and accounts", limit=20)

    assert one["tools"][0]["name"] == "tool_04711"
    assert (len(many["tools"]), len(many["others"])) == (20, 50)
    assert len(json.dumps(many)) < 50_000
    assert len(client.ask("tools/list").response.body) < 5_000


# ------------------------------------------------------------------------ a call by call_tool is the call of the tool


@dataclass(frozen=True)
class Through:
    """An endpoint whose client calls every tool by call_tool."""

    endpoint: Endpoint
    name: str = CALL_TOOL

    @property
    def server(self) -> "Through":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request, its call rewritten."""
        message = json.loads(request.body or b"{}")
        params, headers = message.get("params", {}), dict(request.headers)
        if message.get("method") == "tools/call" and params["name"] not in OWN_TOOLS:
            inner = {name: params[name] for name in ("name", "arguments") if name in params}
            message["params"] = {**params, "name": self.name, "arguments": inner}
            headers |= {"mcp-name": self.name} if "mcp-name" in headers else {}
        body = json.dumps(message).encode() if request.body else b""
        return self.endpoint.server.handle(structs.replace(request, body=body, headers=headers))


def rounds(world: World, at: Endpoint) -> None:
    client = ModernClient(at, capabilities=ASKING_CAPABILITY)
    answer = client.call("optional")
    world.ask(only_task(world))
    for given in ({}, {"approval": {"action": "accept", "content": {"amount": 700}}}, None):
        state = {"requestState": answer.result["requestState"]}
        last = next(iter(answer.result.get("inputRequests", {})), "")
        answer = client.call("optional", more={**state, "inputResponses": {last: ACCEPT} if given is None else given})
    world.succeed(only_task(world), OUTPUT)
    client.call("optional", more={"requestState": answer.result["requestState"]})


def confirmation_in_rounds(world: World, at: Endpoint) -> None:
    client = ModernClient(at, capabilities=BOTH)
    state = client.call("confirmed").result["requestState"]
    client.call("optional", more={"requestState": state})
    task_id = client.call("confirmed", more={"requestState": state, "inputResponses": {"confirm": CONFIRMING}}).id_in()
    world.succeed(task_id, OUTPUT)
    client.task("get", task_id)


def tasks_of_2026(world: World, at: Endpoint) -> None:
    client = ModernClient(at, capabilities=BOTH)
    task_id = client.start("optional")
    world.ask(task_id)
    client.update(task_id, {"approval": ACCEPT})
    world.succeed(task_id, OUTPUT)
    client.task("get", task_id)
    client.task("cancel", client.start("required"))


def tasks_of_2025(world: World, at: Endpoint) -> None:
    client = LegacyClient.opened(at, capabilities=ASKING_CAPABILITY)
    task_id = client.start("required", task={"ttl": 90_000})
    world.ask(task_id)
    between: Callable[[Sequence[Json]], object] = lambda latest: [  # noqa: E731 - one expression
        (client.respond(one, result=ACCEPT), world.succeed(task_id, OUTPUT)) for one in questions(latest)
    ]
    client.follow(client.task("result", task_id), between=between)
    client.task("cancel", client.start("optional"))
    client.ask("tasks/list")


def elicitation_on_a_stream(world: World, at: Endpoint) -> None:
    client = LegacyClient.opened(at, capabilities=ASKING_CAPABILITY)
    answer = client.call("optional", progress_token="p")
    task_id = only_task(world)
    world.ask(task_id)

    def between(latest: Sequence[Json]) -> None:
        world.progress(task_id, 50)
        for one in questions(latest):
            client.respond(one, result=ACCEPT)
            world.succeed(task_id, OUTPUT)

    client.follow(answer, between=between)


def confirmation_on_a_stream(world: World, at: Endpoint) -> None:
    client = LegacyClient.opened(at, capabilities=ASKING_CAPABILITY)

    def between(latest: Sequence[Json]) -> None:
        for one in questions(latest):
            client.respond(one, result=CONFIRMING)
            world.succeed(only_task(world), OUTPUT)

    client.follow(client.call("confirmed"), between=between)


def a_card(world: World, at: Endpoint) -> None:
    for era in ("modern", "legacy"):
        client = client_of(era, at, CARD_CAPABILITY)
        task_id = client.call("optional").result["_meta"][CARD]["taskId"]
        world.ask(task_id)
        seen = client.call("card_task", {"task_id": task_id}).result["_meta"][CARD]
        answer = {"task_id": task_id, "question": "approval", "token": seen["tokens"]["approval"], "action": "accept"}
        client.call("card_answer", {**answer, "content": {"amount": 7}})
        world.succeed(task_id, OUTPUT)
        client.call("card_task", {"task_id": task_id})
        client.call("confirmed")
        client.call("express")


def a_client_without_anything(world: World, at: Endpoint) -> None:
    for client in (ModernClient(at, capabilities={}), LegacyClient(at, "2025-03-26")):
        task_id = next(iter(client.call("answered").result["structuredContent"].values()))["taskId"]
        world.ask(task_id)
        client.call("task_result", {"task_id": task_id})
        client.call("task_answer", {"task_id": task_id, "question": "approval", "answer": {"amount": 7}})
        world.succeed(task_id, OUTPUT)
        client.call("task_result", {"task_id": task_id})
        client.call("structured")
        client.call("confirmed")
        client.call("express")


def repeated_calls(world: World, at: Endpoint) -> None:
    client = ModernClient(at)
    for text in ("a", "a", "b"):
        meta = {"stepwire/idempotencyKey": "k"}
        client.ask("tools/call", {"name": "keyed", "arguments": {"text": text}}, meta=meta)


def refusals(world: World, at: Endpoint) -> None:
    for client in (ModernClient(at), LegacyClient.opened(at), LegacyClient(at, "2025-03-26")):
        for tool in ("optional", "required", "forbidden", "express", "confirmed", "gone"):
            client.call(tool, BAD_ARGUMENTS)
            client.call(tool, {})
            client.call(tool)
            if isinstance(client, LegacyClient):
                client.call(tool, task={})
                client.call(tool, BAD_ARGUMENTS, task={})


SCRIPTS: Final = (
    rounds,
    confirmation_in_rounds,
    tasks_of_2026,
    tasks_of_2025,
    elicitation_on_a_stream,
    confirmation_on_a_stream,
    a_card,
    a_client_without_anything,
    repeated_calls,
    refusals,
)


@dataclass
class Listening:
    """An endpoint that keeps what it answers."""

    endpoint: Endpoint
    answers: list[HttpResponse]

    @property
    def server(self) -> "Listening":
        """The endpoint itself."""
        return self

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request, and keep the answer."""
        answer = self.endpoint.server.handle(request)
        self.answers.append(answer)
        return answer


# M12, M45, M46, X12, T7, T30
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.__name__)
def test_a_call_by_call_tool_is_answered_and_audited_as_a_direct_call(
    script: Callable[[World, Endpoint], None],
) -> None:
    worlds = (new_world(), new_world())
    ways: tuple[Endpoint, ...] = (searching(worlds[0]), Through(searching(worlds[1])))
    seen: tuple[list[HttpResponse], ...] = ([], [])

    for world, way, answers in zip(worlds, ways, seen, strict=True):
        script(world, Listening(way, answers))

    assert seen[0] == seen[1]
    assert worlds[0].audit == worlds[1].audit
    assert worlds[0].workflows.starts == worlds[1].workflows.starts
    assert worlds[0].store.tasks == worlds[1].store.tasks
    assert worlds[0].faults == worlds[1].faults == []


def test_a_direct_call_and_one_by_call_tool_are_equal(world: World) -> None:
    direct, through = ModernClient(searching(world)), ModernClient(Through(searching(world)))
    key = {"stepwire/idempotencyKey": "k"}
    params = {"name": "keyed", "arguments": ARGUMENTS}

    first, second = (one.ask("tools/call", params, meta=key).id_in() for one in (direct, through))
    state = ModernClient(searching(world), capabilities=BOTH).call("confirmed").result["requestState"]
    more = {"requestState": state, "inputResponses": {"confirm": CONFIRMING}}
    confirmed = ModernClient(Through(searching(world)), capabilities=BOTH).call("confirmed", more=more)

    assert first == second
    assert confirmed.result["resultType"] == "task"


# M39
def test_headers_that_repeat_arguments_are_not_needed_where_no_list_names_them(world: World) -> None:
    through = ModernClient(Through(searching(world)))

    assert through.call("routed", {"text": "a"}).result["resultType"] == "task"
    assert ModernClient(searching(world)).call("routed", {"text": "a"}).code == -32020


@pytest.mark.parametrize(
    ("given", "started"),
    [({"text": "a"}, {"text": "a"}), ('{"text": "a"}', {"text": "a"}), (' {"text":"a"}\n', {"text": "a"})],
)
def test_arguments_may_be_the_text_of_an_object(world: World, given: object, started: Json) -> None:
    ModernClient(searching(world)).call(CALL_TOOL, {"name": "optional", "arguments": given})

    assert [json.loads(one.input_text) for one in world.workflows.starts] == [started]


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "name"),
        ({"name": None}, "name"),
        ({"name": 7, "arguments": {}}, "name"),
        ({"name": ["optional"]}, "name"),
        ({"name": "optional", "arguments": []}, "arguments"),
        ({"name": "optional", "arguments": "text"}, "arguments"),
        ({"name": "optional", "arguments": "[]"}, "arguments"),
        ({"name": "optional", "arguments": '{"text":"a","text":"b"}'}, "arguments"),
        ({"name": "optional", "arguments": '{"text":1e999}'}, "arguments"),
        ({"name": "optional", "arguments": "[" * 40_000}, "arguments"),
        ({"name": "optional", "arguments": {}, "task": {}}, "task"),
        ({"name": "optional", "arguments": {}, "": 1}, "not valid"),
        ({"name": "optional", "text": "a"}, "text"),
        (
            {"name": CALL_TOOL, "arguments": {"name": "optional", "arguments": ARGUMENTS}},
            f"call {CALL_TOOL} by its name",
        ),
        ({"name": "task_list"}, "call task_list by its name"),
        ({"name": "card_task", "arguments": {"task_id": "x"}}, "call card_task by its name"),
        ({"name": "gone"}, f"Unknown tool 'gone'. {FIND_TOOL} names"),
        ({"name": "x" * 100_000}, f"Unknown tool '{'x' * 80}'"),
        ({"name": "\x00\ud7ff\u202e"}, "Unknown tool"),
        ({"name": ""}, "Unknown tool ''"),
        ({"name": "optional"}, "The arguments of optional are not valid"),
        ({"name": "optional", "arguments": None}, "The arguments of optional are not valid"),
        ({"name": "optional", "arguments": BAD_ARGUMENTS}, "The arguments of optional are not valid"),
    ],
)
@pytest.mark.parametrize("as_task", [False, True])
def test_a_wrong_call_starts_nothing_and_says_what_is_wrong(
    world: World, arguments: Json, words: str, as_task: bool, era: Callable[[Endpoint], Client]
) -> None:
    client = era(searching(world))
    task: Json = {"task": {}} if as_task and isinstance(client, LegacyClient) else {}

    answer = client.ask("tools/call", {"name": CALL_TOOL, "arguments": arguments, **task})

    text = answer.body["error"]["message"] if "error" in answer.body else answer.result["content"][0]["text"]
    assert words in text
    assert len(text) < 5_000
    assert nothing_happened(world)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"query": None},
        {"query": 7},
        {"query": "x" * 501},
        {"query": "x", "limit": 0},
        {"query": "x", "limit": 21},
        {"query": "x", "limit": "5"},
        {"query": "x", "other": 1},
    ],
)
def test_a_wrong_search_is_refused(world: World, arguments: Json, era: Callable[[Endpoint], Client]) -> None:
    result = era(searching(world)).call(FIND_TOOL, arguments).result

    assert result["isError"] is True
    assert f"The arguments of {FIND_TOOL} are not valid" in result["content"][0]["text"]


@pytest.mark.parametrize("query", ["discover=", "discover=yes", "discover=1&discover=0", "discover=1&group=gone"])
def test_a_wrong_url_is_an_error_of_list_and_search(world: World, query: str) -> None:
    client = ModernClient(AtUrl(world, query))

    assert client.ask("tools/list").code == client.call(FIND_TOOL, {"query": ""}).code == -32602
    assert nothing_happened(world)


def test_no_call_is_made_that_the_url_or_the_scopes_forbid(world: World, era: Callable[[Endpoint], Client]) -> None:
    client = era(Through(searching(world, "&group=finance")))

    assert f"Unknown tool 'optional'. {FIND_TOOL} names" in client.call("optional").error["message"]
    assert "Unknown tool" not in client.call("keyed").response.body
