"""A release: the template, and the zip files that it names. The command's wheel has that of its own version.

The rule: nothing of a release is used before the digests in it were compared.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import yaml

from stepwire_cli.exits import CommandError
from stepwire_cli.settings import reason

_SUMS: Final = "SHA256SUMS"
_FILES: Final = "files/"
_OWN: Final = "release.zip"
_NONE: Final = (
    "This command was installed from its sources, so it carries no release. Build one with `make release`, "
    "and name it: --release dist/stepwire-VERSION.zip"
)


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

    @cached_property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters of the template."""
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return yaml.load(self.template, loader)["Parameters"]  # noqa: S506 - both are safe loaders


def opened(path: Path | None) -> Release:
    """Return the release in a file; None: the one that came with this command.

    Raises:
        CommandError: there is none, it is no release, or it is not whole.
    """
    if path is None:
        own = resources.files("stepwire_cli.deployment") / _OWN
        if not own.is_file():
            raise CommandError(_NONE)
        with own.open("rb") as file:
            return _read(cast(BinaryIO, file), "the release in this command")
    try:
        with path.open("rb") as file:
            return _read(file, str(path))
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {reason(error)}.") from None


def _read(file: BinaryIO, name: str) -> Release:
    try:
        with zipfile.ZipFile(file) as archive:
            contents = {one: archive.read(one) for one in archive.namelist()}
        _check(contents)
        about = json.loads(contents["release.json"])
        idle = about["idle"]
        return Release(
            version=about["version"],
            template=contents["template.yaml"].decode(),
            files={one.removeprefix(_FILES): text for one, text in contents.items() if one.startswith(_FILES)},
            cost=Cost(idle["dollars"], idle["more"]),
            oldest=about["oldest"],
        )
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, KeyError, ValueError) as error:
        raise CommandError(f"{name} is no release of Stepwire, or is damaged ({error}): fetch it again.") from None


def _check(contents: Mapping[str, bytes]) -> None:
    """Compare the digest of each file.

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
