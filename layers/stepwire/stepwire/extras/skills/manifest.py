"""Checking skills: the files that the owner of a tool registers with it, to the form in which they are served.

Never runs in a function that a client waits for. The rules: the text of a stranger is data, so the fields of a SKILL.md
are known, texts and short, and asks for rights are refused; sizes are checked before anything is read; a skill that is
refused takes nothing with it, neither its tool nor another skill.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Final

from stepwire.errors import CatalogError
from stepwire.extras.skills.skill import SKILL_FILE, Skill, root_of
from stepwire.hooks import FilesBeside, ManifestFields
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.manifests.faults import invisible_faults, unforeseen, unknown_field
from stepwire.manifests.manifest import Manifest
from stepwire.manifests.published import Checked, Refusal, ToolFile, in_rounds
from stepwire.manifests.yaml_text import read_yaml
from stepwire.visible_text import visible

LARGEST_SKILL: Final = 100_000
"""Bytes of all files of a skill. The protocol lets a server have 16 MiB."""
MOST_FILES: Final = 20
MOST_SKILLS: Final = 5
"""Of one tool."""
LARGEST_SKILLS: Final = 4_000_000
"""Bytes of all registered skills of an endpoint: an instance reads them all at once."""
LARGEST_FRONTMATTER: Final = 4_000  # characters
MOST_BRACKETS: Final = 100
"""In a frontmatter. PyYAML takes a second for thousands that are nested."""
_NAME: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PATH: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*){0,4}")
_LONGEST: Final[Mapping[str, int]] = {"name": 64, "description": 1_024, "license": 200, "compatibility": 500}
"""The fields that are texts, with their most characters: those of the Agent Skills specification."""
_FIELDS: Final = (*_LONGEST, "metadata")
_LONGEST_METADATA: Final = 500
_MOST_METADATA: Final = 20
_RESERVED: Final = "io.modelcontextprotocol/"
_FRONTMATTER: Final = re.compile(r"\A---\r?\n(.*?)^---\r?$", re.DOTALL | re.MULTILINE)
_NO_TIME: Final = "this run had no time left for skills: those of before are served, and a later run reads them anew"
_NO_RIGHTS: Final = "asks the client's host for rights, which it grants to no skill of a server: leave it out"


def checked_skills(
    files: Iterable[ToolFile],
    served: Container[str],
    has_time: Callable[[], bool] = lambda: True,
    owners: Callable[[], Mapping[str, str]] = dict[str, str],
) -> Checked[Skill]:
    """Check the skills that are registered, each by itself. Where there is too little room for all, owners take turns.

    Args:
        files: all that is registered, below the names of tools.
        served: the names of the tools that are served.
        has_time: whether the run may begin another skill.
        owners: returns who registered the files, by their sources; asked only where there is too little room.
    """
    skills, refusals, taken = list[Skill](), list[Refusal](), Counter[str]()
    in_order = sorted(files, key=lambda one: (one.tool, one.path))
    folders = [list(group) for _, group in groupby(in_order, key=lambda one: (one.tool, one.path.partition("/")[0]))]
    if sum(_size(one.text) for one in in_order) > LARGEST_SKILLS:
        known = owners()
        folders = in_rounds(folders, lambda parts: known.get(_main_of(parts).source, ""))
    for parts in folders:
        tool, name = parts[0].tool, parts[0].path.partition("/")[0]
        if not has_time():
            return Checked[Skill](None, (_refusal(parts, _NO_TIME),))
        try:
            _take_room(tool, parts, taken, served)
            skills.append(read_skill(tool, name, {one.path.partition("/")[2]: one.text for one in parts}))
        except CatalogError as error:
            refusals.append(_refusal(parts, str(error)))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as fault:  # noqa: BLE001 - whatever one skill raises, the others are served
            refusals.append(_refusal(parts, unforeseen(fault, "the skill")))
    return Checked(tuple(sorted(skills, key=lambda one: one.root)), tuple(refusals))


def _take_room(tool: str, parts: list[ToolFile], taken: Counter[str], served: Container[str]) -> None:
    """Count a skill and its bytes (under "", those of all), also of one that is refused later: that costs as much."""
    if tool not in served:
        raise CatalogError(f"no tool {tool[:128]!r} is served: register it, or correct what is wrong with it")
    if not tool.strip("."):
        raise CatalogError(f"a tool named {tool!r} has no skills: no URI can be made of its name")
    size = sum(_size(one.text) for one in parts)
    taken[tool] += 1
    if taken[tool] > MOST_SKILLS:
        raise CatalogError(f"a tool has at most {MOST_SKILLS} skills")
    if taken[""] + size > LARGEST_SKILLS:
        raise CatalogError(
            f"the skills of this endpoint have no room left: they may have {LARGEST_SKILLS} bytes in all"
        )
    taken[""] += size


def _refusal(parts: list[ToolFile], reason: str) -> Refusal:
    main = _main_of(parts)
    return Refusal(main.tool, main.source, reason, serves_previous=False, what="skill")


def _main_of(parts: list[ToolFile]) -> ToolFile:
    return next((one for one in parts if one.path.endswith(f"/{SKILL_FILE}")), parts[0])


def read_skill(tool: str, name: str, files: Mapping[str, str]) -> Skill:
    """Return the skill of a folder. The files are texts, by their paths in the folder.

    Raises:
        CatalogError: something is wrong; one line a fault, each with its file or field.
    """
    faults = list(_faults_of_files(files)) or list(_faults_of_texts(files))
    if faults:
        raise CatalogError("\n".join(faults))
    frontmatter = _frontmatter(files[SKILL_FILE])
    faults = list(_faults_of_fields(frontmatter, name))
    if faults:
        raise CatalogError("\n".join(faults))
    return Skill(tool, root_of(tool, name), frontmatter, files)


def _faults_of_files(files: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with the names, the number and the size of files; their texts are not read for it."""
    if SKILL_FILE not in files:
        yield f"{SKILL_FILE}: is missing: a skill is a folder with this file, tools/<tool>/<skill>/{SKILL_FILE}"
    if len(files) > MOST_FILES:
        yield f"a skill has at most {MOST_FILES} files, and this one has {len(files)}"
        return
    for path in filter(None, files):
        shown = visible(path[:100])
        if not _PATH.fullmatch(path):
            yield f"{shown}: a path has up to 5 names of letters, digits, '-', '_' and '.', which do not begin with '.'"
        elif path.endswith(f"/{SKILL_FILE}"):
            yield f"{shown}: a skill in a skill is not served: give it a folder of its own beside this one"
    size = sum(_size(text) for text in files.values())
    if size > LARGEST_SKILL:
        yield f"the files of a skill have at most {LARGEST_SKILL} bytes, and these have {size}"


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def _faults_of_texts(files: Mapping[str, str]) -> Iterator[str]:
    for path, text in files.items():
        if any("\ud800" <= character <= "\udfff" for character in text):
            yield f"{path}: has half of a character (a surrogate): save it as UTF-8"
        yield from (f"{path}: {fault}" for fault in invisible_faults(text, keep="\n\r\t"))


def _frontmatter(text: str) -> JsonObject:
    found = _FRONTMATTER.match(text[:LARGEST_FRONTMATTER])
    if found is None:
        raise CatalogError(
            f"{SKILL_FILE}: must begin with a line ---, the fields, and a line ---, in {LARGEST_FRONTMATTER} characters"
        )
    if sum(map(found[1].count, "[{")) > MOST_BRACKETS:
        raise CatalogError(f"{SKILL_FILE}: its fields have more than {MOST_BRACKETS} opening brackets: leave them out")
    # With the line before it, so that a fault names the line of the file.
    fields = as_object(read_yaml(f"\n{found[1]}") if found[1].strip() else None)
    if not fields:
        raise CatalogError(f"{SKILL_FILE}: between the lines --- must be fields, each as `name: value`")
    return fields


def _faults_of_fields(frontmatter: JsonObject, folder: str) -> Iterator[str]:
    for name, value in frontmatter.items():
        if name == "metadata":
            yield from _faults_of_metadata(value)
        elif name == "allowed-tools":
            yield f"{name}: {_NO_RIGHTS}"
        elif name not in _LONGEST:
            yield f"{name[:100]}: {unknown_field(name[:100], _FIELDS)}; what is your own goes below metadata"
        else:
            yield from _faults_of_text(name, value, _LONGEST[name])
    yield from (f"{name}: is missing" for name in ("name", "description") if name not in frontmatter)
    name = frontmatter.get("name")
    if isinstance(name, str) and not _NAME.fullmatch(name):
        yield "name: must be small letters and digits, with single hyphens between them"
    elif name is not None and name != folder:
        yield f"name: must be the name of its folder, {folder!r}"


def _faults_of_metadata(value: Json) -> Iterator[str]:
    if not 0 < len(as_object(value)) <= _MOST_METADATA:
        yield f"metadata: must have fields, at most {_MOST_METADATA}, each as `name: value`"
        return
    for name, one in as_object(value).items():
        if name.startswith(_RESERVED):
            yield f"metadata.{name[:100]}: names with {_RESERVED} are reserved for extensions of MCP"
        yield from _faults_of_text(f"metadata.{name[:100]}", one, _LONGEST_METADATA)


def _faults_of_text(name: str, value: Json, longest: int) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"{name}: must be a text: put it in quotes"
    elif not value.strip():
        yield f"{name}: must not be empty"
    elif len(value) > longest:
        yield f"{name}: must have at most {longest} characters, and has {len(value)}"


FIELDS: Final[ManifestFields[Manifest]] = ManifestFields(files=FilesBeside(SKILL_FILE, checked_skills))
