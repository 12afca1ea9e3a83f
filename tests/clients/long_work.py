"""Stepwire over the fakes, with work that takes longer than any call: it ends after its model has fetched twice.

Two instances of the server take turns. The clock is a fake: waits of the server take no time, and a client that resumes
a response finds that a long time has passed.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Lock
from typing import Any, Final

from msgspec.structs import replace

from stepwire.json_text import JsonObject, write
from stepwire.protocol.http import HttpRequest, HttpResponse
from stepwire.server.mcp_server import McpServer
from tests.kits import OPTIONAL, OUTPUT, OUTPUT_SCHEMA, World, catalog_of
from tests.server.instances import another_instance

LOOKS: Final = 2
"""How often a model fetches before the work ends."""
_BETWEEN_POLLS: Final = timedelta(seconds=20)
_FETCH: Final = b'"task_result"'
SCHEMAS: Final[dict[str, JsonObject]] = {
    "plain": OUTPUT_SCHEMA,
    "closed": {**OUTPUT_SCHEMA, "additionalProperties": False},
    "with_references": {
        "type": "object",
        "properties": {"answer": {"$ref": "#/$defs/answer"}},
        "required": ["answer"],
        "$defs": {"answer": {"type": "integer"}},
    },
    "with_a_dialect": {"$schema": "https://json-schema.org/draft/2020-12/schema", **OUTPUT_SCHEMA},
    "with_alternatives": {"type": "object", "oneOf": [OUTPUT_SCHEMA, {"type": "object", "required": ["question"]}]},
}
"""The output schemas of the tools, by name."""


def _world() -> World:
    return World(
        catalog=catalog_of(
            *(replace(OPTIONAL, name=name, output_schema=write(schema)) for name, schema in SCHEMAS.items())
        )
    )


@dataclass
class LongWork:
    """The endpoint of such work."""

    world: World = field(default_factory=_world)
    looks: int = 0
    """How often `task_result` was called since the last work ended."""
    _lock: Any = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self._turns: Iterator[McpServer] = itertools.cycle([self.world.server, another_instance(self.world)])

    def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        with self._lock:
            if request.method == "GET":
                self.world.clock.time += _BETWEEN_POLLS
            response = next(self._turns).handle(request)
            if _FETCH in request.body:
                self._look()
            return response

    def _look(self) -> None:
        self.looks += 1
        if self.looks == LOOKS:
            for execution in self.world.workflows.running():
                self.world.succeed(execution.name.rpartition("-")[2], OUTPUT)
        if self.looks > LOOKS:
            self.looks = 0
