"""Function mcp and its layers from the file that `make release` writes, unpacked as Lambda does.

The rule: what is measured is what the release's own template names, byte for byte. A release has native code for
arm64; it alone is replaced, by that of the same versions for this machine, from the bench's environment.
"""

import io
import json
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from layers.artifacts import CONTENTS
from release.template import PREFIX
from tests.cold_start import ROOT

ENVIRONMENT: Final = ROOT / ".venv-bench-release"
PYTHON: Final = ENVIRONMENT / "bin/python"
"""The functions' Python, with the boto3 that Lambda's has."""


def unpack(artifact: Path, folder: Path) -> tuple[Path, Path]:
    """Unpack function mcp and its layers below a folder; return where their modules are, as in /var/task and /opt."""
    with zipfile.ZipFile(artifact) as whole:
        resources: Mapping[str, Any] = yaml.safe_load(whole.read("template.yaml"))["Resources"]
        function = resources["McpFunction"]
        places = [(function, "task"), *((resources[one["Ref"]], "opt") for one in function["Properties"]["Layers"])]
        for resource, place in places:
            key: str = resource["Properties"][CONTENTS[resource["Type"]]]["Key"]["Fn::Sub"]
            part = whole.read(f"files/{key.removeprefix(f'${{{PREFIX}}}')}")
            with zipfile.ZipFile(io.BytesIO(part)) as contents:
                contents.extractall(folder / place)
    return folder / "task", folder / "opt/python"


def use_native_code(packages: Path, installed: Path) -> None:
    """Replace native code by what is installed for this machine.

    Raises:
        ValueError: another version is installed.
    """
    for native in sorted(packages.rglob("*.so")):
        inside = native.relative_to(packages)
        (version,) = (info.name for info in packages.glob(f"{inside.parts[0]}-*.dist-info"))
        if not (installed / version).is_dir():
            raise ValueError(f"{installed} has no {version}, as the release has: `make lock` takes the layer's")
        native.unlink()
        for own in (installed / inside.parent).glob(f"{native.name.partition('.')[0]}.*so"):
            shutil.copy(own, native.parent)


def remove_bytecode(packages: Path) -> None:
    """Leave only the sources, as in a layer that was built without bytecode."""
    for cached in sorted(packages.rglob("__pycache__")):
        shutil.rmtree(cached)


def site_packages(artifact: Path) -> Path:
    """Return where the bench's environment has its packages; all have bytecode, as in Lambda's own Python.

    Raises:
        ValueError: the release is for another Python, or has no bytecode.
    """
    with zipfile.ZipFile(artifact) as whole:
        about: Mapping[str, Any] = json.loads(whole.read("release.json"))
    if not about["bytecode"]:
        raise ValueError(f"{artifact} has no bytecode: make release STEPWIRE_BYTECODE=/path/to/python{about['python']}")
    found = ENVIRONMENT / f"lib/python{about['python']}/site-packages"
    if not found.is_dir():
        raise ValueError(
            f"{ENVIRONMENT} is not of Python {about['python']}: remove it, and `make {ENVIRONMENT.name}/ready`"
        )
    subprocess.run([PYTHON, "-m", "compileall", "-q", found], check=True)  # noqa: S603 - our own words
    return found
