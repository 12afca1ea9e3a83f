"""The fuzz targets without the fuzzer: the seeds, inputs that once failed, and some changed seeds.

`make fuzz` searches for more; an input that failed is kept as a file in `finds/` after the fix, named after its
content.
"""

import base64
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest

from stepwire.protocol.inbound import LARGEST_BODY
from stepwire.server.mcp_server import McpServer
from tests.fuzz import bounds, mcp_requests
from tests.fuzz.mutation import plain_octets
from tests.fuzz.other_events import Handler
from tests.fuzz.targets import FINDS, TARGETS, changed, finds
from tests.kits import World
from tests.recorded import recorded
from tests.server.answers import Json
from tests.server.anything import SESSION_ID
from tests.server.clients import PLAIN_HEADERS

MUTATIONS: Final = 300
LARGEST_INPUT: Final = 32_768  # bytes
MOST_MEMORY: Final = 48 * 2**20  # bytes in addition to the event; the function has 512 MB
LARGEST_EVENT: Final = 10 * 10**6  # bytes: the limit of API Gateway
ROOT: Final = Path(__file__).parents[2]
# Tells which of the packages that `.venv-fuzz` lacks the targets import.
PROBE: Final = """
import sys
import tests.fuzz.targets
print(*sys.modules.keys() & {"moto", "samtranslator", "stepwire_cli", "stepwire_client", "stepwire_local"})
"""
CALL: Final = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"optional","arguments":{"text":VALUE}}}'


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relax the time bound for slow machines: `make fuzz` checks it exactly, and the defects here took many seconds."""
    monkeypatch.setattr(bounds, "MOST_SECONDS", 10.0)
    monkeypatch.setattr(bounds, "MOST_MEMORY", 4 * bounds.MOST_MEMORY)


@pytest.fixture(params=sorted(TARGETS))
def target(request: pytest.FixtureRequest) -> str:
    """The name of each target."""
    return request.param


@pytest.mark.long
def test_the_targets_import_no_package_that_the_environment_of_the_fuzzer_lacks() -> None:
    probe = subprocess.run([sys.executable, "-c", PROBE], cwd=ROOT, check=True, capture_output=True, text=True)

    assert probe.stdout.split() == []


def test_every_seed_is_possible_and_answered_correctly(target: str) -> None:
    assert all(TARGETS[target].check(seed) for seed in TARGETS[target].seeds())


@pytest.mark.parametrize(
    ("name", "path"),
    [(name, path) for name in TARGETS for path in finds(name)],
    ids=lambda value: value.stem if isinstance(value, Path) else value,
)
def test_inputs_that_once_failed_are_answered_correctly(name: str, path: Path) -> None:
    assert TARGETS[name].check(path.read_bytes())


def test_every_find_belongs_to_a_target() -> None:
    assert set(FINDS.glob("*/*")) == {path for name in TARGETS for path in finds(name)}


@pytest.mark.parametrize("count", [MUTATIONS // 10, pytest.param(MUTATIONS, marks=pytest.mark.long)])
def test_changed_seeds_are_answered_correctly(target: str, count: int) -> None:
    chance = Random(f"{target}, the same each time")
    octets, seeds = plain_octets(chance), TARGETS[target].seeds()

    tried = [TARGETS[target].check(changed(chance.choice(seeds), LARGEST_INPUT, chance, octets)) for _ in range(count)]

    assert sum(tried) > count / 3, "too few of the changed inputs are possible"


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


def many_keys(count: int) -> str:
    """Write an object with many members, of which the last two have the same name."""
    return "{" + ",".join(f'"{number:x}":0' for number in (*range(count), count - 1)) + "}"


LONGEST = "a key given twice among 70,000"
TRAPS: dict[str, str | bytes] = {
    LONGEST: CALL.replace("VALUE", many_keys(70_000)),
    "30,000 arguments that nobody asked for": CALL.replace(
        '{"text":VALUE}', many_keys(30_000).replace(',"752f":0}', "}")
    ),
    "300,000 empty objects": CALL.replace("VALUE", f"[{'{},' * 300_000}0]"),
    "as many objects as go into a body, each nested in the other": CALL.replace("VALUE", '{"a":' * 200_000),
    "arrays nested 500,000 deep": nested(500_000),
    "an integer of a million digits": CALL.replace("VALUE", "9" * 1_000_000),
    "a number of a million decimals": CALL.replace("VALUE", f"0.{'1' * 1_000_000}"),
    "a number with an exponent of a million digits": CALL.replace("VALUE", f"1e{'9' * 1_000_000}"),
    "a text of a million characters": CALL.replace("VALUE", f'"{"a" * 1_000_000}"'),
    "a text of nothing but escapes": CALL.replace("VALUE", '"' + "\\u0000" * 170_000 + '"'),
    "a name of a million characters": CALL.replace("optional", "a" * 1_000_000),
    "a method of a million characters": CALL.replace("tools/call", "a" * 1_000_000),
    "an id of a million characters": CALL.replace(":1,", f':"{"a" * 1_000_000}",', 1),
    "NaN": CALL.replace("VALUE", "NaN"),
    "half a character": CALL.replace("VALUE", '"\\ud800"'),
    "what is no UTF-8": CALL.encode().replace(b"VALUE", b'"\xff"'),
    "as much as API Gateway takes": b"1" * (LARGEST_EVENT * 3 // 4),
    "as much as goes into a body": b" " * LARGEST_BODY,
}


@pytest.mark.parametrize(
    "body",
    [pytest.param(body, id=name, marks=[pytest.mark.long] * (name == LONGEST)) for name, body in TRAPS.items()],
)
def test_no_body_takes_much_time_or_memory(body: str | bytes) -> None:
    octets = body if isinstance(body, bytes) else body.encode()
    event = {**recorded("http_post_jwt"), "body": base64.b64encode(octets).decode(), "isBase64Encoded": True}

    assert memory_of(event) < MOST_MEMORY


HEADERS: dict[str, str] = {
    "a token of ten thousand characters": "A" * 10_000,
    "base64 of base64": base64.b64encode(SESSION_ID.encode()).decode(),
    "an encoded name of ten thousand characters": f"=?base64?{'A' * 10_000}?=",
    "an encoded name of nothing but padding": f"=?base64?{'=' * 10_000}?=",
    "ten thousand media types": "a/b," * 10_000,
    "white space": " \t" * 5_000,
    "a line end": "a\r\nset-cookie: b",
}


@pytest.mark.parametrize("value", HEADERS.values(), ids=list(HEADERS))
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_no_header_takes_much_time_or_memory(method: str, value: str) -> None:
    names = (*PLAIN_HEADERS, "mcp-name", "mcp-session-id", "last-event-id", "mcp-protocol-version", "origin")
    for name in names:
        event = recorded("http_post_jwt")
        event["headers"] |= {name: value}
        event["requestContext"]["http"]["method"] = method

        assert memory_of(event) < MOST_MEMORY


def memory_of(event: Json) -> int:
    """Send an event and check the answer and the time; return the peak of memory in bytes."""
    assert mcp_requests.check(json.dumps(event).encode())
    return memory_in(mcp_requests.FunctionMcp(mcp_requests.fresh().server), event)


def memory_in(function: Handler, event: Json) -> int:
    """Return the peak of memory in bytes while a function handles an event."""
    tracemalloc.start()
    try:
        function(event, None)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Broken(McpServer, frozen=True):
    """A server that always fails."""

    def _answer(self, message: Any, call: Any) -> Any:
        raise ZeroDivisionError


def test_an_internal_error_is_detected() -> None:
    world = World()
    server = Broken(world.services, frozenset(), world.faults.append)
    event = recorded("http_post_jwt")
    response = mcp_requests.FunctionMcp(server)(event, None)

    with pytest.raises(AssertionError, match="must not be an internal error") as caught:
        mcp_requests.check_answer(event, response, world, 1_000)

    assert isinstance(caught.value.__cause__, ZeroDivisionError)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"body": ""}, "Expecting value"),
        ({"body": f'{{"jsonrpc":"2.0","id":1,"result":"{mcp_requests.FOREIGN}"}}'}, "nothing of another caller"),
        ({"body": f'"{mcp_requests.TRACEBACK}:"'}, "no traceback"),
        ({"body": "a" * 100_000}, "characters for"),
        ({"statusCode": 500}, "^$"),
        ({"headers": {"content-type": "application/json", "x": "a\nb"}}, "application/json"),
    ],
)
def test_a_wrong_answer_is_detected(change: Json, words: str) -> None:
    world = mcp_requests.fresh()
    event = recorded("http_post_jwt")
    response = mcp_requests.FunctionMcp(world.server)(event, None)

    with pytest.raises((AssertionError, ValueError), match=words):
        mcp_requests.check_answer(event, {**response, **change}, world, 1_000)
