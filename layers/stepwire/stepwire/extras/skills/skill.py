"""Skills: instructions for models, served beside the tools that they are about (SEP-2640).

A skill is a folder of texts with a SKILL.md, whose stored form is here. The rules: nothing of a skill is loaded before
a request asks for skills; a skill comes from whoever registered its tool, and is served where that tool is; its texts
are data, checked when they were compiled (`manifest`) and never acted on.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from msgspec import DecodeError, Struct

from stepwire.catalog.live import Published, Reread
from stepwire.catalog.tools import FORMAT
from stepwire.codec import decode
from stepwire.errors import CatalogError
from stepwire.json_text import JsonObject

SKILL_FILE: Final = "SKILL.md"
SCHEME: Final = "skill://"
_OF_TOOLS: Final = f"{SCHEME}tools/"


class Skill(Struct, frozen=True, dict=True):
    """A skill as it is served."""

    tool: str
    """Name of the tool with which it is served; empty: it is Stepwire's own."""
    root: str
    """URI of its folder, which ends in its name."""
    frontmatter: JsonObject
    files: Mapping[str, str]
    """The texts of its files, by their paths in the folder."""

    @property
    def uri(self) -> str:
        """The URI of its SKILL.md, by which it is known."""
        return f"{self.root}/{SKILL_FILE}"

    @cached_property
    def entry(self) -> JsonObject:
        """What `skills/list` and `skills/get` say of it."""
        resources = [_resource(f"{self.root}/{path}", text.encode()) for path, text in sorted(self.files.items())]
        return {"uri": self.uri, "frontmatter": self.frontmatter, "resources": resources}


def root_of(tool: str, name: str) -> str:
    """Return the URI of the folder of a tool's skill."""
    return f"{_OF_TOOLS}{tool}/{name}"


def _resource(uri: str, content: bytes) -> JsonObject:
    return {"uri": uri, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}


class _OfExtras(Struct, frozen=True):
    skills: tuple[Skill, ...] = ()


class _Text(Struct):
    format: int
    extras: _OfExtras = _OfExtras()


def skills_in(text: str) -> tuple[Skill, ...]:
    """Read the skills of a `catalog_text`.

    Raises:
        CatalogError: it has another format, which another version of Stepwire wrote.
    """
    try:
        found = decode(text, _Text)
    except DecodeError as error:
        raise CatalogError(f"the skills of a catalog are not what this version compiles ({error})") from None
    if found.format != FORMAT:
        raise CatalogError(f"the skills of a catalog have the format {found.format}, not {FORMAT}")
    return found.extras.skills


class LiveSkills:
    """The skills that are served now: those of the release, and those that owners have registered.

    The table is asked when skills are asked for, and at most once in 30 seconds. A tool of the release wins over a
    registered one of its name, so the skills of that one are not served either.
    """

    def __init__(
        self,
        built_in: Iterable[Skill],
        release_tools: Collection[str],
        read: Callable[[str | None], Published | None],
        now: Callable[[], datetime],
        report: Callable[[Exception], None],
    ) -> None:
        self._built_in = self._skills = tuple(built_in)
        self._release_tools = release_tools
        self._reread = Reread(read, self._take, now, report)

    def __call__(self) -> tuple[Skill, ...]:
        """Return the skills, read anew where it is time."""
        self._reread()
        return self._skills

    def _take(self, published: Published) -> None:
        registered = self._reread.parts_of(published, skills_in)
        of_owners = (one for one in registered if one.tool not in self._release_tools)
        self._skills = (*self._built_in, *of_owners)
