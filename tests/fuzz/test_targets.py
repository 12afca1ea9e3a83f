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

from stepwire.extras.approvals.page.links import LinkMode
from stepwire.extras.approvals.page.markup import HEADERS as HTML_HEADERS
from stepwire.protocol.inbound import LARGEST_BODY
from stepwire.server.mcp_server import McpServer
from tests.extras.approvals import fuzzing as approvals
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


ONE: Final = b"decision=approve&field-0=fine&field-4="
FORMS: dict[str, bytes] = {
    "as much as API Gateway takes": b"a" * (LARGEST_EVENT * 3 // 4),
    "nothing but separators": b"&" * 65_000,
    "as many fields as go into a body": b"a=&" * 20_000,
    "as many fields as are read": b"field-8=0&" * 1_990 + b"decision=approve",
    "a text of nothing but quotes": ONE + b"1&field-1=" + b'"' * 60_000,
    "a text of nothing but escaped quotes": ONE + b"1&field-1=" + b"%22" * 20_000,
    "half an escape, often": ONE + b"1&field-1=" + b"%2" * 30_000,
    "a number of nothing but invisible characters": ONE + b"\0" * 60_000,
    "a number of 60,000 digits": ONE + b"9" * 60_000,
    "a number of 60,000 zeros": ONE + b"0" * 60_000,
    "a number of 60,000 decimals": ONE + b"0." + b"1" * 60_000,
    "a long address": ONE + b"1&field-2=" + b"a." * 30_000 + b"@a.example",
    "a long time": ONE + b"1&field-3=" + b"2026-" * 12_000,
    "a long choice": ONE + b"1&field-7=" + b"9" * 60_000,
    "a token of 60,000 characters": ONE + b"1&signed-in=" + b"A" * 60_000,
}


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("mode", ["link", "sign-in"])
def test_no_form_takes_much_time_or_memory(mode: str, body: bytes) -> None:
    event = approvals.posted(body)

    assert approvals.check(json.dumps({"mode": mode, **event}).encode())
    assert memory_in(approvals.FunctionApprovals(approvals.fresh(), LinkMode(mode)), event) < MOST_MEMORY


LONG: dict[str, Json] = {
    "a link": approvals.browsing("A" * 10_000),
    "a query": approvals.coming_back("a=&" * 3_000),
    "a state": approvals.coming_back("code=a", state="A" * 10_000),
    "a cookie": approvals.coming_back("code=a", verifier="A" * 10_000),
    "half a character in a cookie": approvals.coming_back("code=a", verifier="\ud800"),
    "half a character in a query": approvals.coming_back(f"code={approvals.CODE}&iss=\ud800"),
    "half a character for a code": approvals.coming_back("code=\ud800"),
    "no ASCII in base64": {**approvals.posted(b""), "body": "\u00fc"},
}


@pytest.mark.parametrize("event", LONG.values(), ids=LONG)
def test_what_no_browser_sends_is_answered(event: Json) -> None:
    assert approvals.check(json.dumps({"mode": "sign-in", **event}).encode())


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


FORGED: Final = "a link that nobody made"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"statusCode": 500}, "the status 500"),
        ({"headers": {"content-type": "text/html"}}, "those of every page"),
        ({"headers": {**HTML_HEADERS, "location": "https://a.example"}}, "only a redirect"),
        ({"cookies": ["a=b\r\n"]}, "a=b"),
        ({"body": "<!doctype html>\n<html><script>a</script></html>"}, "<script> is no element"),
        ({"body": '<!doctype html>\n<html><p onclick="a">a</p></html>'}, "must not have {'onclick'}"),
        ({"body": "<!doctype html>\n<html><p></html>"}, "</html> closes nothing"),
        ({"body": '<!doctype html>\n<html><a href="https://a.example">a</a></html>'}, "to this page alone"),
        ({"body": "a page"}, "a page is HTML"),
        ({"body": "a" * 100_000}, "characters for"),
    ],
)
def test_a_wrong_page_is_detected(change: Json, words: str) -> None:
    world, event = approvals.fresh(), approvals.browsing(FORGED)
    response = approvals.FunctionApprovals(world, LinkMode.LINK)(event, None)

    with pytest.raises(AssertionError, match=words):
        approvals.check_answer(event, LinkMode.LINK, {**response, **change}, world, 1_000)


@pytest.mark.parametrize(
    ("added", "words"), [(approvals.SHOWN, "only somebody who may decide"), (approvals.HIDDEN, "nobody sees this")]
)
def test_a_page_that_shows_too_much_is_detected(added: str, words: str) -> None:
    world, event = approvals.fresh(), approvals.browsing(FORGED)
    response = approvals.FunctionApprovals(world, LinkMode.LINK)(event, None)
    page = response["body"].replace("<h1>", f"<h1>{added}")

    with pytest.raises(AssertionError, match=words):
        approvals.check_answer(event, LinkMode.LINK, {**response, "body": page}, world, 1_000)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (approvals.browsing(FORGED), "only a form changes anything"),
        (approvals.posted(b"decision=refuse", FORGED), "only somebody who may decide changes anything"),
        (approvals.posted(b"decision=approve"), "the vote is theirs"),
    ],
)
def test_a_vote_of_nobody_who_may_decide_is_detected(asked: Json, words: str) -> None:
    world = approvals.fresh()
    function = approvals.FunctionApprovals(world, LinkMode.LINK)
    function(approvals.posted(b"decision=refuse"), None)

    with pytest.raises(AssertionError, match=words):
        approvals.check_answer(asked, LinkMode.LINK, function(approvals.browsing(FORGED), None), world, 1_000)
