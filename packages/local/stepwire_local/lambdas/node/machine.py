"""The `node` of this machine: where it is, and of which version."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from typing import Final

_SECONDS: Final = 20
_NUMBER: Final = re.compile(r"\d+")
OLDEST: Final = 18
"""The oldest version that runs functions: older ones lack what the bootstrap needs."""


@dataclass(frozen=True)
class Node:
    """A program that runs JavaScript."""

    path: str
    version: int
    """The first number, such as 22."""


def node_here() -> Node | None:
    """Return the `node` on PATH; None if there is none that runs functions."""
    path = shutil.which("node")
    version = _version(path) if path else 0
    return Node(path, version) if path and version >= OLDEST else None


@cache
def _version(path: str) -> int:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=True).stdout  # noqa: S603  # the developer's own
    except (OSError, subprocess.SubprocessError):
        return 0
    found = _NUMBER.search(said)
    return int(found[0]) if found else 0


def version_of(runtime: str) -> int:
    """Return the version that a runtime such as nodejs22.x means; 0 if it names none."""
    found = _NUMBER.search(runtime)
    return int(found[0]) if found else 0
