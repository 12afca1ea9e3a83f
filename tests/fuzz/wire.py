"""The parsers of wire formats, each alone: it returns a value of its type, or raises its documented error.

An input is {"parser": one of `LAWS`, "text": what it reads}. If there is a writer too, what it writes must be read back
unchanged.
"""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import cache
from typing import Any, Final, cast

from pydantic_core import from_json

from stepwire.errors import (
    HeaderMismatch,
    InvalidCursor,
    InvalidParams,
    InvalidRequest,
    InvalidRequestState,
    ParseError,
    ProtocolError,
    UnknownSession,
)
from stepwire.json_text import JsonObject, JsonTextError, as_object, load_json, parse, write
from stepwire.principal import Caller
from stepwire.protocol.http import (
    METHOD,
    NAME,
    HttpRequest,
    ParameterHeader,
    RoutedName,
    ServerSentEvent,
    body_of,
    check_annotations,
    check_parameter_headers,
    headers_of,
    parameter_headers,
)
from stepwire.protocol.inbound import (
    META_KEY,
    Inbound,
    Received,
    Served,
    admit,
    check_routing_headers,
    identify,
    message_of,
    parse_body,
    receive,
)
from stepwire.protocol.messages import LEGACY_WITH_TASKS, Request, Response, is_id, request_text
from stepwire.protocol.sessions import RANDOM_BYTES, Session, session_id_of, session_of
from stepwire.protocol.tokens import (
    LONGEST,
    Continuation,
    Kind,
    Subject,
    continuation_of,
    next_cursor,
    payload_of,
    position_of,
    sign,
    state_of,
    unwrap,
    wrap,
)
from stepwire.server.call import Call, optional_milliseconds_in
from stepwire.server.eras import ROUTED, methods_with
from stepwire.tasks.answers import InputResponse
from stepwire.tasks.ids import (
    TaskKey,
    created_at_of,
    execution_name_of,
    new_task_id,
    task_id_of,
    task_key_from_execution,
)
from stepwire.tasks.inputs import Elicitation, InvalidQuestion, InvalidResponse, elicitation_of, params_of, response_of
from stepwire.tracing import trace_of
from tests.fakes import START_OF_TIME
from tests.fuzz.bounds import bounded
from tests.fuzz.mcp_requests import OWNER, ROUTED_SCHEMA
from tests.fuzz.mcp_requests import seeds as requests
from tests.kits import ALLOWED_ORIGIN, FORM, PARTS, SECRET, URL, World
from tests.server.anything import ACCEPT, SESSION_ID, STREAM, TASK_ID
from tests.server.clients import header_value
from tests.wire_oracle import LEGACY, read_stream

Law = Callable[[str], None]
SUBJECT: Final = Subject(OWNER, "optional", {"text": "hello"})
_TRACE: Final = re.compile(r"Root=1-[0-9a-f]{8}-[0-9a-f]{24};Parent=[0-9a-f]{16};Sampled=[01]")


def check(data: bytes) -> bool:
    """Check one parser; if the input names none, the length of the text selects one."""
    try:
        given: Any = json.loads(data)
    except (ValueError, RecursionError):
        given = data.decode(errors="surrogateescape")
    text = as_object(given).get("text", given)
    text = text if isinstance(text, str) else json.dumps(text)
    chosen = as_object(given).get("parser")
    law = LAWS[chosen if isinstance(chosen, str) and chosen in LAWS else list(LAWS)[len(text) % len(LAWS)]]
    with bounded():
        law(text)
    return True


def _octets(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _json(text: str) -> None:
    with suppress(JsonTextError):
        value = parse(_octets(text))
        assert from_json(_octets(text)) == value, "parsers must not read it differently"
        assert parse(write(value)) == value
        assert load_json(write(value)) == value


def _message(text: str) -> None:
    try:
        body = parse_body(_octets(text))
        message = message_of(body)
    except (ParseError, InvalidRequest):
        return
    assert not isinstance(message, Request | Response) or message.id == body.message_id
    if isinstance(message, Request) and message.inexact is None:
        again = request_text(message.id, message.method, message.params)
        assert message_of(parse_body(again.encode())) == message


def _inbound(text: str) -> None:
    """Read {"headers": ..., "body": ...}."""
    value = _read(text)
    headers, body = as_object(value.get("headers")), value.get("body")
    if not isinstance(body, str) or not all(isinstance(one, str) for one in headers.values()):
        return
    with suppress(ProtocolError):
        received = receive(HttpRequest("POST", headers, _octets(body), Caller(OWNER)), {ALLOWED_ORIGIN})
        assert isinstance(identify(received, _served()), Inbound)


def _name_header(text: str) -> None:
    """M14: a header can carry any name; any header is refused or decoded to its exact name."""
    request = Request(1, "tools/call", {"name": text})
    with suppress(HeaderMismatch):
        check_routing_headers(headers_of({METHOD: "tools/call", NAME: text}), request, RoutedName("name"))
    if _is_whole(text):
        check_routing_headers(headers_of({METHOD: "tools/call", NAME: header_value(text)}), request, RoutedName("name"))


def _parameter_headers(text: str) -> None:
    """M39: a header that repeats the parameter is accepted, and any other header is refused."""
    value = _value(text)
    with suppress(HeaderMismatch):
        check_parameter_headers(headers_of({"mcp-param-text": text}), _routed(), {"text": value})
    if isinstance(value, str) and _is_whole(value):
        check_parameter_headers(headers_of({"mcp-param-text": header_value(value)}), _routed(), {"text": value})
    with suppress(ValueError):
        schema = _read(text)
        check_annotations(schema)
        assert all(one.name.isascii() for one in parameter_headers(schema))


def _idempotency_key(text: str) -> None:
    for headers, meta in (({"idempotency-key": text}, {}), ({}, {META_KEY: text}), ({}, {META_KEY: _value(text)})):
        with suppress(InvalidParams):
            request = Request(1, "tools/call", {"_meta": meta})
            received = Received(HttpRequest("POST", headers, b"", Caller(OWNER)), headers_of(headers), None)
            key = admit(Inbound(received, request, LEGACY_WITH_TASKS, meta), request, _served())
            assert key is None or (0 < len(key) < 256 and key.isascii())


def _session(text: str) -> None:
    with suppress(UnknownSession):
        session = session_of(text)
        assert isinstance(session, Session)
        assert session.digest_of("an id"), "a request of a session must have a name"


def _initialize(text: str) -> None:
    """Whatever a client declares fits into a session id, which contains no capability that it did not declare."""
    params = _read(text)
    token = session_id_of(LEGACY, params, bytes(RANDOM_BYTES))
    assert len(token) <= LONGEST
    session = session_of(token)
    assert session.version == LEGACY
    assert session.capabilities.keys() <= as_object(params.get("capabilities")).keys()


def _event_id(text: str) -> None:
    with suppress(InvalidRequest):
        position = position_of(text)
        assert is_id(position.message_id)
        again = position.event_id()
        assert len(again) > LONGEST or position_of(again) == position
        assert re.fullmatch("[!-~]+", again), "the text must be a valid event id"


def _opaque(text: str) -> None:
    value = unwrap(text)
    again = wrap(value)
    assert len(again) > LONGEST or unwrap(again) == value


def _cursor(text: str) -> None:
    services, methods = _services(), methods_with(PARTS)[LEGACY_WITH_TASKS]
    call = Call(Caller(OWNER), {"cursor": text}, START_OF_TIME, version=LEGACY_WITH_TASKS)
    with suppress(InvalidCursor):
        assert methods["tasks/list"](services, call) == {"tasks": []}
    with suppress(InvalidCursor):
        page = cast(JsonObject, methods["tools/list"](services, call))
        assert all(isinstance(tool["inputSchema"], dict) for tool in page["tools"])


def _request_state(text: str) -> None:
    """Read a requestState as a client sends it, and its payload as if it had a valid signature."""
    if not _is_whole(text):  # it comes out of JSON, which is valid Unicode
        return
    with suppress(InvalidRequestState):
        continuation_of(text, SUBJECT, START_OF_TIME, SECRET)
        assert sign(payload_of(text, SECRET), SECRET) == text, "only a signed requestState may be accepted"
    payload = _read(text.partition(".")[0]) or as_object(unwrap(text.partition(".")[0]))
    if not _can_be_written(payload):
        return
    signed = sign(payload, SECRET)
    with suppress(InvalidRequestState):
        assert payload_of(signed, SECRET) == payload
        assert isinstance(continuation_of(signed, SUBJECT, START_OF_TIME, SECRET), Continuation)


def _milliseconds(text: str) -> None:
    """Read a ttl, which must be a whole number of milliseconds."""
    with suppress(InvalidParams):
        value = optional_milliseconds_in({"ttl": _value(text)}, "ttl", "task.ttl")
        assert value is None or value > 0


def _trace(text: str) -> None:
    trace = trace_of({"traceparent": text, "tracestate": text})
    assert trace is None or (_TRACE.fullmatch(trace.x_ray_header) and trace_of(trace.context) == trace)


def _events(text: str) -> None:
    """Any JSON, with any characters, survives a body of events."""
    if _is_whole(text):
        message = {"jsonrpc": "2.0", "method": "x", "params": {"text": text, "value": _read(text)}}
        body = body_of([ServerSentEvent(id="a"), ServerSentEvent(write(message), "b")], 500)
        assert read_stream(body).messages == [message]


def _ids(text: str) -> None:
    task_id, key = task_id_of(text), task_key_from_execution(text)
    if task_id is not None:
        assert new_task_id(created_at_of(task_id), bytes(16))[:10] == task_id[:10]
        assert task_key_from_execution(execution_name_of(TaskKey(OWNER, task_id), "sw-")) == TaskKey(OWNER, task_id)
    prefix = text[: text.find("-") + 1] if text.count("-") == 2 else ""
    assert key is None or execution_name_of(key, prefix) == text


def _elicitation(text: str) -> None:
    """A valid question is asked unchanged; an answer is valid, or the error says what would be."""
    value = _value(text)
    with suppress(InvalidQuestion):
        elicitation = elicitation_of(value)
        assert elicitation_of(params_of(elicitation)) == elicitation
        _answer_to(elicitation, value)
        _answer_to(elicitation, {"action": "accept", "content": value})


def _answer(text: str) -> None:
    for elicitation in (FORM, URL):
        _answer_to(elicitation_of(elicitation), _value(text))


def _answer_to(elicitation: Elicitation, value: Any) -> None:
    with suppress(InvalidResponse):
        response = response_of(elicitation, value)
        assert isinstance(response, InputResponse)
        assert parse(write(response.shown()))


def _read(text: str) -> dict[str, Any]:
    """Parse an object as the code before a reader does; empty if there is none."""
    return as_object(_value(text))


def _value(text: str) -> Any:
    try:
        return parse(_octets(text))
    except JsonTextError:
        return text


def _is_whole(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _can_be_written(payload: dict[str, Any]) -> bool:
    return bool(payload) and len(write(payload)) < 3_000


@cache
def _routed() -> tuple[ParameterHeader, ...]:
    schema = {"type": "object", "properties": {"text": {"type": "string", "x-mcp-header": "Text"}}}
    return parameter_headers(schema)


@cache
@cache
def _served() -> Served:
    return Served(methods_with(PARTS), ROUTED)


def _services() -> Any:
    return World().services


LAWS: Final[Mapping[str, Law]] = {
    "json": _json,
    "message": _message,
    "inbound": _inbound,
    "name header": _name_header,
    "parameter headers": _parameter_headers,
    "idempotency key": _idempotency_key,
    "session": _session,
    "initialize": _initialize,
    "event id": _event_id,
    "opaque": _opaque,
    "cursor": _cursor,
    "request state": _request_state,
    "milliseconds": _milliseconds,
    "trace": _trace,
    "events": _events,
    "ids": _ids,
    "elicitation": _elicitation,
    "answer": _answer,
}


def seeds() -> list[bytes]:
    """Return valid texts for each parser, and the messages of the requests to function mcp."""
    events = [json.loads(one) for one in requests()]
    plain = [event for event in events if event.get("body") and not event["isBase64Encoded"]]
    bodies = [(name, event["body"]) for event in plain[::5] for name in ("json", "message")]
    inbound = [("inbound", json.dumps({"headers": event["headers"], "body": event["body"]})) for event in plain[::3]]
    return [json.dumps({"parser": name, "text": text}).encode() for name, text in (*bodies, *inbound, *_right_texts())]


def _right_texts() -> list[tuple[str, str]]:
    until = START_OF_TIME + timedelta(minutes=1)
    state = state_of(Continuation(Kind.FOLLOW, TASK_ID, 1, 10), SUBJECT, until, SECRET)
    client: JsonObject = {"capabilities": {"elicitation": {"form": {}, "url": {}}}, "clientInfo": {"name": "a test"}}
    return [
        ("json", '{"a": [1, 1.5, "\\u00e4", "ä", true, null, -0.0, 1e5, 9007199254740991]}'),
        ("name header", "optional"),
        ("name header", "=?base64?b3B0aW9uYWw=?="),
        ("parameter headers", "grüße"),
        ("parameter headers", "-7.0"),
        ("parameter headers", ROUTED_SCHEMA),
        ("idempotency key", "a-key-of-a-client"),
        ("session", SESSION_ID),
        ("initialize", json.dumps(client)),
        ("event id", STREAM.last_event_id),
        ("opaque", SESSION_ID),
        ("cursor", next_cursor("optional")["nextCursor"]),
        ("cursor", next_cursor(TASK_ID)["nextCursor"]),
        ("request state", state),
        ("request state", json.dumps(payload_of(state, SECRET))),
        ("milliseconds", "60000"),
        ("milliseconds", "0.5"),
        ("trace", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("events", '{"text": "a\\u2028b"}'),
        ("ids", TASK_ID),
        ("ids", f"{OWNER}-{TASK_ID}"),
        ("elicitation", json.dumps(FORM)),
        ("elicitation", json.dumps(URL)),
        ("answer", json.dumps(ACCEPT)),
    ]
