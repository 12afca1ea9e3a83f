"""Function mcp in the forms that are measured: as it is imported, from source, and from a snapshot."""

import base64
import json
import shutil
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.cold.contenders import STEPWIRE, Contender
from tests.cold_start import ENVIRONMENT, FUNCTION, ROOT, write_catalog

_NO_TOOLS: Final = '{"format":2,"tools":[]}'
_HEAD: Final[Mapping[str, Any]] = {
    "pk": {"S": "catalog"},
    "sk": {"S": "head"},
    "version": {"N": "1"},
    "shards": {"L": [{"S": "one"}]},
}


def with_its_catalog(folder: Path) -> tuple[Contender, ...]:
    """Return function mcp with the tests' tools in its package, which is made in this folder."""
    folder.mkdir()
    write_catalog(folder)
    return _forms(folder)


def with_an_empty_catalog(folder: Path) -> tuple[Contender, ...]:
    """Return function mcp with no tool in its package, which is made in this folder."""
    folder.mkdir()
    (folder / "catalog.json").write_text(_NO_TOOLS, encoding="utf-8")
    return _forms(folder)


def registered(folder: Path) -> dict[str, Any]:
    """Return the items of a table in which the tools of a folder's catalog are registered, by their keys."""
    packed = zlib.compress((folder / "catalog.json").read_bytes())
    part = {"pk": {"S": "catalog#one"}, "sk": {"S": "shard"}, "tools": {"B": base64.b64encode(packed).decode()}}
    return {json.dumps([item["pk"], item["sk"]]): item for item in (_HEAD, part)}


def _forms(folder: Path) -> tuple[Contender, ...]:
    # The task is polled for as long as the measurement takes, and each poll is to be one read.
    steady = {"REPAIR_AFTER_SECONDS": "86400", "STATE_AFTER_SECONDS": "86400"}
    code = f"{ROOT / 'layers/stepwire'}:{FUNCTION}"
    variables = {**ENVIRONMENT, **steady, "LAMBDA_TASK_ROOT": str(folder), "PYTHONPATH": code}
    whole = Contender(STEPWIRE, "stepwire_function", variables)
    # The layer has no bytecode, and Lambda keeps none: docs/decisions/0016-the-same-artifacts-everywhere.md.
    source = {"PYTHONPATH": str(_copy(folder)), "PYTHONDONTWRITEBYTECODE": "1"}
    snapshot = {"SNAPSHOT": "1", "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    return (
        whole,
        replace(whole, name="Stepwire, its layer without bytecode", variables={**variables, **source}),
        replace(whole, name="Stepwire, from a snapshot", variables={**variables, **snapshot}),
    )


def _copy(folder: Path) -> Path:
    """Copy the sources of the function to a place where nothing has run yet; return it."""
    copied = folder / "source"
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "layers/stepwire/stepwire", copied / "stepwire", ignore=without)
    shutil.copy(FUNCTION / "app.py", copied)
    return copied
