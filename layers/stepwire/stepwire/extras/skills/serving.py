"""Which skills a caller is served, and how they are listed and read. Loaded with the first request that asks for them.

The rules: a skill is served where its tool is, so a caller who may not call the tool, or whose URL does not select it,
learns nothing of the skill; and a digest is made of the very text that is served.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Final

from stepwire.codec import MILLISECOND
from stepwire.extras.skills import skills_of
from stepwire.extras.skills.refusals import UnknownSkill
from stepwire.extras.skills.skill import SCHEME, SKILL_FILE, Skill
from stepwire.json_text import JsonObject
from stepwire.protocol.tokens import page_of
from stepwire.server.call import Call, reached_tools, text_in
from stepwire.server.services import Services
from stepwire.server.ways import CACHED_FOR, Method

_OWN: Final = Path(__file__).parent / "run-a-workflow"
_OWN_ROOT: Final = f"{SCHEME}workflows/{_OWN.name}"
_MARKS: Final = re.compile(r"<!-- extra \w+: (begin|end) -->\n")
"""The lines of its file that mark what is about another extra, and goes with it."""
_FENCE: Final = "---\n"
_DIRECTORY: Final = "inode/directory"
_TYPES: Final[Mapping[str, str]] = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".md": "text/markdown",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
# Whose tools they are decides who is served them.
_CACHING: Final[JsonObject] = {"ttlMs": CACHED_FOR // MILLISECOND, "cacheScope": "private"}


@cache
def own_skill() -> Skill:
    """Return the skill that tells how to run a workflow; its frontmatter has a text on each line."""
    text = _MARKS.sub("", (_OWN / SKILL_FILE).read_text(encoding="utf-8"))
    lines = text.split(_FENCE)[1].splitlines()
    frontmatter = {name: value for name, _, value in (line.partition(": ") for line in lines)}
    return Skill("", _OWN_ROOT, frontmatter, {SKILL_FILE: text})


def _served(services: Services, call: Call) -> Iterator[Skill]:
    yield own_skill()
    tools = {tool.name for tool in reached_tools(services, call)}
    yield from (one for one in services.of(skills_of)() if one.tool in tools)


# ----------------------------------------------------------------------------------------------------------- methods


def list_skills(services: Services, call: Call) -> JsonObject:
    """Return a page of the skills that this caller is served, by their URIs."""
    return {**page_of("skills", (one.entry for one in _served(services, call)), call.params), **_CACHING}


def get_skill(services: Services, call: Call) -> JsonObject:
    """Return one skill, by the URI of its SKILL.md.

    Raises:
        UnknownSkill: this caller is served none there.
    """
    uri = text_in(call.params, "uri")
    for one in _served(services, call):
        if one.uri == uri:
            return {"skill": one.entry, **_CACHING}
    raise UnknownSkill(uri)


METHODS: Final[Mapping[str, Method]] = MappingProxyType({"skills/list": list_skills, "skills/get": get_skill})


# --------------------------------------------------------------------------------------------------------- resources


def listed(services: Services, call: Call) -> Iterable[JsonObject]:
    """Return the SKILL.md of each skill; its other files are found by that, and by their directories."""
    return (_resource(one, SKILL_FILE) for one in _served(services, call))


def read(services: Services, call: Call, uri: str) -> JsonObject | None:
    """Return the text of a file; None if this caller is served none at the URI."""
    for one in _served(services, call):
        path = uri.removeprefix(f"{one.root}/")
        if path != uri and path in one.files:
            return {"mimeType": _type_of(path), "text": one.files[path]}
    return None


def children(services: Services, call: Call, uri: str) -> Iterable[JsonObject]:
    """Return the files and the directories in a directory: a skill's, one in it, or one above skills."""
    if uri.endswith("/"):
        return ()
    found: dict[str, JsonObject] = {}
    files = ((one, path, f"{one.root}/{path}") for one in _served(services, call) for path in one.files)
    for one, path, its_uri in files:
        if its_uri.startswith(f"{uri}/"):
            name, is_directory, _ = its_uri.removeprefix(f"{uri}/").partition("/")
            child = f"{uri}/{name}"
            found[child] = (
                {"uri": child, "name": name, "mimeType": _DIRECTORY} if is_directory else _resource(one, path)
            )
    return found.values()


def _resource(skill: Skill, path: str) -> JsonObject:
    words = skill.frontmatter if path == SKILL_FILE else {"name": path.rpartition("/")[2]}
    return {
        "uri": f"{skill.root}/{path}",
        **{name: words[name] for name in ("name", "description") if name in words},
        "mimeType": _type_of(path),
        "size": len(skill.files[path].encode()),
    }


def _type_of(path: str) -> str:
    return _TYPES.get(Path(path).suffix.lower(), "text/plain")
