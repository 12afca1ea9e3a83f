"""Manifests of tools: a YAML file is compiled to a catalog that the function reads, or its fault is named."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from stepwire.catalog.manifests import compile_directory
from stepwire.catalog.tools import read_catalog
from stepwire.errors import CatalogError
from tests.adopted import ADOPTER, registered
from tests.fuzz.bounds import bounded
from tests.kits import state_machine_arn

ROOT: Final = Path(__file__).parents[2]
STATE_MACHINES: Final = {"WaitAndEcho": state_machine_arn("WaitAndEcho")}
# YAML's references make a text of a few bytes as large as one likes, and PyYAML's time grows with the square of the
# depth: what a manifest's author does to himself only.
MOST_REFERENCES: Final = 4
DEEPEST: Final = 700


def check(data: bytes) -> bool:
    """Compile a manifest, and read what came of it."""
    if data.count(b"*") > MOST_REFERENCES or sum(map(data.count, (b"[", b"{", b"- "))) > DEEPEST:
        return False
    path = _folder() / "tool.yaml"
    path.write_bytes(data)
    fault = _fault_of(path)
    assert fault is None or str(path) in fault, "the file is named"
    return True


def _fault_of(path: Path) -> str | None:
    try:
        with bounded():
            compiled = compile_directory(path.parent)
        read_catalog(compiled, STATE_MACHINES).compile_schemas()
    except CatalogError as error:
        return str(error)
    return None


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="manifests-"))


def seeds() -> list[bytes]:
    """List the manifests of the tests."""
    files = [path.read_bytes() for path in sorted(ROOT.glob("tests/*/functions/mcp/tools/*.yaml"))]
    return [*files, *(text.encode() for text in registered(ADOPTER).values())]
