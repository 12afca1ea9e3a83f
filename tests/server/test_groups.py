"""Groups of tools: the endpoint's URL says which tools a client is shown, and changes nothing else."""

from typing import Final

import pytest
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.tools import OWN_TOOLS, Tool
from stepwire.server.eras import TOOLS_PAGE_SIZE
from stepwire.tasks.limiter import Limits
from tests.kits import CONFIRMED, EXPRESS, OPTIONAL, World, catalog_of
from tests.server.answers import Answer
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
from tests.server.messages import ACCEPT, answers_of

Client = LegacyClient | ModernClient
ERAS: Final = ("2025-03-26", "2025-11-25", "2026-07-28")


def tool(name: str, *groups: str, like: Tool = OPTIONAL, **more: object) -> Tool:
    return replace(like, name=name, groups=groups, **more)


TOOLS: Final = (
    tool("ask", "finance", like=CONFIRMED),
    tool("fast", "hr", like=EXPRESS),
    tool("hire", "hr"),
    tool("mixed", "finance", "hr"),
    tool("pay", "finance"),
    tool("secret", "secrets", scopes=("secrets",)),
    tool("single"),
)
EVERYBODYS: Final = ["ask", "fast", "hire", "mixed", "pay", "single"]
FINANCE: Final = ["ask", "mixed", "pay"]


@pytest.fixture
def world() -> World:
    """Stepwire with tools in groups."""
    return World(catalog=catalog_of(*TOOLS))


@pytest.fixture(params=ERAS)
def version(request: pytest.FixtureRequest) -> str:
    """A version of either era."""
    return request.param


def client_at(endpoint: Endpoint, query: str, version: str, capabilities: dict[str, object] | None = None) -> Client:
    at = AtUrl(endpoint, query)
    if version == "2026-07-28":
        return ModernClient(at, capabilities={**TASKS_CAPABILITY, **(capabilities or {})})
    return LegacyClient.opened(at, version, capabilities=capabilities)


def listed(client: Client) -> list[str]:
    """Return the names on all pages of the list, without Stepwire's own tools."""
    page = client.ask("tools/list").result
    names = [one["name"] for one in page["tools"]]
    while "nextCursor" in page:
        page = client.ask("tools/list", {"cursor": page["nextCursor"]}).result
        names += [one["name"] for one in page["tools"]]
    return [name for name in names if name not in OWN_TOOLS]


def refused(answer: Answer) -> str:
    assert answer.code == -32602
    return answer.error["message"]


# ------------------------------------------------------------------------------------------------- what a URL shows


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", EVERYBODYS),
        ("key=1", EVERYBODYS),
        ("group=finance", FINANCE),
        ("group=finance,hr", ["ask", "fast", "hire", "mixed", "pay"]),
        ("group=finance&group=hr", ["ask", "fast", "hire", "mixed", "pay"]),
        ("tools=single", ["single"]),
        ("tools=single,pay", ["pay", "single"]),
        ("tools=single%2Cpay", ["pay", "single"]),
        ("t%6fols=single&gr%6Fup=hr", ["fast", "hire", "mixed", "single"]),
        ("%67%72%6f%75%70=finance", FINANCE),
        ("key=100%", EVERYBODYS),
        ("tools= single , pay,,", ["pay", "single"]),
        ("tools=single&tools=pay&key=1", ["pay", "single"]),
        ("tools=hire&group=finance", ["ask", "hire", "mixed", "pay"]),
        ("tools=task_result", []),
        ("tools=pay,task_result&resume=0", ["pay"]),
    ],
)
def test_the_tools_that_a_url_selects_are_listed_and_called_and_no_others(
    world: World, query: str, shown: list[str], version: str
) -> None:
    client = client_at(world, query, version)

    called = [name for name in EVERYBODYS if "Unknown tool" not in client.call(name).response.body]

    assert called == listed(client) == shown


def test_a_tool_outside_the_selection_looks_like_one_that_does_not_exist(world: World, version: str) -> None:
    client = client_at(world, "group=hr", version)

    outside, absent = refused(client.call("pay")), refused(client.call("gone"))

    assert outside.replace("pay", "gone") == absent
    assert "tools/list" in absent
    assert nothing_happened(world)


@pytest.mark.parametrize("query", ["group=finance", "tools=pay"])
def test_stepwires_own_tools_are_those_of_every_url(world: World, query: str) -> None:
    for capabilities in (None, CARD_CAPABILITY, ASKING_CAPABILITY):
        anywhere, selected = (
            {
                one["name"]
                for one in LegacyClient.opened(at, capabilities=capabilities).ask("tools/list").result["tools"]
            }
            for at in (world, AtUrl(world, query))
        )

        assert anywhere & OWN_TOOLS == selected & OWN_TOOLS


# M40
def test_a_selection_has_pages_of_its_own_and_a_foreign_cursor_does_no_harm(version: str) -> None:
    names = [f"tool_{number:03}" for number in range(2 * TOOLS_PAGE_SIZE + 4)]
    tools = [tool(name, "even" if number % 2 == 0 else "odd") for number, name in enumerate(names)]
    world = World(catalog=catalog_of(*tools))
    even, odd = client_at(world, "group=even", version), client_at(world, "group=odd", version)

    cursor = even.ask("tools/list").result["nextCursor"]
    rest = odd.ask("tools/list", {"cursor": cursor}).result["tools"]

    assert listed(even) == names[::2]
    assert listed(odd) == names[1::2]
    assert [one["name"] for one in rest if one["name"] not in OWN_TOOLS] == names[2 * TOOLS_PAGE_SIZE - 1 :: 2]


# ------------------------------------------------------------------------------------------ what is the same everywhere


def test_a_task_begun_at_one_url_goes_on_at_any_other(world: World) -> None:
    both = {**TASKS_CAPABILITY, **ASKING_CAPABILITY}
    here, there = (ModernClient(AtUrl(world, query), capabilities=both) for query in ("group=finance", "tools=hire"))
    task_id = here.start("pay")
    token = world.ask(task_id)

    asked = there.task("get", task_id).result["inputRequests"]
    there.update(task_id, dict.fromkeys(asked, ACCEPT))
    there.task("cancel", task_id)

    assert answers_of(world)[token] == {"action": "accept", "content": {"amount": 7}}
    assert here.task("get", task_id).result["status"] == "cancelled"


def test_the_tools_of_tasks_know_the_tasks_of_all_urls(world: World) -> None:
    begins, follows = (LegacyClient.opened(AtUrl(world, query)) for query in ("tools=pay", "group=hr"))
    task_id = begins.start("pay")

    tasks = follows.call("task_list", {}).result["structuredContent"]["tasks"]
    ended = follows.call("task_cancel", {"task_id": task_id}).result

    assert [one["taskId"] for one in tasks] == [task_id]
    assert ended["isError"] is False


def test_the_limits_of_a_caller_are_those_of_all_urls() -> None:
    world = World(catalog=catalog_of(*TOOLS), limits=Limits(active=2))
    ModernClient(AtUrl(world, "tools=pay")).start("pay")
    ModernClient(AtUrl(world, "group=hr")).start("hire")

    assert ModernClient(AtUrl(world, "tools=single")).call("single").code == -31002


# --------------------------------------------------------------------------------------------------------- bad URLs


@pytest.mark.parametrize(
    ("query", "words", "unknown"),
    [
        ("group=finanec", "groups 'finanec'", {"tools": [], "groups": ["finanec"]}),
        ("tools=gone,pay", "tools 'gone'", {"tools": ["gone"], "groups": []}),
        ("tools=gone&group=Finance", "tools 'gone' and groups 'Finance'", {"tools": ["gone"], "groups": ["Finance"]}),
        (
            "tools=secret&group=secrets",
            "tools 'secret' and groups 'secrets'",
            {"tools": ["secret"], "groups": ["secrets"]},
        ),
        (f"tools={'x' * 8_000}", f"tools '{'x' * 80}'", {"tools": ["x" * 80], "groups": []}),
        ("tools=%00%F0%9F%92%A9", "tools '\\x00", {"tools": ["\x00\U0001f4a9"], "groups": []}),
    ],
)
def test_a_url_that_names_what_is_not_there_is_refused_with_the_groups_that_are(
    world: World, query: str, words: str, unknown: dict[str, list[str]], version: str
) -> None:
    answer = client_at(SignedIn(world, frozenset()), query, version).ask("tools/list")

    assert words in refused(answer)
    assert answer.error["data"] == {"unknown": unknown, "groups": ["finance", "hr"]}


def test_a_caller_may_select_what_its_scopes_show(world: World, version: str) -> None:
    allowed = SignedIn(world, frozenset({"secrets"}), Access())

    assert listed(client_at(allowed, "group=secrets", version)) == ["secret"]
    assert "Unknown tool" not in client_at(allowed, "tools=secret", version).call("secret").response.body


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("group=", "group in the URL names nothing"),
        ("tools=,%20,", "tools in the URL names nothing"),
        ("tools", "tools in the URL names nothing"),
        (f"tools={','.join(f't{number}' for number in range(101))}", "more than 100 tools and groups"),
        (f"group={'g,' * 500_000}", "longer than 8192 characters"),
        (f"tools=a&{'x' * 1_000_000}", "longer than 8192 characters"),
        ("group=hr&" + "&".join("x" * 50), "more than 20 fields"),
    ],
)
def test_a_url_that_says_nothing_or_too_much_is_refused(world: World, query: str, words: str, version: str) -> None:
    client = client_at(world, query, version)

    assert words in refused(client.ask("tools/list"))
    assert words in refused(client.call("pay"))
    assert nothing_happened(world)


@pytest.mark.parametrize("query", ["group=finanec", "group=", f"tools={'x' * 1_000_000}"])
def test_a_client_connects_at_a_wrong_url_so_that_its_user_reads_the_error_of_the_list(
    world: World, query: str
) -> None:
    told = LegacyClient(AtUrl(world, query)).initialize()
    discovered = ModernClient(AtUrl(world, query)).ask("server/discover")

    assert told.result["capabilities"]
    assert discovered.result["capabilities"]


def test_a_call_of_a_tool_that_is_there_works_though_another_of_the_url_is_gone(world: World) -> None:
    assert ModernClient(AtUrl(world, "tools=pay,gone")).start("pay")


# ---------------------------------------------------------------------------------------------------- many tools


def test_a_page_of_ten_thousand_tools_shows_a_group_of_ten(version: str) -> None:
    tools = [tool(f"tool_{number:05}", *(["few"] if number % 1_000 == 0 else [])) for number in range(10_000)]
    world = World(catalog=catalog_of(*tools))

    assert listed(client_at(world, "group=few", version)) == [one.name for one in tools[::1_000]]
