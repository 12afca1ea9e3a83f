"""Discovery: what a client is listed that searches for tools, and what it finds. `test_call_tool` has its calls."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.tools import OWN_TOOLS, TASK_TOOLS, Tool
from stepwire.extras.search import CALL_TOOL, FIND_TOOL, is_usual
from stepwire.json_text import write
from tests.extras.search.searching import KEYED, TOOLS, new_world, searching
from tests.kits import EXPRESS, OPTIONAL, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import (
    CARD_CAPABILITY,
    AtUrl,
    Endpoint,
    LegacyClient,
    ModernClient,
    SignedIn,
    nothing_happened,
)

Client = LegacyClient | ModernClient


@pytest.fixture
def world() -> World:
    """Stepwire with one tool of each kind."""
    return new_world()


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
    world.services.ground.built[is_usual] = operators
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


@pytest.mark.parametrize(("limit", "count"), [(1, 1), (3.0, 3), (20, 9), (None, 5)])
def test_a_search_returns_as_many_as_were_asked_for(
    era: Callable[[Endpoint], Client], world: World, limit: float | None, count: int
) -> None:
    assert len(names(era(searching(world)), "", limit=limit)) == count


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
