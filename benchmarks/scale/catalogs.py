"""What 500 registered tools add to a cold start, in CPU time, as `benchmarks.cold` measures it."""

import base64
import json
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Any, Final

from msgspec.structs import replace

from benchmarks.cold.aws import Aws, serving
from benchmarks.cold.contenders import CREATE, FLOOR, Contender, Tools, legacy
from benchmarks.cold.processes import run
from benchmarks.cold.stepwire_forms import forms, registered
from stepwire.catalog.tools import compiled_in
from stepwire.manifests.published import Compiled
from tests.cold_start import write_catalog

MANY: Final = 500
ROUNDS: Final = 9
REQUESTS: Final[Mapping[str, tuple[Any, str]]] = {
    "tools/list, the first page": (legacy("tools/list", {}), "GetItem GetItem"),
    "tools/call that starts a workflow": (CREATE, "PutItem StartExecution"),
}
"""A request and the bare calls of its floor."""


def measured() -> list[list[str]]:
    """Return the rows of the table: milliseconds of CPU with few tools and with many, and what the many add."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        stepwire, *_ = forms(folder / "function", Tools.TABLE)
        few, many = few_and_many(folder)
        with serving(Aws(few)) as small, serving(Aws(many)) as large:
            return [_row(name, stepwire, small, large) for name in REQUESTS]


def few_and_many(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the items of a table with the examples' three tools, and with copies of them, 500 in all."""
    made = folder / "examples"
    made.mkdir()
    write_catalog(made)
    tools = compiled_in((made / "catalog.json").read_text(encoding="utf-8"))
    copies = [
        replace(one, tool=replace(one.tool, name=f"tool_{number:03}"))
        for number, one in zip(range(MANY - len(tools)), cycle(tools), strict=False)
    ]
    return registered(made), _items(Compiled({one.tool.name: one for one in (*tools, *copies)}).shards())


def _items(shards: Sequence[str]) -> dict[str, Any]:
    names = [f"part-{number}" for number in range(len(shards))]
    head = {
        "pk": {"S": "catalog"},
        "sk": {"S": "head"},
        "version": {"N": "1"},
        "shards": {"L": [{"S": name} for name in names]},
    }
    parts = [
        {
            "pk": {"S": f"catalog#{name}"},
            "sk": {"S": "shard"},
            "tools": {"B": base64.b64encode(zlib.compress(shard.encode())).decode()},
        }
        for name, shard in zip(names, shards, strict=True)
    ]
    return {json.dumps([item["pk"], item["sk"]]): item for item in (head, *parts)}


def _row(name: str, stepwire: Contender, small: Aws, large: Aws) -> list[str]:
    event, bare = REQUESTS[name]
    floor = Contender(FLOOR, "floor", {"CALLS": bare})
    rounds = [
        (run(floor, event, small).cpu, run(stepwire, event, small).cpu, run(stepwire, event, large).cpu)
        for _ in range(ROUNDS + 1)
    ][1:]
    least, few, many = (median(column) for column in zip(*rounds, strict=True))
    added = median(one[2] - one[1] for one in rounds)
    ratio = median((one[2] - one[1]) / one[0] for one in rounds)
    return [name, *(f"{1000 * one:.0f} ms" for one in (least, few, many, added)), f"{ratio:.2f}"]
