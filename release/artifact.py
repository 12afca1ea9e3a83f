"""The artifact of a release: `stepwire-<version>.zip`, which is all that a deployment needs.

    template.yaml       the core's template (`template`)
    extras/*/*.yaml     the parts of the extras, which the command puts together with it
    files/*.zip         a zip file for each function and layer, for arm64, named after what is in it
    sbom.cdx.json       what is in the layers (`inventory`)
    licenses/           the licenses of ours and of what is in the layers
    release.json        the version, from which it may be reached, what an idle stack costs and creates, and its extras
    SHA256SUMS          the digests of all others, which find damage

Its own digest is beside it, in `stepwire-<version>.zip.sha256`, for `stepwire deploy --sha256` and `sha256sum --check`.

The rule: two builds of a commit give the same bytes, whatever the machine, its Python and its pip.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from release.archive import contents_of, digest_of, packed
from release.inventory import inventory, licenses
from release.template import core_template, created_by, folders_of, parts_of
from stepwire.json_text import JsonObject
from stepwire_cli.deployment.parts import CORE, FOLDER, part_of, put_together

PYTHON: Final = "3.13"
"""The Python of the functions."""
SUMS: Final = "SHA256SUMS"
_LONGEST_DIGEST: Final = 16  # digits in the name of a file: enough that no two releases share one


@dataclass(frozen=True)
class Artifact:
    """What was made."""

    file: Path
    has_bytecode: bool
    digest: str
    """SHA-256, in hexadecimal."""


@dataclass(frozen=True)
class About:
    """What is said about a release."""

    version: str
    oldest: str
    """The oldest version from which a stack may be upgraded to this one."""
    idle: "Idle"
    """What a stack of the core costs a month while nobody calls."""
    extras: Mapping[str, "Idle"]
    """What each extra adds to that."""


@dataclass(frozen=True)
class Idle:
    """What is paid a month while nobody calls, in dollars."""

    dollars: float
    """With the defaults."""
    more: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a choice adds to that, by `Parameter=value`."""

    def as_json(self) -> JsonObject:
        """Return it as release.json has it."""
        return {"dollars": self.dollars, "more": dict(self.more)}


def make(build: Path, project: Path, target: Path, release: About) -> Artifact:
    """Write the artifact of a release.

    Args:
        build: the folder that `sam build` wrote to.
        project: the folder of the project, with its template, its extras and its license.
        target: the folder to write to.
        release: what is said about it.
    """
    version = release.version
    folders = folders_of(build)
    zips = {name: packed(contents_of(folder)) for name, folder in folders.items()}
    files = {name: f"{name}-{digest_of(content)[:_LONGEST_DIGEST]}.zip" for name, content in zips.items()}
    core, parts = core_template(project, files, version), parts_of(project, files)
    read = {name: part_of(text, name) for name, text in parts.items()}
    stack = put_together(part_of(core, CORE), read.values())
    has_bytecode = any(folders["StepwireLayer"].rglob("*.pyc"))
    about = {
        "version": version,
        "oldest": release.oldest,
        "python": PYTHON,
        "bytecode": has_bytecode,
        "idle": release.idle.as_json(),
        "creates": created_by(stack),
        "extras": {
            name: {"description": read[f"{FOLDER}/{name}/template.yaml"]["Description"], "idle": idle.as_json()}
            for name, idle in release.extras.items()
        },
    }
    contents = {
        CORE: core.encode(),
        **{name: text.encode() for name, text in parts.items()},
        "release.json": (json.dumps(about, indent=1) + "\n").encode(),
        "sbom.cdx.json": inventory(folders.values(), version).encode(),
        **{f"files/{files[name]}": content for name, content in zips.items()},
        "licenses/stepwire/LICENSE": (project / "LICENSE").read_bytes(),
        **{f"licenses/{name}": text for name, text in licenses(folders.values()).items()},
    }
    whole = packed({**contents, SUMS: sums_of(contents)})
    target.mkdir(parents=True, exist_ok=True)
    file = target / f"stepwire-{version}.zip"
    file.write_bytes(whole)
    digest = digest_of(whole)
    file.with_name(f"{file.name}.sha256").write_text(f"{digest}  {file.name}\n", encoding="utf-8")
    return Artifact(file, has_bytecode, digest)


def sums_of(contents: Mapping[str, bytes]) -> bytes:
    """Return the list of the digests of files, as `sha256sum --check` reads it."""
    return "".join(f"{digest_of(contents[name])}  {name}\n" for name in sorted(contents)).encode()
