"""A release: the template, and the zip files that it names. The command's wheel has that of its own version.

The rule: nothing of a release is used before the digests, names and types in it were checked. That finds damage.
Whoever changes a release writes its digests anew, so only a digest that came another way (`--sha256`) finds a change.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from io import SEEK_END
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final, TypeAlias, cast

import msgspec
from msgspec import Meta, Struct

from stepwire.manifests.yaml_text import read_template
from stepwire_cli.deployment.archives import LARGEST, STRICT, contents_of
from stepwire_cli.exits import CommandError, Exit
from stepwire_cli.settings import reason

_SUMS: Final = "SHA256SUMS"
_FILES: Final = "files/"
_OWN: Final = "release.zip"
_NONE: Final = (
    "This command was installed from its sources, so it carries no release. Build one with `make release`, "
    "and name it: --release dist/stepwire-VERSION.zip"
)
_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.IGNORECASE)
_CODE: Final = re.compile(r"files/[A-Za-z0-9]+-([0-9a-f]{16})\.zip")
"""A zip file of code, named after what is in it, so that it never takes the place of another in a bucket."""
_LARGEST_TEMPLATE: Final = 1_048_576  # bytes that CloudFormation takes

_Version: TypeAlias = Annotated[str, Meta(pattern=r"\A[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}[A-Za-z0-9.+-]{0,40}\Z")]
_Choice: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{1,255}=[A-Za-z0-9._-]{0,255}\Z")]
_Dollars: TypeAlias = Annotated[float, Meta(ge=-1_000_000, le=1_000_000)]
_LogicalId: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{1,255}\Z")]
_Type: TypeAlias = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{1,64}(::[A-Za-z0-9]{1,64}){1,4}\Z")]
_Value: TypeAlias = str | int | float | bool


class _Idle(Struct, frozen=True):
    dollars: _Dollars
    more: dict[_Choice, _Dollars]


class Created(Struct, frozen=True):
    """A resource that CloudFormation makes of the template."""

    name: _LogicalId
    type: _Type
    condition: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9]{0,255}\Z")] = ""
    """Name of the condition under which it is made; empty: always."""


class _About(Struct, frozen=True):
    """What release.json must have."""

    version: _Version
    oldest: _Version
    idle: _Idle
    creates: tuple[Created, ...]


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


class _Template(Struct, frozen=True, rename="pascal"):
    """What the template must have."""

    parameters: dict[_LogicalId, _Parameter]
    resources: dict[_LogicalId, _Resource]


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
class Release:
    """What a deployment needs, whole and checked."""

    version: str
    template: str
    """YAML in which all intrinsic functions have their long form."""
    files: Mapping[str, bytes]
    """The zip files of functions and layers, by name."""
    cost: Cost
    oldest: str
    """The oldest version from which a stack may be upgraded to this one."""
    creates: tuple[Created, ...] = ()
    """What a stack of it can have; the template's conditions decide."""
    digest: str = field(default="", compare=False)
    """SHA-256 of the file that it came in, in hexadecimal."""

    @cached_property
    def document(self) -> Mapping[str, Any]:
        """The template, as JSON.

        Raises:
            ValueError: it is no template of Stepwire.
        """
        if len(self.template) > _LARGEST_TEMPLATE:
            raise ValueError(f"the template has more than {_LARGEST_TEMPLATE:,} bytes")
        document = read_template(self.template)
        for name, one in msgspec.convert(document, _Template).parameters.items():
            try:
                re.compile(one.allowed_pattern)
            except re.error as error:
                raise ValueError(f"the AllowedPattern of {name} is no pattern: {error}") from None
        return cast(Mapping[str, Any], document)

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters of the template."""
        return self.document["Parameters"]


def opened(path: Path | None, sha256: str | None = None) -> Release:
    """Return the release in a file; None: the one that came with this command.

    Args:
        path: the file.
        sha256: the digest that it must have, in hexadecimal; None: any.

    Raises:
        CommandError: there is none, it has another digest, it is no release, or it is not whole.
    """
    if sha256 is not None and not _DIGEST.fullmatch(sha256):
        raise CommandError("--sha256 takes 64 hexadecimal digits: those beside the release.", Exit.USAGE)
    if path is None:
        own = resources.files("stepwire_cli.deployment") / _OWN
        if not own.is_file():
            raise CommandError(_NONE)
        with own.open("rb") as file:
            return _read(cast(BinaryIO, file), "the release in this command", sha256)
    try:
        with path.open("rb") as file:
            return _read(file, str(path), sha256)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {reason(error)}.") from None


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
    if lacking := [one for one in (_SUMS, "release.json", "template.yaml") if one not in contents]:
        raise ValueError(f"it has no {lacking[0]}")
    _check(contents)
    about = msgspec.json.decode(contents["release.json"], type=_About)
    release = Release(
        version=about.version,
        template=contents["template.yaml"].decode(),
        files={one.removeprefix(_FILES): code for one, code in contents.items() if one.startswith(_FILES)},
        cost=Cost(about.idle.dollars, about.idle.more),
        oldest=about.oldest,
        creates=about.creates,
        digest=digest,
    )
    _ = release.document  # refuses what is no template
    return release


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
