"""Manifests of tools: a YAML file is compiled to a catalog that the function can read, or its fault is named."""

import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from stepwire.catalog.tools import read_catalog
from stepwire.errors import CatalogError
from stepwire.manifests.reading import compile_directory
from tests.adopted import ADOPTER, registered
from tests.fuzz.bounds import bounded
from tests.kits import state_machine_arn

ROOT: Final = Path(__file__).parents[2]
STATE_MACHINES: Final = {"WaitAndEcho": state_machine_arn("WaitAndEcho")}
# With YAML's aliases, a short text can become arbitrarily large, and PyYAML's time grows with the square of the depth.
# Only the author of the manifest is affected.
MOST_REFERENCES: Final = 4
_EVERY_FIELD: Final = """\
name: every_field
description: Has what is added to the input, and a form for the output.
state_machine: WaitAndEcho
input_schema:
  type: object
  properties: {text: {type: string, default: x}, inner: {type: object, properties: {a: {$ref: "#/$defs/n"}}}}
  $defs: {n: {type: integer, default: 1}}
input: {constants: {region: eu}, defaults: {late: 1}}
context: {input_key: caller, claims: [email]}
groups: [finance, month-end]
output:
  structured: "{sum: sum(items[].n)}"
  text: "Got {sum(items[].n)} {{x}}"
  content: [{type: resource_link, each: items, uri: "{u}", name: "{n}"}]
  meta: {a.example/b: "{id}"}
"""
DEEPEST: Final = 700


def check(data: bytes) -> bool:
    """Compile a manifest, and read the result."""
    if data.count(b"*") > MOST_REFERENCES or sum(map(data.count, (b"[", b"{", b"- "))) > DEEPEST:
        return False
    path = _folder() / "tool.yaml"
    path.write_bytes(data)
    fault = _fault_of(path)
    assert fault is None or str(path) in fault, "the error must name the file"
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
    """List the manifests of the tests and tools."""
    paths = (path for top in ("tests", "tools") for path in sorted((ROOT / top).glob("*/functions/mcp/tools/*.yaml")))
    texts = (text.encode() for text in (*registered(ADOPTER).values(), _EVERY_FIELD))
    return [*(path.read_bytes() for path in paths), *texts]
