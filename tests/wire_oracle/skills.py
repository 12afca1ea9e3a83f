"""Check what the extension for skills (SEP-2640) adds to 2026-07-28: no published type knows it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from stepwire.json_text import as_object
from tests.wire_oracle.comparisons import Exchange, Json, check_members

SKILLS_EXTENSION: Final = "io.modelcontextprotocol/skills"
_COMMON: Final = frozenset({"resultType", "_meta"})
_CACHED: Final = frozenset({"ttlMs", "cacheScope"})
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def without_skills(exchange: Exchange) -> Exchange:
    """Return an exchange whose result does not advertise the extension."""
    capabilities = dict(exchange.result["capabilities"])
    extensions = dict(as_object(capabilities.pop("extensions", {})))
    if SKILLS_EXTENSION in extensions:
        assert extensions.pop(SKILLS_EXTENSION) == {"directoryRead": True}  # Q2
        assert capabilities["resources"] == {}  # Q3
    kept = {**capabilities, **({"extensions": extensions} if extensions else {})}
    return replace(exchange, result={**exchange.result, "capabilities": kept})


def check_resource(one: Json) -> None:
    """Check a file or a directory of skills in a list."""
    check_members(one, {"uri", "name", "description", "mimeType", "size"}, "resource")
    assert one["uri"].startswith("skill://")
    assert not one["uri"].endswith("/")
    if one["mimeType"] == "inode/directory":
        assert one.keys() == {"uri", "name", "mimeType"}
    elif one["uri"].endswith("/SKILL.md"):  # Q19
        assert one["mimeType"] == "text/markdown"
        assert one["name"] == one["uri"].split("/")[-2]
        assert one["description"]


def _check_skill(skill: Json) -> None:
    """Q4 to Q8."""
    assert skill.keys() == {"uri", "frontmatter", "resources"}
    root, file = skill["uri"].rsplit("/", 1)
    name = skill["frontmatter"]["name"]
    assert (file, root.rpartition("/")[2]) == ("SKILL.md", name)
    assert _NAME.fullmatch(name)
    assert 0 < len(name) <= 64
    assert skill["frontmatter"]["description"]
    uris = [one["uri"] for one in skill["resources"]]
    assert skill["uri"] in uris
    assert len(set(uris)) == len(uris)
    for one in skill["resources"]:
        assert one.keys() == {"uri", "digest", "size"}
        assert one["uri"].startswith(f"{root}/")
        assert _DIGEST.fullmatch(one["digest"])
        assert isinstance(one["size"], int)
    assert len(uris) <= 512  # Q10
    assert sum(one["size"] for one in skill["resources"]) <= 16 * 1024 * 1024


def _check_complete(result: Json, members: set[str], required: frozenset[str]) -> None:
    assert result["resultType"] == "complete"  # Q11
    check_members(result, {*members, *required, *_COMMON}, "result")
    assert required <= result.keys()
    if required:  # Q13
        assert isinstance(result["ttlMs"], int)
        assert result["cacheScope"] in {"public", "private"}


def _check_list(exchange: Exchange) -> None:
    _check_complete(exchange.result, {"skills", "nextCursor"}, _CACHED)
    for one in exchange.result["skills"]:
        _check_skill(one)


def _check_get(exchange: Exchange) -> None:
    _check_complete(exchange.result, {"skill"}, _CACHED)
    _check_skill(exchange.result["skill"])
    assert exchange.result["skill"]["uri"] == exchange.params["uri"]


def _check_directory(exchange: Exchange) -> None:
    _check_complete(exchange.result, {"resources", "nextCursor"}, frozenset())
    for one in exchange.result["resources"]:
        check_resource(one)
        assert one["uri"].rpartition("/")[0] == exchange.params["uri"]  # Q17


def check_content(content: Any) -> None:
    """Check a file of a skill as it is read."""
    check_members(content, {"uri", "mimeType", "text"}, "contents[0]")
    assert content["mimeType"]


SKILL_RESULTS: Final[Mapping[str, Callable[[Exchange], None]]] = MappingProxyType(
    {"skills/list": _check_list, "skills/get": _check_get, "resources/directory/read": _check_directory}
)
