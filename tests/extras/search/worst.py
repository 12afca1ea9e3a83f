"""The most expensive searches: for words that are in each of very many tools."""

import json
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from stepwire.extras.search import FIND_TOOL, MOST_FOUND
from tests.fuzz.mcp_requests import FunctionMcp
from tests.kits import TOOLS, World, catalog_of
from tests.worst.inputs import Input, event_of, giving, legacy

MANY_TOOLS: Final = 500
LONGEST_DESCRIPTION: Final = 7_000  # characters; a registered manifest has 8,192 bytes


def inputs() -> Iterator[Input]:
    """Yield the searches."""
    letters = "bcdefghjklmn"
    description = " ".join(f"{letter}{number}" for number in range(900) for letter in letters)[:LONGEST_DESCRIPTION]
    tools = (replace(TOOLS[0], name=f"tool_{number}", description=description) for number in range(MANY_TOOLS))
    function = FunctionMcp(World(catalog=catalog_of(*tools)).server)
    for name, query in {"letters": " ".join(letters), "words": " ".join(f"{letter}9" for letter in letters)}.items():
        call = f'"name":"{FIND_TOOL}","arguments":{json.dumps({"query": query, "limit": MOST_FOUND})}'
        event = {**event_of(legacy("tools/call", call), "POST"), "rawQueryString": "discover=1"}
        yield Input("mcp", f"search for {name}", giving(function, event))
