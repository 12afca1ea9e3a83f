"""Count what a warm request allocates and calls, and write the counts as JSON: `python -m tests.server.warm_counts`.

In an interpreter of its own, because the counts of memory are those of all threads of a process.
"""

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

from stepwire.audit import AuditEntry
from stepwire.json_text import write
from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from tests.kits import ALICE, ARGUMENTS, World

HEADERS: Final = {"content-type": "application/json", "mcp-protocol-version": "2025-11-25"}
REQUESTS: Final[dict[str, dict[str, Any]]] = {
    "tools/list": {},
    "tasks/get": {"taskId": ""},
    "tools/call": {"name": "optional", "arguments": ARGUMENTS, "task": {}},
}
TIMES: Final = 500
"""How many requests are sent for `kept_blocks`."""


@dataclass(frozen=True)
class Counts:
    """The counts of a request that was sent before."""

    peak_bytes: int
    """The most bytes allocated at one moment."""
    calls: int
    """Of functions, Python's and C's."""
    kept_blocks: int
    """The blocks of memory that `TIMES` requests leave allocated."""


def counts_of(method: str) -> Counts:
    """Count one method's request in a new world."""
    world = World(audit=list[AuditEntry]())  # not checked: that would be counted
    send = warm_request(world, method)
    peak = peak_bytes(send)
    with counted_calls() as calls:
        send()
    # A call creates a task, which the world keeps.
    return Counts(peak, len(calls), 0 if method == "tools/call" else kept_blocks(world, send))


def warm_request(world: World, method: str) -> Callable[[], object]:
    """Return what sends the request; it was sent before."""
    params = REQUESTS[method]
    if "taskId" in params:
        params = {"taskId": world.call().task_id}
    body = write({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = HttpRequest("POST", HEADERS, body, Caller(ALICE))

    def send() -> None:
        assert '"result"' in world.server.handle(request).body

    for _ in range(3):
        send()
    return send


def peak_bytes(send: Callable[[], object]) -> int:
    """Return the most bytes that a request has allocated at one moment."""
    tracemalloc.start()
    try:
        send()
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        send()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@contextmanager
def counted_calls() -> Generator[list[str]]:
    """Collect the calls of functions."""
    calls: list[str] = []
    before = sys.getprofile()

    def count(_frame: object, event: str, _argument: object) -> None:
        if event in ("call", "c_call"):
            calls.append(event)

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def kept_blocks(world: World, send: Callable[[], object]) -> int:
    """Return how many blocks of memory `TIMES` requests leave allocated."""

    def blocks_after_many() -> int:
        for _ in range(TIMES):
            send()
        world.audit.clear()
        world.store.calls.clear()
        gc.collect()  # the decoder of the standard library is a cycle
        return sys.getallocatedblocks()

    before = blocks_after_many()
    return blocks_after_many() - before


def main() -> None:
    """Write the counts of each request."""
    gc.collect()
    gc.disable()
    json.dump({method: asdict(counts_of(method)) for method in REQUESTS}, sys.stdout)


if __name__ == "__main__":
    main()
