"""Measure what a client is listed, and what it costs: `python -m benchmarks.lists [--update]`.

Half of the tools are the examples', the other half has a schema of two fields, as `stepwire wrap` makes of a small
workflow. Tokens are bytes of JSON divided by four, which is near what tokenizers make of JSON in English. With
--update, the tables go to docs/performance.md.
"""

import json
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from time import process_time
from timeit import repeat
from typing import Final

from msgspec.structs import replace

from benchmarks.page import write_parts
from stepwire.catalog.tools import Tool, compiled_in
from stepwire.json_text import JsonObject, write
from stepwire.manifests.reading import compile_directory, read_manifest
from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from tests.adopted import write_manifests
from tests.integration.forty_machines import manifest
from tests.kits import World, catalog_of
from tests.server.clients import AtUrl, ModernClient

COUNTS: Final = (40, 300)
MANY: Final = 10_000
IN_A_GROUP: Final = 10
BYTES_PER_TOKEN: Final = 4
ROUNDS: Final = 5
URLS: Final = {"all": "", f"a group of {IN_A_GROUP}": "group=few", "a search in their place": "discover=1"}
SEARCHES: Final = {
    "words that few tools have": "approve the refund 777",
    "words that all have": "tools that echo and wait",
}


def tools_of(count: int) -> Iterator[Tool]:
    """Yield so many tools, of which the first ten are a group."""
    with tempfile.TemporaryDirectory() as folder:
        examples = [one.tool for one in compiled_in(compile_directory(write_manifests(Path(folder) / "manifests")))]
    small = read_manifest(json.dumps(manifest("echoes", "Echoes"))).tool()
    kinds = cycle([one for example in examples for one in (example, small)])
    for number, tool in enumerate(islice(kinds, count)):
        groups = ("few",) if number < IN_A_GROUP else ("rest",)
        yield replace(tool, name=f"{tool.name}_{number}", groups=groups)


def pages(client: ModernClient) -> Iterator[JsonObject]:
    """Yield the pages of the list."""
    cursor: JsonObject = {}
    while True:
        page = client.ask("tools/list", cursor).result
        yield page
        if "nextCursor" not in page:
            return
        cursor = {"cursor": page["nextCursor"]}


def sizes() -> list[list[str]]:
    """Return a row for each number of tools and URL."""
    rows: list[list[str]] = []
    for count in COUNTS:
        world = World(catalog=catalog_of(*tools_of(count)))
        for shown, query in URLS.items():
            listed = [tool for page in pages(ModernClient(AtUrl(world, query))) for tool in page["tools"]]
            size = len(write(listed).encode())
            rows.append([f"{count}", shown, f"{len(listed)}", f"{size:,}", f"{size // BYTES_PER_TOKEN:,}"])
    return rows


def of_many() -> list[list[str]]:
    """Return a row for each request at a catalog of 10,000 tools: its time, its memory and its bytes."""
    world = World(catalog=catalog_of(*tools_of(MANY)))
    asked: list[tuple[str, str, str, JsonObject]] = []
    asked += [(f"`tools/list`, {shown}", query, "tools/list", {}) for shown, query in URLS.items()]
    for shown, words in SEARCHES.items():
        params: JsonObject = {"name": "find_tools", "arguments": {"query": words}}
        asked.append((f"`find_tools`, {shown}", "discover=1", "tools/call", params))
    return [_row(shown, ModernClient(AtUrl(world, query)), method, params) for shown, query, method, params in asked]


def _row(shown: str, client: ModernClient, method: str, params: JsonObject) -> list[str]:
    message = client.message(method, params)
    request = client.headers(method, message["params"]), write(message).encode()
    body = _answer(client, *request)
    seconds = median(repeat(lambda: _answer(client, *request), timer=process_time, number=1, repeat=ROUNDS))
    tracemalloc.start()
    _answer(client, *request)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [shown, f"{1000 * seconds:.0f} ms", f"{peak / 1_000_000:.1f} MB", f"{len(body.encode()):,}"]


def _answer(client: ModernClient, headers: dict[str, str], body: bytes) -> str:
    return client.endpoint.server.handle(HttpRequest("POST", headers, body, Caller(client.owner))).body


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def sizes_table() -> str:
    """Return the table of sizes, which is the same on every machine."""
    return _table(["tools", "listed", "tools in the list", "bytes", "tokens, about"], sizes())


def main() -> None:
    """Print the tables, or write them into the page."""
    lists = sizes_table()
    many = _table(["request", "CPU time", "memory", "bytes"], of_many())
    if "--update" in sys.argv:
        write_parts({"lists of tools": lists, "10,000 tools": many}, {})
    else:
        sys.stdout.write(f"{lists}\n{many}")


if __name__ == "__main__":
    main()
