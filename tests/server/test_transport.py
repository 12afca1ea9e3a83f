"""HTTP, headers and the JSON-RPC envelope: the checks before any method runs."""

import base64
import hashlib
import json
import re

import pytest

from stepwire.principal import Caller
from stepwire.protocol.http import HttpRequest
from tests.kits import ALICE, ALLOWED_ORIGIN, ARGUMENTS, BAD_ARGUMENTS, World
from tests.server.answers import Json
from tests.server.clients import (
    META_CAPABILITIES,
    META_VERSION,
    PLAIN_HEADERS,
    SERVER_INFO,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
    RawSender,
    nothing_happened,
)
from tests.wire_oracle import MODERN

PING: Json = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


# M1, M7, L4, L7, G
def test_a_request_is_answered_with_one_json_object(legacy: LegacyClient, modern: ModernClient) -> None:
    answers = [legacy.ask("ping"), modern.ask("server/discover")]

    assert [answer.status for answer in answers] == [200, 200]
    assert [answer.response.headers["content-type"] for answer in answers] == ["application/json"] * 2


# M6, L6, L15, X19, G
@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed", "anything"]
)
@pytest.mark.parametrize("version", [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", None])
def test_a_notification_is_accepted_and_changes_nothing(world: World, method: str, version: str | None) -> None:
    task_id = LegacyClient(world).start()
    message = {"jsonrpc": "2.0", "method": method, "params": {"requestId": 1, "taskId": task_id}}
    headers = {**PLAIN_HEADERS, **({} if version is None else {"mcp-protocol-version": version})}

    answer = RawSender(world).send(message, headers)

    assert (answer.status, answer.response.body) == (202, "")
    assert world.workflows.stops == []
    assert LegacyClient(world).task("get", task_id).result["status"] == "working"


# M6, L12
def test_a_notification_in_an_unknown_version_is_refused(world: World) -> None:
    headers = {**PLAIN_HEADERS, "mcp-protocol-version": "1999-01-01"}

    answer = RawSender(world).send({"jsonrpc": "2.0", "method": "notifications/initialized"}, headers)

    assert (answer.status, answer.code) == (400, -32600)


# M25, L13, M20
@pytest.mark.parametrize("message_id", ["a", "", "1", 0, -1, 7, 2**53 - 1, "ü" * 256])
def test_the_response_repeats_the_id_unchanged(modern: ModernClient, message_id: str | int) -> None:
    result = modern.ask("server/discover", message_id=message_id)

    error = modern.ask("no/such/method", message_id=message_id)

    assert result.body["id"] == error.body["id"] == message_id


# M2, L5, G
@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "", "https://app.example.evil", "HTTPS://APP.EXAMPLE"]
)
def test_a_request_from_another_origin_is_refused_before_its_body_is_read(
    legacy: LegacyClient, world: World, origin: str
) -> None:
    answer = legacy.ask(
        "tools/call", {"name": "optional", "arguments": {"text": "a"}, "task": {}}, headers={"origin": origin}
    )

    assert answer.status == 403
    assert nothing_happened(world)


# M2, M7, L5, G
@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {"origin": ALLOWED_ORIGIN}),
        # A server that trusts Host is open to DNS rebinding.
        (403, {"host": "evil.example", "origin": "https://evil.example"}),
        *((406, {"accept": one}) for one in ("text/event-stream", "text/html", "image/*", "application/jsonp")),
        *((406, {"accept": one}) for one in ("application/json;q=0, */*", "*/*; Q=0.000")),
        *((200, {"accept": one}) for one in (None, "*/*", "application/*", "application/json;q=0.001")),
        *((200, {"accept": one}) for one in ("text/event-stream , Application/JSON;q=0.9", "text/*;q=0,*/*")),
        *((415, {"content-type": one}) for one in (None, "text/plain", "application/jsonp")),
        (415, {"content-type": "application/x-www-form-urlencoded"}),
        *((200, {"content-type": one}) for one in ("application/json; charset=utf-8", "Application/JSON")),
        (200, {"content-encoding": "Identity"}),
    ],
)
def test_the_headers_of_http_decide_whether_a_request_is_read(
    legacy: LegacyClient, status: int, headers: dict[str, str | None]
) -> None:
    assert legacy.ask("ping", headers=headers).status == status


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate, gzip", "x-none", "identity, gzip"])
def test_a_body_with_a_content_encoding_is_refused(legacy: LegacyClient, world: World, encoding: str) -> None:
    params = {"name": "optional", "arguments": ARGUMENTS, "task": {}}

    answer = legacy.ask("tools/call", params, headers={"content-encoding": encoding})

    assert (answer.status, answer.code) == (415, -32600)
    assert answer.response.headers["accept-encoding"] == "identity"
    assert nothing_happened(world)


# M11, M12, M16, G
@pytest.mark.parametrize("name", ["mcp-protocol-version", "mcp-method", "mcp-name"])
def test_a_modern_header_that_is_missing_is_a_mismatch(modern: ModernClient, world: World, name: str) -> None:
    answer = modern.ask("tools/call", {"name": "optional", "arguments": {"text": "a"}}, headers={name: None})

    assert (answer.status, answer.code) == (400, -32020)
    assert name in answer.error["message"].lower()
    assert nothing_happened(world)


# M10, M12, M13, M20, G
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-protocol-version", "2026-07-28, 2026-07-28"),
        ("mcp-method", "tools/list"),
        ("mcp-method", "Tools/Call"),
        ("mcp-method", "tools/call, tools/call"),
        ("mcp-name", "required"),
        ("mcp-name", "Optional"),
        ("mcp-name", "optional, optional"),
        ("mcp-name", ""),
        ("mcp-name", "option\x00al"),
        ("mcp-name", "optionäl"),
        ("mcp-name", "=?base64?****?="),
        ("mcp-name", "=?base64?b3B0aW9uYWw?="),
        ("mcp-name", "=?base64?//8=?="),
        ("mcp-name", "=?BASE64?b3B0aW9uYWw=?="),
    ],
)
def test_a_modern_header_that_differs_from_the_body_is_a_mismatch(
    modern: ModernClient, world: World, name: str, value: str
) -> None:
    answer = modern.ask("tools/call", {"name": "optional", "arguments": {"text": "a"}}, headers={name: value})

    assert (answer.status, answer.code, answer.body["id"]) == (400, -32020, 1)
    assert nothing_happened(world)


# M14: the header must match the body, so what is left is that most of these tools are unknown
@pytest.mark.parametrize("name", ["wörld", "a\nb", " leading", "=?base64?x?=", "optional"])
def test_any_name_may_be_sent_in_base64(modern: ModernClient, name: str) -> None:
    encoded = f"=?base64?{base64.b64encode(name.encode()).decode()}?="

    answer = modern.ask("tools/call", {"name": name, "arguments": ARGUMENTS}, headers={"mcp-name": encoded})

    assert answer.body.get("error", {}).get("code") == (None if name == "optional" else -32602)


# M12: some characters are invalid in headers, even if header and body match
@pytest.mark.parametrize("name", ["wörld", "a\nb", "a\x00"])
def test_a_header_with_invalid_characters_is_refused(modern: ModernClient, name: str) -> None:
    answer = modern.ask("tools/call", {"name": name, "arguments": {}}, headers={"mcp-name": name})

    assert (answer.status, answer.code) == (400, -32020)
    assert "=?base64?" in answer.error["message"]


# M10
def test_white_space_around_a_header_is_ignored(modern: ModernClient) -> None:
    headers = {"mcp-protocol-version": f" {MODERN}\t", "mcp-method": " tools/call ", "mcp-name": "\toptional "}

    answer = modern.ask("tools/call", {"name": "optional", "arguments": {"text": "a"}}, headers=headers)

    assert answer.status == 200


# M15
@pytest.mark.parametrize(
    ("name", "value"),
    [(META_VERSION, 20260728), (META_VERSION, [MODERN]), (META_CAPABILITIES, []), (META_CAPABILITIES, "tasks")],
)
def test_modern_metadata_of_the_wrong_type_is_refused(modern: ModernClient, name: str, value: object) -> None:
    answer = modern.ask("tools/list", meta={name: value})

    assert (answer.status, answer.code) == (400, -32602)


# M17
def test_the_error_for_an_unknown_version_names_the_supported_ones(modern: ModernClient) -> None:
    spoken = modern.ask("server/discover").result["supportedVersions"]

    answer = modern.ask("tools/list", meta={META_VERSION: "2099-01-01"}, headers={"mcp-protocol-version": "2099-01-01"})

    assert (answer.status, answer.code) == (400, -32022)
    assert answer.error["data"] == {"supported": spoken, "requested": "2099-01-01"}


# M12, M13: a mismatch is reported first, even if the version is unknown too
def test_a_mismatch_is_reported_before_an_unknown_version(modern: ModernClient) -> None:
    answer = modern.ask("tools/list", meta={META_VERSION: "2099-01-01"})

    assert answer.code == -32020


# L12, G
@pytest.mark.parametrize("version", ["1999-01-01", "", "2025-11-25, 2025-11-25", "2024-11-05"])
def test_an_unknown_legacy_version_is_a_bad_request(legacy: LegacyClient, version: str) -> None:
    answer = legacy.ask("tools/list", headers={"mcp-protocol-version": version})

    assert (answer.status, answer.code) == (400, -32600)
    assert "2025-11-25" in answer.error["message"]


# M21, M26
def test_every_modern_result_has_a_result_type_and_names_the_server(modern: ModernClient) -> None:
    task_id = modern.start()

    results = [
        modern.ask("server/discover").result,
        modern.ask("tools/list").result,
        modern.call("forbidden", BAD_ARGUMENTS).result,
        modern.task("get", task_id).result,
        modern.task("update", task_id, inputResponses={}).result,
        modern.task("cancel", task_id).result,
    ]

    assert {result["resultType"] for result in results} == {"complete"}
    assert {result["_meta"][SERVER_INFO]["name"] for result in results} == {"stepwire"}


# L20
def test_no_legacy_result_has_a_result_type(legacy: LegacyClient) -> None:
    task_id = legacy.start()

    results = [
        legacy.initialize().result,
        legacy.ask("tools/list").result,
        legacy.call("forbidden").result,
        legacy.task("get", task_id).result,
        legacy.ask("tasks/list").result,
    ]

    assert not any("resultType" in result for result in results)
    assert not any(SERVER_INFO in result.get("_meta", {}) for result in results)


# M19
def test_the_error_names_the_missing_capability_as_clients_declare_it(world: World) -> None:
    client = ModernClient(world, capabilities={})

    answers = [client.call("required"), client.task("get", "0" * 36)]

    assert [(answer.status, answer.code) for answer in answers] == [(400, -32021)] * 2
    assert [answer.error["data"] for answer in answers] == [{"requiredCapabilities": TASKS_CAPABILITY}] * 2


# M12: unknown headers are ignored
def test_unknown_headers_are_ignored(modern: ModernClient) -> None:
    answer = modern.ask("server/discover", headers={"mcp-param-region": "x", "x-anything": "\x7f"})

    assert answer.status == 200


def test_a_legacy_request_may_leave_out_its_params(world: World) -> None:
    answer = RawSender(world).send(PING, {**PLAIN_HEADERS, "mcp-protocol-version": "2025-11-25"})

    assert answer.result == {}


# L9
@pytest.mark.parametrize(
    ("host", "scheme", "url"),
    [
        (
            "abc.execute-api.eu-central-1.amazonaws.com",
            "https",
            "https://abc.execute-api.eu-central-1.amazonaws.com/mcp",
        ),
        ("127.0.0.1:3000", "http", "http://127.0.0.1:3000/mcp"),
        ("<script>alert(1)</script>", "https", "URL"),
        ("mcp.example.com", "javascript", "URL"),
    ],
)
def test_a_browser_at_the_url_gets_a_page_that_says_how_to_connect(
    world: World, host: str, scheme: str, url: str
) -> None:
    browser = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8", "host": host, "x-forwarded-proto": scheme}

    response = world.server.handle(HttpRequest("GET", browser, b"", Caller(ALICE)))

    assert (response.status, response.headers["allow"]) == (405, "POST")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert f"claude mcp add --transport http stepwire {url}\n" in response.body
    assert ("/console/" in response.body) is (host == "127.0.0.1:3000"), "the local stack alone has a console"
    policy = response.headers["content-security-policy"]
    for tag in ("style", "script"):
        (inside,) = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", response.body, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy


# L9
def test_a_client_that_probes_with_get_gets_json(world: World) -> None:
    response = world.server.handle(HttpRequest("GET", {"accept": "text/event-stream"}, b"", Caller(ALICE)))

    assert (response.status, response.headers["content-type"]) == (405, "application/json")


MODERN_META: Json = {META_VERSION: MODERN, META_CAPABILITIES: {}}
CALL: Json = {
    **PING,
    "method": "tools/call",
    "params": {"name": "optional", "arguments": ARGUMENTS, "_meta": MODERN_META},
}
SPOKEN: dict[str, str] = {"mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "optional"}
REFUSED: list[tuple[str, dict[str, str], object, str]] = [
    ("POST", {"origin": "https://evil.example"}, PING, "Web pages of this origin may not call this server."),
    ("DELETE", {}, PING, "Only POST is served here. The server stores no sessions, so there is none to delete."),
    ("GET", {}, b"", "GET only resumes a response: send the Last-Event-ID of its stream."),
    ("GET", {"last-event-id": "x", "accept": "text/html"}, b"", "The Accept header must allow text/event-stream."),
    ("GET", {"last-event-id": "x"}, b"", "The Last-Event-ID was not issued by this server."),
    ("POST", {"content-type": "text/plain"}, PING, "The Content-Type must be application/json."),
    ("POST", {"content-encoding": "br"}, PING, "The body must not be encoded: leave the header Content-Encoding out."),
    ("POST", {"accept": "text/html"}, PING, "The Accept header must allow application/json."),
    ("POST", {}, [PING], "Batches are not supported: send one JSON-RPC message per POST."),
    ("POST", {}, "ping", "The body must be one JSON-RPC message, a JSON object."),
    ("POST", {}, {"method": "ping", "id": 1}, 'The message must have "jsonrpc": "2.0".'),
    ("POST", {}, {"jsonrpc": "2.0", "id": 1}, "The message must have a method, a string."),
    ("POST", {}, {**PING, "method": ""}, "The message must have a method, a string."),
    ("POST", {}, {**PING, "params": []}, "params must be an object."),
    (
        "POST",
        {},
        {"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}},
        "A response must have either a result, an object, or an error.",
    ),
    (
        "POST",
        SPOKEN,
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        "In this protocol version the server sends no requests, so it accepts no responses.",
    ),
    ("POST", {**SPOKEN, "mcp-method": "ping"}, CALL, "The header mcp-method differs from the body's method."),
    ("POST", {**SPOKEN, "mcp-name": "other"}, CALL, "The header mcp-name differs from params.name."),
    (
        "POST",
        {"mcp-protocol-version": MODERN, "mcp-name": "optional"},
        CALL,
        "The header mcp-method is missing; it must repeat the body's method.",
    ),
]


@pytest.mark.parametrize(("http_method", "headers", "body", "words"), REFUSED)
def test_a_refusal_before_any_method_says_what_would_be_right(
    world: World, http_method: str, headers: dict[str, str], body: object, words: str
) -> None:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()

    response = world.server.handle(HttpRequest(http_method, PLAIN_HEADERS | headers, octets, Caller(ALICE)))

    assert json.loads(response.body)["error"]["message"] == words
    assert nothing_happened(world)
