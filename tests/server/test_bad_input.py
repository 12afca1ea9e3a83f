"""Bad input gets a clear error, and neither starts nor changes anything."""

import base64
import json
from typing import Any

import pytest

from stepwire.protocol.inbound import LARGEST_BODY, MOST_BRACKETS
from stepwire.tasks.task import LARGEST_INPUT
from tests.kits import World
from tests.server.answers import Json
from tests.server.clients import PLAIN_HEADERS, LegacyClient, ModernClient, RawSender, nothing_happened
from tests.wire_oracle import LEGACY, MODERN

Client = LegacyClient | ModernClient
HEADERS = {**PLAIN_HEADERS, "mcp-protocol-version": LEGACY}
CALL: Json = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "optional", "arguments": {"text": "hello"}, "task": {}},
}
CALL_TEXT = json.dumps(CALL)

NOT_JSON = {
    "nothing": b"",
    "white space": b" \r\n",
    "half of it": CALL_TEXT[:-1].encode(),
    "something behind it": CALL_TEXT.encode() + b"x",
    "two of them": CALL_TEXT.encode() * 2,
    "single quotes": CALL_TEXT.replace('"', "'").encode(),
    "a comma too many": CALL_TEXT.replace("}}", "},}").encode(),
    "a byte order mark": b"\xef\xbb\xbf" + CALL_TEXT.encode(),
    "UTF-16": CALL_TEXT.encode("utf-16"),
    "Latin-1": CALL_TEXT.replace("hello", "hällo").encode("latin-1"),
    "a byte that UTF-8 never has": CALL_TEXT.encode().replace(b"hello", b"\xff"),
    "an overlong form": CALL_TEXT.encode().replace(b"hello", b"\xc0\xaf"),
    "half a surrogate pair": CALL_TEXT.replace("hello", "\\ud800").encode(),
    "half a surrogate pair in UTF-8": CALL_TEXT.encode().replace(b"hello", b"\xed\xa0\x80"),
    "a control character": CALL_TEXT.replace("hello", "\x01").encode(),
    "NaN": CALL_TEXT.replace('"hello"', "NaN").encode(),
    "Infinity": CALL_TEXT.replace('"hello"', "Infinity").encode(),
    "-Infinity": CALL_TEXT.replace('"hello"', "-Infinity").encode(),
    "an integer of 5,000 digits": CALL_TEXT.replace('"hello"', "9" * 5_000).encode(),
    "an integer of 900,000 digits": CALL_TEXT.replace('"hello"', "-" + "9" * 900_000).encode(),
    "a leading zero": CALL_TEXT.replace('"id": 1', '"id": 01').encode(),
    "arrays nested 1,000 deep": CALL_TEXT.replace('"hello"', "[" * 1_000 + "]" * 1_000).encode(),
    "objects nested 1,000 deep": CALL_TEXT.replace('"hello"', '{"a":' * 1_000 + "1" + "}" * 1_000).encode(),
    "arrays nested 40,000 deep and never closed": b"[" * 40_000,
}
INEXACT = {
    "a number beyond a double": CALL_TEXT.replace('"hello"', "1e999").encode(),
    "an integer that loses digits": CALL_TEXT.replace('"hello"', str(2**53)).encode(),
    "an id of another tweet": CALL_TEXT.replace('"hello"', "[1859999999999999999]").encode(),
}
IN_DOUBT = {
    "an id that loses digits": CALL_TEXT.replace('"id": 1', f'"id": {2**53}').encode(),
    "an id given twice": CALL_TEXT.replace('"id": 1', '"id": 1, "id": 2').encode(),
    "an id given twice, and a number that loses digits": CALL_TEXT.replace(
        '"id": 1', f'"id": 1, "x": {2**53}, "id": 2'
    ).encode(),
}
AMBIGUOUS = {
    "the method given twice": CALL_TEXT.replace('"method"', '"method": "ping", "method"').encode(),
    "an argument `id` given twice": CALL_TEXT.replace('"text"', '"id": 1, "id": 2, "text"').encode(),
    "a key given twice, once escaped": CALL_TEXT.replace('"text"', '"text": "a", "t\\u0065xt"').encode(),
    "an argument given twice": CALL_TEXT.replace('"hello"', '"hello", "text": "goodbye"').encode(),
}
NO_MESSAGE: dict[str, Any] = {
    "a batch": [CALL, CALL],
    "a batch of one": [CALL],
    "an empty batch": [],
    "a string": "tools/call",
    "a number": 1,
    "null": None,
    "an empty object": {},
    "no version of JSON-RPC": {"id": 1, "method": "ping"},
    "JSON-RPC 1.0": {**CALL, "jsonrpc": "1.0"},
    "JSON-RPC 2, a number": {**CALL, "jsonrpc": 2.0},
    "no method": {"jsonrpc": "2.0", "id": 1},
    "a method that is a number": {**CALL, "method": 7},
    "a method that is null": {**CALL, "method": None},
    "a method that is empty": {**CALL, "method": ""},
    "params that are a list": {**CALL, "params": [1]},
    "params that are null": {**CALL, "params": None},
    "params that are text": {**CALL, "params": "x"},
    "an id that is null": {**CALL, "id": None},
    "an id that is true": {**CALL, "id": True},
    "an id that is a fraction": {**CALL, "id": 1.5},
    "an id that is a list": {**CALL, "id": [1]},
    "an id of 257 characters": {**CALL, "id": "a" * 257},
    "a result that is text": {"jsonrpc": "2.0", "id": 1, "result": "yes"},
    "a result and an error": {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "no"}},
    "a result for nobody": {"jsonrpc": "2.0", "id": None, "result": {}},
}
MALFORMED_IDS = {
    "empty": "",
    "short": "0" * 35,
    "long": "0" * 37,
    "very long": "0" * 100_000,
    "upper case": "0123456789ABCDEFGHJKMNPQRSTVWXYZ0123",
    "with letters that are never used": "u" * 36,
    "in another script": "\u0660" * 36,
    "with a newline": "0" * 36 + "\n",
    "with the prefix of the table": "task#" + "0" * 31,
    "a path": "../../0000000000000000000000000000000",
    "a number": 7,
    "null": None,
    "missing": ...,
    "a list": ["0" * 36],
    "an object": {"S": "0" * 36},
    "true": True,
}


@pytest.fixture(params=["legacy", "modern"])
def client(request: pytest.FixtureRequest, world: World) -> Client:
    """A client of either era."""
    return LegacyClient(world) if request.param == "legacy" else ModernClient(world)


# M5, M20, G
@pytest.mark.parametrize("body", NOT_JSON.values(), ids=list(NOT_JSON))
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_body_that_is_not_json_is_a_parse_error(world: World, body: bytes, version: str) -> None:
    headers = {**HEADERS, "mcp-protocol-version": version}

    answer = RawSender(world).send(body, headers, version=version)

    assert (answer.status, answer.code, answer.body["id"]) == (400, -32700, None)
    assert answer.error["message"].startswith("The body is not JSON: ")
    assert len(answer.error["message"]) < 300
    assert nothing_happened(world)


# M5, M20, G: the id can be read, although the body is invalid
@pytest.mark.parametrize("body", AMBIGUOUS.values(), ids=list(AMBIGUOUS))
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_body_that_parsers_read_differently_is_refused(world: World, body: bytes, version: str) -> None:
    headers = {**HEADERS, "mcp-protocol-version": version}

    answer = RawSender(world).send(body, headers, version=version)

    assert (answer.status, answer.code) == (400, -32600)
    assert answer.body["id"] == 1
    assert answer.error["message"].startswith("The body is ambiguous: ")
    assert len(answer.error["message"]) < 300
    assert nothing_happened(world)


# M20: it is unclear which request an error would answer
@pytest.mark.parametrize("body", IN_DOUBT.values(), ids=list(IN_DOUBT))
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_body_whose_id_is_in_doubt_is_refused_without_an_id(world: World, body: bytes, version: str) -> None:
    headers = {**HEADERS, "mcp-protocol-version": version}

    answer = RawSender(world).send(body, headers, version=version)

    assert (answer.status, answer.code, answer.body["id"]) == (400, -32600, None)
    assert nothing_happened(world)


# M37: models send ids of 19 digits as numbers, which must not end the session
@pytest.mark.parametrize("body", INEXACT.values(), ids=list(INEXACT))
def test_a_number_that_loses_digits_fails_the_request_and_not_the_session(world: World, body: bytes) -> None:
    legacy = RawSender(world).send(body, {**HEADERS, "mcp-protocol-version": LEGACY}, version=LEGACY)

    assert (legacy.status, legacy.code, legacy.body["id"]) == (200, -32602, 1)
    assert legacy.error["message"].endswith("send it as a string.")
    assert nothing_happened(world)


# M37
def test_a_number_that_loses_digits_is_an_invalid_params_error(modern: ModernClient, world: World) -> None:
    answer = modern.call("optional", {"text": 2**53})

    assert (answer.status, answer.code) == (400, -32602)
    assert answer.error["message"].endswith("send it as a string.")
    assert nothing_happened(world)


# M5, M20, M25, L6, L13, G
@pytest.mark.parametrize("message", NO_MESSAGE.values(), ids=list(NO_MESSAGE))
@pytest.mark.parametrize("version", [LEGACY, MODERN])
def test_a_body_that_is_not_one_request_or_notification_is_refused(world: World, message: Any, version: str) -> None:
    headers = {**HEADERS, "mcp-protocol-version": version}

    answer = RawSender(world).send(message, headers, version=version)

    assert (answer.status, answer.code) == (400, -32600)
    assert answer.error["message"]
    assert nothing_happened(world)


# M6: 1 MB of brackets cost 0.6 s of CPU before any limit
def test_a_body_of_too_many_brackets_is_refused_before_it_is_read(world: World) -> None:
    legal, over = (b'{"a":[' + b"[]," * count + b"[]]}" for count in (MOST_BRACKETS - 3, MOST_BRACKETS - 2))

    found = [RawSender(world).send(body, HEADERS) for body in (legal, over)]

    assert [one.status for one in found] == [400, 413]
    assert "more than 50000 opening brackets" in found[1].error["message"]


def test_a_body_at_the_size_limit_is_accepted_and_one_byte_more_is_refused(world: World) -> None:
    body = CALL_TEXT.encode().ljust(LARGEST_BODY)

    over = RawSender(world).send(body + b" ", HEADERS)
    nothing_yet = nothing_happened(world)
    at = RawSender(world).send(body, HEADERS)

    assert (over.status, over.code) == (413, -32600)
    assert str(LARGEST_BODY) in over.error["message"]
    assert nothing_yet
    assert at.result["task"]["status"] == "working"


# M37: counted in bytes of UTF-8, as Step Functions does
@pytest.mark.parametrize("character", ["a", "ü", "😀", '"'])
def test_arguments_at_the_limit_start_a_workflow_and_one_byte_more_starts_none(
    modern: ModernClient, world: World, character: str
) -> None:
    size = len(json.dumps(character, ensure_ascii=False).encode()) - 2
    count, rest = divmod(LARGEST_INPUT - len('{"text":""}'), size)
    text = character * count + "a" * rest

    over = modern.call("optional", {"text": text + "a"})
    nothing_yet = nothing_happened(world)
    at = modern.call("optional", {"text": text})

    assert over.result["isError"] is True
    assert str(LARGEST_INPUT) in over.text
    assert nothing_yet
    assert at.result["resultType"] == "task"
    assert len(world.workflows.starts[0].input_text.encode()) == LARGEST_INPUT


# M38: an error about arguments is short, however many of them are invalid
def test_an_error_about_arguments_does_not_quote_all_of_them(modern: ModernClient, world: World) -> None:
    arguments: Json = {f"{number}{'x' * 200}": 1 for number in range(1_000)}

    answer = modern.call("optional", {**arguments, "text": 1})

    assert answer.result["isError"] is True
    assert len(answer.text) < 10_000
    assert nothing_happened(world)


# X21, T13, T17
@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize("task_id", MALFORMED_IDS.values(), ids=list(MALFORMED_IDS))
def test_a_malformed_task_id_is_answered_like_an_unknown_one(world: World, era: str, task_id: Any) -> None:
    mine = client_of(world, era)

    answer, calls = asked(world, mine, "get", task_id)
    unknown, _ = asked(world, mine, "get", "0" * 36)

    assert answer.response == unknown.response
    assert calls == []


# M40, L18, T19
@pytest.mark.parametrize(
    ("era", "method"), [("legacy", "tools/list"), ("legacy", "tasks/list"), ("modern", "tools/list")]
)
@pytest.mark.parametrize(
    "cursor",
    [
        *("", "?", "=", "A", "AAAA", "\n", "ÿ", "//8=", "nothing", "b3B0aW9uYWw", "MDAw", "0" * 36, 1, True, [], {}),
        *(base64.b64encode(b"../x").decode(), "A" * 100_000),
    ],
)
def test_a_bad_cursor_is_refused_by_every_list(world: World, era: str, method: str, cursor: Any) -> None:
    answer = client_of(world, era).ask(method, {"cursor": cursor})

    assert (answer.status, answer.code) == (200 if era == "legacy" else 400, -32602)
    assert "cursor" in answer.error["message"]
    assert world.store.calls == []


# M38: an error quotes nothing that the client sent, except a shortened name
@pytest.mark.parametrize("secret", ["hunter2"])
def test_an_error_quotes_no_text_of_the_request(client: Client, world: World, secret: str) -> None:
    answers = [
        RawSender(world).send(f'{{"secret": "{secret}"'.encode(), HEADERS),
        client.ask("tools/call", {"name": 7, "arguments": {"text": secret}}),
        client.task("get", secret),
    ]

    assert not any(secret in answer.response.body for answer in answers)


# L9, A10
@pytest.mark.parametrize(("http_method", "status"), [("GET", 400), ("DELETE", 405)])
def test_get_and_delete_change_nothing_whatever_their_body_is(world: World, http_method: str, status: int) -> None:
    headers = {**HEADERS, "accept": "text/event-stream", "last-event-id": "2"}

    answer = RawSender(world).send(b"", headers, http_method=http_method)

    assert answer.status == status
    assert nothing_happened(world)


def client_of(world: World, era: str) -> Client:
    """Return a client of an era."""
    return LegacyClient(world) if era == "legacy" else ModernClient(world)


def asked(world: World, client: Client, method: str, task_id: Any) -> tuple[Any, list[str]]:
    """Send a method for a task; return the answer and the calls to the store."""
    before = len(world.store.calls)
    params: Json = {"inputResponses": {}, **({} if task_id is ... else {"taskId": task_id})}
    answer = client.ask(f"tasks/{method}", params)
    return answer, world.store.calls[before:]
