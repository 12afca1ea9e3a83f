"""How hosts show the endpoint and its tools to people: titles, a website, icons."""

from base64 import b64decode
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from stepwire import __version__
from stepwire.json_text import write
from stepwire.manifests.fields import LARGEST_ICON, MOST_ICONS
from stepwire.rendering import Identity
from stepwire.server.eras import LARGEST_TOOLS_PAGE
from tests.kits import OPTIONAL, World, catalog_of
from tests.server.answers import Json
from tests.server.clients import SERVER_INFO, LegacyClient, ModernClient
from tests.server.fetching import Client

OLDER = ("2025-06-18", "2025-03-26")
SMALL: Json = {"name": "stepwire", "version": __version__}
ICON: Json = {"src": "https://acme.example/a.png", "mimeType": "image/png", "sizes": ["48x48"], "theme": "dark"}


def told(world: World, version: str) -> dict[str, Any]:
    """Return what the server says of itself to a client of a version, when they meet."""
    if version == "2026-07-28":
        return ModernClient(world).ask("server/discover").result["_meta"][SERVER_INFO]
    return LegacyClient(world, version).initialize().result["serverInfo"]


def client_of(world: World, version: str) -> Client:
    return ModernClient(world) if version == "2026-07-28" else LegacyClient.opened(world, version=version)


# M21, M30, M56
@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_an_endpoint_has_the_title_the_website_and_the_icon_that_its_operator_chose(version: str) -> None:
    world = World()
    shown = Identity("Workflows of Acme", "https://acme.example/flows", "https://acme.example/icon.png")
    world.server = replace(world.server, services=replace(world.services, identity=shown))

    assert told(world, version) == {
        **SMALL,
        "title": "Workflows of Acme",
        "websiteUrl": "https://acme.example/flows",
        "icons": [{"src": "https://acme.example/icon.png"}],
    }


# M56
@pytest.mark.parametrize("version", ["2026-07-28", "2025-11-25"])
def test_without_a_choice_it_is_stepwire_with_an_image_of_its_own(world: World, version: str) -> None:
    info = told(world, version)

    (icon,) = info.pop("icons")
    kind, _, image = icon["src"].partition(",")
    assert info == {**SMALL, "title": "Stepwire"}
    assert kind == "data:image/svg+xml;base64"
    assert {part.tag.rpartition("}")[2] for part in ET.fromstring(b64decode(image)).iter()} == {
        "svg",
        "rect",
        "path",
    }


# M56
@pytest.mark.parametrize("version", OLDER)
def test_older_versions_have_a_title_alone(world: World, version: str) -> None:
    assert told(world, version) == {**SMALL, "title": "Stepwire"}


# M21
def test_every_other_result_says_no_more_than_name_and_version(modern: ModernClient) -> None:
    results = [modern.ask("tools/list").result, modern.call("optional").result]

    assert [result["_meta"][SERVER_INFO] for result in results] == [SMALL, SMALL]


# M56
@pytest.mark.parametrize(
    ("version", "shown"), [("2026-07-28", [ICON]), ("2025-11-25", [ICON]), *((one, None) for one in OLDER)]
)
def test_the_icons_of_a_tool_are_listed_in_the_versions_that_have_them(version: str, shown: list[Json] | None) -> None:
    world = World(catalog=catalog_of(replace(OPTIONAL, icons=(ICON,)), replace(OPTIONAL, name="plain")))

    tools = {tool["name"]: tool for tool in client_of(world, version).ask("tools/list").result["tools"]}

    assert tools["optional"].get("icons") == shown
    assert "icons" not in tools["plain"]


# M40
def test_large_icons_make_smaller_pages() -> None:
    large: Json = {"src": f"data:image/png;base64,{'A' * (LARGEST_ICON - 30)}"}
    tools = [replace(OPTIONAL, name=f"tool_{number:03}", icons=(large,) * MOST_ICONS) for number in range(100)]
    client = ModernClient(World(catalog=catalog_of(*tools)))

    page = client.ask("tools/list").result

    assert 1 < len(page["tools"]) < len(tools)
    assert len(write(page)) < LARGEST_TOOLS_PAGE + LARGEST_ICON * MOST_ICONS
    assert page["nextCursor"]
