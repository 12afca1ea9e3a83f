"""Skills (SEP-2640): what a caller is served, in 2026-07-28 by its methods and in both eras as resources.

The oracle checks every answer: the shape of entries, digests, resources and directories.
"""

import hashlib
import re
from collections.abc import Mapping

import pytest
import yaml
from msgspec.structs import replace

from stepwire.catalog.access import Access
from stepwire.catalog.tools import TASK_TOOLS
from stepwire.errors import StoreBusy
from stepwire.extras import skills as extra
from stepwire.extras.skills.manifest import checked_skills
from stepwire.extras.skills.serving import own_skill
from stepwire.extras.skills.skill import Skill
from stepwire.manifests.published import ToolFile
from stepwire.protocol.inbound import META_KEY
from tests.kits import OPTIONAL, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import AtUrl, LegacyClient, ModernClient, SignedIn
from tests.server.test_spans import Printed, spans_in, traced

OWN = "skill://workflows/run-a-workflow/SKILL.md"
REFUNDS = "skill://tools/optional/refunds/SKILL.md"
MAIN = '---\nname: refunds\ndescription: Refund a customer.\nmetadata: {team: "ä"}\n---\n# Refunds\n\nUse `forms/`.\n'
FILES = {"SKILL.md": MAIN, "forms/eu/long.json": "{}", "forms/short.md": "Short.", "rates.csv": "a,b\r\n1,2\r\n"}
Asking = LegacyClient | ModernClient


def skills_of(files: Mapping[str, str], *tools: str, name: str = "refunds") -> tuple[Skill, ...]:
    found = [ToolFile(tool, f"{name}/{path}", path, text) for tool in tools for path, text in files.items()]
    checked = checked_skills(found, tools)
    assert checked.refusals == ()
    return checked.parts or ()


def serve(world: World, *skills: Skill) -> None:
    world.services.ground.built[extra.skills_of] = lambda: skills


@pytest.fixture
def world(world: World) -> World:
    serve(world, *skills_of(FILES, "optional"))
    return world


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Asking:
    return LegacyClient.opened(world) if request.param == "legacy" else ModernClient(world)


def listed(client: Asking, method: str = "resources/list", **params: str) -> list[str]:
    """Return the URIs of all pages."""
    member, uris, cursor = method.partition("/")[0], list[str](), dict[str, str]()
    while True:
        result = client.ask(method, {**params, **cursor}).result
        uris += [one["uri"] for one in result[member]]
        if "nextCursor" not in result:
            return uris
        cursor = {"cursor": result["nextCursor"]}


def read(client: Asking, uri: str) -> Json:
    (content,) = client.ask("resources/read", {"uri": uri}).result["contents"]
    return content


# Q3
def test_every_client_of_the_older_era_learns_that_there_are_resources(world: World) -> None:
    capabilities = LegacyClient(world).initialize().result["capabilities"]

    assert capabilities["resources"] == {}
    assert "extensions" not in capabilities


# Q1, Q15
def test_each_listed_skill_is_got_by_its_uri_as_it_is_listed(modern: ModernClient) -> None:
    skills = modern.ask("skills/list").result["skills"]

    assert [one["uri"] for one in skills] == [REFUNDS, OWN]
    assert [modern.ask("skills/get", {"uri": one["uri"]}).result["skill"] for one in skills] == skills


# Q6, Q7, Q8, Q18
def test_an_entry_has_the_frontmatter_and_the_digest_and_the_size_of_every_file(modern: ModernClient) -> None:
    for skill in modern.ask("skills/list").result["skills"]:
        for one in skill["resources"]:
            content = read(modern, one["uri"])["text"].encode()
            assert (one["digest"], one["size"]) == (f"sha256:{hashlib.sha256(content).hexdigest()}", len(content))
        main = read(modern, skill["uri"])["text"]
        assert skill["frontmatter"] == yaml.safe_load(main.split("---\n")[1])
    refunds = modern.ask("skills/get", {"uri": REFUNDS}).result["skill"]
    assert [one["uri"].removeprefix("skill://tools/optional/refunds/") for one in refunds["resources"]] == sorted(FILES)


# Q4, Q5, Q19, Q21
def test_the_files_of_skills_are_resources_for_clients_of_both_eras(client: Asking) -> None:
    resources = {one["uri"]: one for one in client.ask("resources/list").result["resources"]}

    assert list(resources) == [REFUNDS, OWN]
    assert resources[REFUNDS] == {
        "uri": REFUNDS,
        "name": "refunds",
        "description": "Refund a customer.",
        "mimeType": "text/markdown",
        "size": len(MAIN.encode()),
    }
    assert read(client, REFUNDS) == {"uri": REFUNDS, "mimeType": "text/markdown", "text": MAIN}
    table = read(client, "skill://tools/optional/refunds/rates.csv")
    assert (table["mimeType"], table["text"]) == ("text/csv", FILES["rates.csv"])


# Q1, Q2: to clients of the older era the extension is not declared
def test_the_older_era_has_none_of_the_methods(world: World) -> None:
    legacy = LegacyClient(world)

    told = legacy.initialize().result["capabilities"]
    answers = [legacy.ask(name, {"uri": REFUNDS}) for name in ("skills/list", "skills/get", "resources/directory/read")]

    assert told["resources"] == {}
    assert "extensions" not in told
    assert [one.code for one in answers] == [-32601] * 3


# Q3, Q11, Q13
@pytest.mark.parametrize("method", ["skills/list", "skills/get", "resources/list", "resources/read"])
def test_what_is_read_is_the_caller_s_own_and_good_for_five_minutes(modern: ModernClient, method: str) -> None:
    result = modern.ask(method, {"uri": REFUNDS}).result

    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 300_000, "private")
    assert modern.ask("server/discover").result["capabilities"]["resources"] == {}


# Q14, Q16, Q18
@pytest.mark.parametrize("method", ["skills/get", "resources/read", "resources/directory/read"])
@pytest.mark.parametrize(
    "uri",
    [
        "skill://tools/optional/refund/SKILL.md",
        "skill://tools/optional/refunds/../refunds/SKILL.md",
        "skill://tools/optional/refunds/forms/eu/",
        "skill://tools/other/refunds/SKILL.md",
        "SKILL://tools/optional/refunds/SKILL.md",
        "skill://",
        "skill:/",
        "",
        "x" * 100_000,
    ],
)
def test_an_unknown_uri_is_an_error_that_names_it(modern: ModernClient, method: str, uri: str) -> None:
    refused = modern.ask(method, {"uri": uri})

    assert refused.code == -32602
    assert refused.error["data"] == {"uri": uri[:200]}


# Q14, Q16
@pytest.mark.parametrize(
    ("method", "uri"),
    [
        ("skills/get", "skill://tools/optional/refunds"),
        ("skills/get", "skill://tools/optional/refunds/forms/short.md"),
        ("resources/directory/read", REFUNDS),
        ("resources/directory/read", "ui://stepwire"),
        ("resources/read", "skill://tools/optional/refunds/forms"),
    ],
)
def test_a_uri_of_another_kind_is_as_unknown(modern: ModernClient, method: str, uri: str) -> None:
    assert modern.ask(method, {"uri": uri}).code == -32602


@pytest.mark.parametrize("method", ["skills/get", "resources/read", "resources/directory/read"])
def test_a_uri_must_be_a_text(modern: ModernClient, method: str) -> None:
    refused = modern.ask(method, {"uri": 7}, headers={"mcp-name": "7"})

    assert refused.code in {-32602, -32020}


# Q2, Q17
@pytest.mark.parametrize(
    ("uri", "names"),
    [
        ("skill://tools", ["optional"]),
        ("skill://tools/optional", ["refunds"]),
        ("skill://tools/optional/refunds", ["refunds", "forms", "rates.csv"]),
        ("skill://tools/optional/refunds/forms", ["eu", "short.md"]),
        ("skill://tools/optional/refunds/forms/eu", ["long.json"]),
        ("skill://workflows/run-a-workflow", ["run-a-workflow"]),
    ],
)
def test_a_directory_has_its_direct_children(modern: ModernClient, uri: str, names: list[str]) -> None:
    found = modern.ask("resources/directory/read", {"uri": uri}).result["resources"]

    assert [one["name"] for one in found] == names
    assert all((one["mimeType"] == "inode/directory") == ("." not in one["uri"].rpartition("/")[2]) for one in found)


# Q7, Q12
@pytest.mark.parametrize(
    ("method", "params"),
    [("skills/list", {}), ("resources/list", {}), ("resources/directory/read", {"uri": "skill://tools"})],
)
def test_many_skills_have_pages_and_each_is_on_one(world: World, method: str, params: dict[str, str]) -> None:
    names = [f"tool_{number:03}" for number in range(250)]
    serve(world, *skills_of({"SKILL.md": MAIN}, *names))
    catalog = catalog_of(*(replace(OPTIONAL, name=name) for name in names))
    world.server = replace(world.server, services=replace(world.server.services, catalog=catalog))
    client = ModernClient(world)

    first = client.ask(method, params).result
    uris = listed(client, method, **params)

    assert len(first[method.partition("/")[0]]) == 100
    assert len(set(uris)) == len(uris) == 250 + (method != "resources/directory/read")
    assert uris == sorted(uris)


# Q12
@pytest.mark.parametrize("cursor", ["x", "", "dG9vbDphYmM", "é", "a" * 100_000])
@pytest.mark.parametrize("method", ["skills/list", "resources/list", "resources/directory/read"])
def test_a_cursor_that_is_not_ours_is_refused(modern: ModernClient, method: str, cursor: str) -> None:
    refused = modern.ask(method, {"uri": "skill://tools", "cursor": cursor})

    assert refused.code == -32602


def test_a_caller_who_may_not_call_a_tool_learns_nothing_of_its_skill(world: World) -> None:
    tools = (OPTIONAL, replace(OPTIONAL, name="paying", scopes=("pay",)))
    serve(world, *skills_of(FILES, "optional", "paying"), *skills_of(FILES, "gone"))
    world.server = replace(world.server, services=replace(world.server.services, catalog=catalog_of(*tools)))
    paying = REFUNDS.replace("optional", "paying")

    seen = {
        scope: listed(client, "skills/list")
        for scope in ("read", "pay")
        if (client := ModernClient(SignedIn(world, frozenset({scope}), Access())))
    }
    stranger = ModernClient(SignedIn(world, frozenset({"read"}), Access()))
    refused = [
        stranger.ask(method, {"uri": uri}).code
        for method, uri in [
            ("skills/get", paying),
            ("resources/read", paying),
            ("resources/directory/read", "skill://tools/paying"),
        ]
    ]

    assert seen == {"read": [REFUNDS, OWN], "pay": [REFUNDS, paying, OWN]}
    assert refused == [-32602] * 3
    assert paying not in listed(stranger)


def test_a_url_that_selects_tools_selects_their_skills(world: World) -> None:
    tools = (OPTIONAL, replace(OPTIONAL, name="paying", groups=("money",)))
    serve(world, *skills_of(FILES, "optional", "paying"))
    world.server = replace(world.server, services=replace(world.server.services, catalog=catalog_of(*tools)))
    client = ModernClient(AtUrl(world, "group=money"))

    assert listed(client, "skills/list") == listed(client) == [REFUNDS.replace("optional", "paying"), OWN]
    assert client.ask("resources/read", {"uri": REFUNDS}).code == -32602


def test_the_uri_of_a_skill_that_is_not_there_is_in_no_span(world: World, printed: Printed) -> None:
    LegacyClient.opened(traced(world)).ask("resources/read", {"uri": "skill://customer-17"})

    text = printed()
    assert spans_in(text)[-1]["name"] == "resources/read"
    assert "customer-17" not in text


def test_a_request_without_skills_asks_for_none(world: World) -> None:
    def broken() -> tuple[Skill, ...]:
        raise StoreBusy

    world.services.ground.built[extra.skills_of] = broken
    client = ModernClient(world)

    assert client.call("optional").status == 200
    assert client.ask("tools/list").status == 200
    assert client.ask("skills/get", {"uri": OWN}).result["skill"]["uri"] == OWN


def test_the_own_skill_is_short_and_names_what_there_is() -> None:
    text = own_skill().files["SKILL.md"]

    assert len(text.splitlines()) <= 60
    assert {*TASK_TOOLS, META_KEY} <= set(re.findall(r"[\w/]+", text))
    assert "Do not call the tool again" in text
