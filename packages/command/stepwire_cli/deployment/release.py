"""A release: the core's template, the parts of extras, and the zip files that they name. The wheel has one of its own.

The rule: nothing of a release is used before the digests, names and types in it were checked. That finds damage.
Whoever changes a release writes its digests anew, so only a digest that came another way (`--sha256`) finds a change.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from io import SEEK_END
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, TypeAlias, cast

import msgspec
from msgspec import Meta, Struct

from stepwire.json_text import Json, JsonObject, as_object, load_json
from stepwire_cli.deployment import parts
from stepwire_cli.deployment.archives import LARGEST, RELATIVE, STRICT, contents_of
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.settings import reason

_SUMS: Final = "SHA256SUMS"
_FILES: Final = "files/"
_OWN: Final = "release.zip"
_OF_TOOLS: Final = "McpFunction-"
"""How the name of the zip file begins that has the release's own tools."""
_TOOLS: Final = "catalog.json"
"""Their file in it."""
_NONE: Final = (
    "This command was installed from its sources, so it carries no release. Build one with `make release`, "
    "and name it: --release dist/stepwire-VERSION.zip"
)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_CODE: Final = re.compile(r"files/[A-Za-z0-9]+-([0-9a-f]{16})\.zip")
"""A zip file of code, named after what is in it, so that it never takes the place of another in a bucket."""
_PART: Final = re.compile(r"extras/([a-z][a-z0-9_]{0,99}/(?:template|with_[a-z][a-z0-9_]{0,99})\.yaml)")
"""A part of an extra, as it lies beside the core's template."""
_LARGEST_TEMPLATE: Final = 1_048_576  # bytes that CloudFormation takes

_Version: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}[A-Za-z0-9.+-]{0,40}\Z")]
_Choice: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{1,255}=[A-Za-z0-9._-]{0,255}\Z")]
_Dollars: TypeAlias = Annotated[float, Meta(ge=-1_000_000, le=1_000_000)]
_LogicalId: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{1,255}\Z")]
_Type: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{1,64}(::[A-Za-z0-9]{1,64}){1,4}\Z")]
_Words: TypeAlias = Annotated[str, Meta(pattern=r"\A[ -~]{1,300}\Z")]
_Extra: TypeAlias = Annotated[str, Meta(pattern=r"\A[a-z][a-z0-9_]{0,99}\Z")]
_Value: TypeAlias = str | int | float | bool


class _Idle(Struct, frozen=True):
    dollars: _Dollars
    more: dict[_Choice, _Dollars]


class _AboutExtra(Struct, frozen=True):
    description: _Words
    idle: _Idle


class Created(Struct, frozen=True):
    """A resource that CloudFormation makes of the template."""

    name: _LogicalId
    type: _Type
    condition: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{0,255}\Z")] = ""
    """Name of the condition under which it is made; empty: always. That in the template counts, where `of` names it."""
    of: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{0,255}\Z")] = ""
    """Name of the resource of the template that it is, or is made for: a role, a version. Empty: of the stack."""


class _About(Struct, frozen=True):
    """What release.json must have."""

    version: _Version
    oldest: _Version
    idle: _Idle
    creates: tuple[Created, ...]
    extras: dict[_Extra, _AboutExtra]


class _Parameter(Struct, frozen=True, rename="pascal"):
    type: str
    description: str
    default: _Value = ""
    allowed_values: tuple[_Value, ...] = ()
    allowed_pattern: str = ".*"
    constraint_description: str = ""


class _Resource(Struct, frozen=True, rename="pascal"):
    type: str
    properties: dict[str, Any] = {}
    condition: str = ""


class _Template(Struct, frozen=True, rename="pascal"):
    """What the template must have."""

    parameters: dict[_LogicalId, _Parameter]
    resources: dict[_LogicalId, _Resource]


class _Part(Struct, frozen=True, rename="pascal"):
    """What a part may have in place of the core's: no section as a whole."""

    parameters: dict[_LogicalId, dict[str, Any]] = {}
    conditions: dict[_LogicalId, dict[str, Any]] = {}
    resources: dict[_LogicalId, dict[str, Any]] = {}
    outputs: dict[_LogicalId, dict[str, Any]] = {}


@dataclass(frozen=True)
class Cost:
    """What an idle stack costs a month, in US dollars."""

    least: float
    """With the defaults."""
    more: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a choice adds, by `Parameter=value`."""

    def with_(self, chosen: Mapping[str, str]) -> float:
        """Return the cost with these parameters."""
        return self.least + sum(self.more.get(f"{name}={value}", 0.0) for name, value in chosen.items())


@dataclass(frozen=True)
class Extra:
    """What is said of an extra of a release."""

    description: str
    """What it does, in a line."""
    idle: Cost
    """What it costs more."""


@dataclass(frozen=True)
class Release:
    """What a deployment needs, whole and checked."""

    version: str
    core: str
    """The core's template: YAML in which all intrinsic functions have their long form, as in the parts."""
    files: Mapping[str, bytes]
    """The zip files of functions and layers, by name."""
    idle: Cost
    """What the core costs."""
    oldest: str
    """The oldest version from which a stack may be upgraded to this one."""
    creates: tuple[Created, ...] = ()
    """What a stack with all extras can have; the template with the chosen ones, and its conditions, decide."""
    digest: str = field(default="", compare=False)
    """SHA-256 of the file that it came in, in hexadecimal."""
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """The parts of extras, by their paths in `extras/`."""
    extras: Mapping[str, Extra] = field(default_factory=dict[str, Extra])
    """The extras that it has."""
    chosen: tuple[str, ...] = ()
    """The names of those that are put together with the core, in alphabetical order."""

    def with_extras(self, chosen: Iterable[str]) -> "Release":
        """Return the release with a choice of its extras.

        Raises:
            CommandError: one is not of this release, or the parts make no template.
        """
        names = tuple(sorted(set(chosen)))
        if unknown := [name for name in names if name not in self.extras]:
            known, right = ", ".join(self.extras), ",".join(name for name in names if name in self.extras)
            raise CommandError(
                f"{', '.join(unknown)}: no such extra; version {self.version} has {known or parts.NOTHING}. "
                f"Name those that you want: --with {right or parts.NOTHING}"
            )
        if names == self.chosen:
            return self
        made = replace(self, chosen=names)
        try:
            _ = made.document
        except ValueError as error:
            why = " ".join(str(error).split())[:200]
            raise CommandError(f"The parts of the release do not fit together ({why}): fetch it again.") from None
        return made

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The template of the core with the chosen extras, as JSON.

        Raises:
            ValueError: it is no template of Stepwire.
        """
        paths = parts.paths_of(self.parts, self.chosen)
        texts = {parts.CORE: self.core, **{f"{parts.FOLDER}/{path}": self.parts[path] for path in paths}}
        if sum(map(len, texts.values())) > _LARGEST_TEMPLATE:
            raise ValueError(f"the template has more than {_LARGEST_TEMPLATE:,} bytes")
        core, *others = (_parsed(text, name) for name, text in texts.items())
        for part in others:
            msgspec.convert(part, _Part)
        document = parts.put_together(core, others)
        for name, one in msgspec.convert(document, _Template).parameters.items():
            try:
                re.compile(one.allowed_pattern)
            except re.error as error:
                raise ValueError(f"the AllowedPattern of {name} is no pattern: {error}") from None
        return document

    @cached_property
    def template(self) -> str:
        """The template of the core with the chosen extras, as YAML with the long form of intrinsic functions."""
        return parts.written(self.document) if self.chosen else self.core

    @cached_property
    def needed(self) -> Mapping[str, bytes]:
        """The zip files without those that only extras name that are not chosen."""
        others = self.with_extras(self.extras)
        spared = set(_named_by(others.document)) - set(_named_by(self.document))
        return {name: code for name, code in self.files.items() if name not in spared}

    @property
    def cost(self) -> Cost:
        """What an idle stack with the chosen extras costs."""
        costs = [self.idle, *(self.extras[name].idle for name in self.chosen)]
        choices = {choice for cost in costs for choice in cost.more}
        more = {choice: sum(cost.more.get(choice, 0.0) for cost in costs) for choice in sorted(choices)}
        return Cost(sum(cost.least for cost in costs), more)

    @cached_property
    def lacking(self) -> Mapping[str, Sequence[str]]:
        """The release's own tools that need an extra that is not chosen, by the extra.

        Raises:
            CommandError: they cannot be read.
        """
        codes = [code for name, code in self.needed.items() if name.startswith(_OF_TOOLS)]
        try:
            texts = [contents_of(code, RELATIVE).get(_TOOLS, b"{}").decode() for code in codes]
            needs = [needs_of(text) for text in texts]
        except (ValueError, RecursionError):
            raise CommandError("The release's own tools cannot be read: fetch it again.") from None
        return {extra: tools for need in needs for extra, tools in need.items() if extra not in self.chosen}

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters of the template."""
        return self.document["Parameters"]

    def lacks(self, name: str, value: str) -> str | None:
        """Return why a parameter cannot have a value here, in words: an extra that is not chosen brings it."""
        if self.takes(name, value) or not self.with_extras(self.extras).takes(name, value):
            return None
        bring = (one for one in self.extras if self.with_extras({*self.chosen, one}).takes(name, value))
        owner = next(bring, ",".join(self.extras))
        is_there = name in self.parameters
        what = f"{name}={value} needs" if is_there else f"{name} is a parameter of"
        way_out = "give another value" if is_there else "leave it out"
        choice = ",".join(sorted({*self.chosen, owner}))
        return f"{what} the extra {owner}, which is not chosen: {way_out}, or write --with {choice}"

    def takes(self, name: str, value: str) -> bool:
        """Tell whether the template has the parameter, and lists the value if it lists any."""
        declared = self.parameters.get(name)
        return declared is not None and value in map(str, declared.get("AllowedValues", (value,)))


@dataclass(frozen=True)
class Source:
    """A release as a command line names it, with a choice of its extras."""

    file: Path | None
    """None: the one that came with this command."""
    sha256: str | None = None
    """The digest that it must have, in hexadecimal; None: any."""
    extras: str | None = None
    """Their names, separated by commas, or `none`, or `all`; None: all."""

    def chosen(self, release: Release) -> tuple[str, ...] | None:
        """Return the names of the extras that are chosen; None: nothing was said of them."""
        return None if self.extras is None else parts.extras_named(self.extras, release.extras)

    def opened(self) -> Release:
        """Return the release with these extras.

        Raises:
            CommandError: there is none, it is not whole, or an extra is not of it.
        """
        release = opened(self.file, self.sha256)
        chosen = self.chosen(release)
        return release if chosen is None else release.with_extras(chosen)


def opened(path: Path | None, sha256: str | None = None) -> Release:
    """Return the release in a file, with all its extras; None: the one that came with this command.

    Args:
        path: the file.
        sha256: the digest that it must have, in hexadecimal; None: any.

    Raises:
        CommandError: there is none, it has another digest, it is no release, or it is not whole.
    """
    if sha256 is not None and not _DIGEST.fullmatch(sha256):
        raise CommandError("--sha256 takes 64 hexadecimal digits: those beside the release.", Exit.USAGE)
    if path is None:
        if not is_carried():
            raise CommandError(_NONE)
        with _carried().open("rb") as file:
            return _read(cast(BinaryIO, file), "the release in this command", sha256)
    try:
        with path.open("rb") as file:
            return _read(file, str(path), sha256)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {reason(error)}.") from None


def is_carried() -> bool:
    """Tell whether a release came with this command."""
    return _carried().is_file()


def _carried() -> Traversable:
    return resources.files("stepwire_cli.deployment") / _OWN


def _read(file: BinaryIO, name: str, sha256: str | None) -> Release:
    size = file.seek(0, SEEK_END)
    file.seek(0)
    archive = file.read(min(size, LARGEST + 1))  # takes that much memory, however short the file is
    digest = hashlib.sha256(archive).hexdigest()
    if sha256 is not None and digest != sha256.lower():
        raise CommandError(
            f"{name} has the SHA-256 {digest}, and not the one of --sha256: somebody has changed it, or it is another "
            "release. Fetch it again, and do not deploy this one."
        )
    try:
        return _release_in(contents_of(archive, STRICT), digest)
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split())[:300]
        raise CommandError(f"{name} is no release of Stepwire, or is damaged ({why}): fetch it again.") from None


def _release_in(contents: Mapping[str, bytes], digest: str) -> Release:
    """Return the release that these files are.

    Raises:
        ValueError: they are none.
    """
    if lacking := [one for one in (_SUMS, "release.json", parts.CORE) if one not in contents]:
        raise ValueError(f"it has no {lacking[0]}")
    _check(contents)
    about = msgspec.json.decode(contents["release.json"], type=_About)
    extras = {name: Extra(one.description, _cost(one.idle)) for name, one in sorted(about.extras.items())}
    core = Release(
        version=about.version,
        core=contents[parts.CORE].decode(),
        files={one.removeprefix(_FILES): code for one, code in contents.items() if one.startswith(_FILES)},
        idle=_cost(about.idle),
        oldest=about.oldest,
        creates=about.creates,
        digest=digest,
        parts=_parts_in(contents, extras),
        extras=extras,
    )
    release = replace(core, chosen=tuple(extras))
    _ = core.document, release.document  # refuses what is no template
    return release


def needs_of(compiled: str) -> dict[str, list[str]]:
    """Return the names of the tools in a compiled catalog of any version that are not served without an extra, by it.

    Raises:
        ValueError: it is no JSON.
    """
    found = dict[str, list[str]]()
    tools: Json = as_object(load_json(compiled)).get("tools")
    for one in cast(list[Json], tools) if isinstance(tools, list) else ():
        tool = as_object(as_object(one).get("tool"))
        for extra in as_object(tool.get("extras")):
            found.setdefault(extra, []).append(str(tool.get("name")))
    return found


@lru_cache(maxsize=64)  # a plan compares many choices of the same parts
def _parsed(text: str, name: str) -> JsonObject:
    return parts.part_of(text, name)


def _cost(idle: _Idle) -> Cost:
    return Cost(idle.dollars, idle.more)


def _parts_in(contents: Mapping[str, bytes], extras: Iterable[str]) -> dict[str, str]:
    """Return the parts of these extras, by their paths in `extras/`.

    Raises:
        ValueError: another file lies there, or the parts are not those of the extras.
    """
    found = dict[str, str]()
    for name in contents:
        if name.startswith(f"{parts.FOLDER}/"):
            if (part := _PART.fullmatch(name)) is None:
                raise ValueError(f"{name} is no part of an extra")
            found[part[1]] = contents[name].decode()
    if parts.extras_in(found) != tuple(sorted(extras)):
        raise ValueError("its list of extras does not fit")
    return found


def _named_by(template: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the zip files that a template names."""
    resources: Mapping[str, JsonObject] = template["Resources"]
    for body in resources.values():
        for code in ("CodeUri", "ContentUri"):
            match body.get("Properties", {}).get(code):
                case {"Key": {"Fn::Sub": str(key)}}:
                    yield key.rpartition("}")[2]
                case _:
                    continue


def _check(contents: Mapping[str, bytes]) -> None:
    """Compare the digest of each file, and the name of each that has its own in it.

    Raises:
        ValueError: one differs, is missing, or is not listed.
    """
    lines = contents[_SUMS].decode().splitlines()
    digests = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    if digests.keys() != contents.keys() - {_SUMS}:
        raise ValueError("its list of files does not fit")
    for name, digest in digests.items():
        if hashlib.sha256(contents[name]).hexdigest() != digest:
            raise ValueError(f"the digest of {name} differs")
        code = _CODE.fullmatch(name)
        if name.startswith(_FILES) and (code is None or not digest.startswith(code[1])):
            raise ValueError(f"{name} is not named after what is in it")
