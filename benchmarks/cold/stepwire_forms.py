"""Function mcp in the forms that are measured: as it is imported, from source, from a snapshot, and as released."""

import base64
import json
import shutil
import subprocess
import sys
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from benchmarks.cold.contenders import RELEASED, RELEASED_SOURCES, STEPWIRE, Contender, Tools
from benchmarks.cold.release import PYTHON, remove_bytecode, site_packages, unpack, use_native_code
from tests.cold_start import ENVIRONMENT, FUNCTION, ROOT, write_catalog

_NO_TOOLS: Final = '{"format":1,"tools":[]}'
_LAYER: Final = ROOT / "layers/stepwire"
_FILL: Final = (sys.executable, ROOT / "layers/fill.py")
_HEAD: Final[Mapping[str, Any]] = {
    "pk": {"S": "catalog"},
    "sk": {"S": "head"},
    "version": {"N": "1"},
    "shards": {"L": [{"S": "one"}]},
}


def forms(folder: Path, tools: Tools, artifact: Path | None = None) -> tuple[Contender, ...]:
    """Return function mcp in all forms, from the sources or a released artifact; its package is made in this folder."""
    folder.mkdir()
    if tools is Tools.TABLE:
        (folder / "catalog.json").write_text(_NO_TOOLS, encoding="utf-8")
    else:
        write_catalog(folder)
    variables = {
        **ENVIRONMENT,
        # The task is polled for as long as the measurement takes, and each poll is one read: none asks for the state.
        "REPAIR_AFTER_SECONDS": "86400",
        "STATE_AFTER_SECONDS": "0",
        "LAMBDA_TASK_ROOT": str(folder),
        **({"REGISTERED_TOOLS": "off"} if tools is Tools.PACKAGE else {}),
    }
    return _of_sources(folder, variables) if artifact is None else _of_release(folder, variables, artifact)


def registered(folder: Path) -> dict[str, Any]:
    """Return the items of a table in which the tools of a folder's catalog are registered, by their keys."""
    packed = zlib.compress((folder / "catalog.json").read_bytes())
    part = {"pk": {"S": "catalog#one"}, "sk": {"S": "shard"}, "tools": {"B": base64.b64encode(packed).decode()}}
    return {json.dumps([item["pk"], item["sk"]]): item for item in (_HEAD, part)}


def _of_sources(folder: Path, function: Mapping[str, str]) -> tuple[Contender, ...]:
    variables = {**function, "PYTHONPATH": str(_layer(folder / "layer"))}
    whole = Contender(STEPWIRE, "stepwire_function", variables)
    # The layer has no bytecode, and Lambda keeps none: docs/decisions/0016-the-same-artifacts-everywhere.md.
    source = {"PYTHONPATH": str(_layer(folder / "source")), "PYTHONDONTWRITEBYTECODE": "1"}
    snapshot = {"SNAPSHOT": "1", "AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
    return (
        whole,
        replace(whole, name="Stepwire, its layer without bytecode", variables={**variables, **source}),
        replace(whole, name="Stepwire, from a snapshot", variables={**variables, **snapshot}),
    )


def _of_release(folder: Path, function: Mapping[str, str], artifact: Path) -> tuple[Contender, ...]:
    installed = site_packages(artifact)

    def form(name: str, place: Path) -> Contender:
        task, packages = unpack(artifact, place)
        use_native_code(packages, installed)
        # Lambda mounts both read-only, so it keeps no bytecode that it makes itself.
        more = {"PYTHONPATH": f"{task}:{packages}", "PYTHONDONTWRITEBYTECODE": "1"}
        return Contender(name, "stepwire_function", {**function, **more}, PYTHON)

    released, sources = form(RELEASED, folder / "released"), form(RELEASED_SOURCES, folder / "sources")
    remove_bytecode(folder / "sources")
    return released, sources


def _layer(folder: Path) -> Path:
    """Fill a folder with the function and its layer, as `sam build` does; return it."""
    subprocess.run((*_FILL, folder, "--package", "stepwire", "--models", "stepwire/aws/models"), cwd=_LAYER, check=True)  # noqa: S603 - our own words
    shutil.copy(FUNCTION / "app.py", folder)
    return folder
