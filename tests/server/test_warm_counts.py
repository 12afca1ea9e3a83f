"""What a warm request allocates and calls, by counts that are the same on every run: no test looks at a clock.

The figures are those of Python 3.11, which needs most, with about a quarter to spare. A change that exceeds one makes
each request dearer: make it cheaper again, or raise the figure and say why.
"""

import gc
import sys
import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

from stepwire.json_text import write
from stepwire.protocol.http import HttpRequest
from tests.kits import ALICE, ARGUMENTS, World

HEADERS = {"content-type": "application/json", "mcp-protocol-version": "2025-11-25"}
TIMES = 500  # requests; Python itself keeps some two hundred blocks for the next objects

# The request, the most bytes allocated at one moment, and the most calls of functions, Python's and C's.
COUNTS: list[tuple[str, dict[str, Any], int, int]] = [
    ("tools/list", {}, 70_000, 750),
    ("tasks/get", {"taskId": ""}, 8_000, 300),
    ("tools/call", {"name": "optional", "arguments": ARGUMENTS, "task": {}}, 14_000, 640),
]


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Generator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def warm_request(world: World, method: str, params: dict[str, Any]) -> Callable[[], object]:
    """Return what sends the request; it was sent before."""
    if "taskId" in params:
        params = {"taskId": world.call().task_id}
    body = write({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = HttpRequest("POST", HEADERS, body, ALICE)

    def send() -> None:
        assert '"result"' in world.server.handle(request).body

    for _ in range(3):
        send()
    return send


def peak_bytes(send: Callable[[], object]) -> int:
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


@pytest.mark.parametrize(("method", "params", "most_bytes", "most_calls"), COUNTS)
def test_a_warm_request_stays_within_its_counts(
    world: World, method: str, params: dict[str, Any], most_bytes: int, most_calls: int
) -> None:
    send = warm_request(world, method, params)

    allocated = peak_bytes(send)
    with counted_calls() as calls:
        send()

    assert allocated <= most_bytes
    assert len(calls) <= most_calls
    assert 2 * len(calls) > most_calls  # a figure far above what is needed guards nothing


@pytest.mark.parametrize(("method", "params"), [(method, params) for method, params, _, _ in COUNTS[:2]])
def test_requests_keep_less_than_a_block_each(world: World, method: str, params: dict[str, Any]) -> None:
    send = warm_request(world, method, params)

    def blocks_after_many() -> int:
        for _ in range(TIMES):
            send()
        world.audit.clear()
        world.store.calls.clear()
        gc.collect()  # the decoder of the standard library is a cycle
        return sys.getallocatedblocks()

    before = blocks_after_many()
    kept = blocks_after_many() - before

    assert kept < TIMES
