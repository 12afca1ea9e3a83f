"""Requests as API Gateway sends them to function mcp, in a world with active tasks.

An input is the JSON text of an event. For any input, the answer must be well formed by the rules of its era, be no
internal error, and contain nothing of another caller.
"""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, Final

from msgspec.structs import replace

from stepwire.aws.gateway import SignIn
from stepwire.aws.mcp_function import McpHandler
from stepwire.json_text import as_object, write
from stepwire.protocol.http import HttpResponse
from stepwire.protocol.tokens import next_cursor
from stepwire.server.mcp_server import McpServer
from stepwire.server.services import Patience
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.outcomes import PROTOCOL_ERROR_NAME
from tests.fuzz.bounds import bounded, check_length
from tests.fuzz.strict import StrictStore, StrictWorkflows, copied
from tests.kits import BOB, FORM, OPTIONAL, OUTPUT, TOOLS, World, catalog_of
from tests.recorded import FOLDER, recorded
from tests.server.answers import Answer, Json, judge
from tests.server.anything import (
    ACCEPT,
    CLIENT_TASK,
    EVERYTHING,
    IN_SESSION,
    RIGHT,
    SESSION_ID,
    STREAM,
    TASK_ID,
    Sent,
    ask_everything,
    valid_requests,
    version_of,
)
from tests.server.clients import (
    ASKING_CAPABILITY,
    PLAIN_HEADERS,
    STREAM_HEADERS,
    TASKS_CAPABILITY,
    LegacyClient,
    ModernClient,
    header_value,
)

SIGN_IN: Final = SignIn("a stack")
OWNER: Final = SIGN_IN.caller_of(recorded("http_post_jwt")).principal
"""The caller, unless an input names another."""
FOREIGN: Final = "kept-from-everybody-else"
"""A text in all data of the other caller, and in no seed."""
TRACEBACK: Final = "Traceback (most recent call last)"
ROUTED_SCHEMA: Final = write(
    {
        "type": "object",
        "properties": {
            "text": {"type": "string", "x-mcp-header": "Text"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "more": {"type": "object", "properties": {"count": {"type": "boolean", "x-mcp-header": "More"}}},
        },
    }
)
SAMPLE: Final = replace(
    OPTIONAL, name="wait_and_echo", input_schema='{"type": "object", "properties": {"message": {"type": "string"}}}'
)
"""The tool that the recorded requests call."""
ROUTED: Final = replace(OPTIONAL, name="routed", input_schema=ROUTED_SCHEMA)
"""A tool with parameters that clients repeat in headers."""
SCOPED: Final = replace(OPTIONAL, name="scoped", scopes=("reports",))
BOTH: Final = {**TASKS_CAPABILITY, **EVERYTHING}


class FunctionMcp(McpHandler):
    """Function mcp over the fakes."""

    def __init__(self, server: McpServer) -> None:
        # What the function builds at its first request.
        vars(self).update(_server=server, _settings=SimpleNamespace(sign_in=SIGN_IN))


@dataclass(frozen=True)
class _Scene:
    """The world of each input, and what its sender got earlier."""

    world: World
    confirming: str
    """The requestState of a call that waits for its confirmation."""
    following: str
    """The requestState of a running call."""


@cache
def _scene() -> _Scene:
    """Return a world with tasks of one caller in every status, and hidden tasks of another."""
    world = World(
        patience=Patience(unresumable_request=timedelta(), first_request=timedelta()),
        catalog=catalog_of(*TOOLS, SAMPLE, SCOPED, ROUTED),
        store=StrictStore(),
        workflows=StrictWorkflows(),
    )
    client, plain = ModernClient(world, OWNER, BOTH), ModernClient(world, OWNER, ASKING_CAPABILITY)
    assert client.start() == TASK_ID
    world.progress(TASK_ID, 10)
    ask_everything(world)
    LegacyClient(world, owner=OWNER, session=SESSION_ID).respond({"id": f"{TASK_ID}.2"}, result={"task": CLIENT_TASK})
    world.succeed(client.start("structured"), OUTPUT)
    world.fail(client.start(), PROTOCOL_ERROR_NAME, '{"code": 1001, "message": "Not on a Sunday.", "data": {"day": 7}}')
    world.fail(client.start())
    client.task("cancel", client.start())
    LegacyClient.opened(world, owner=OWNER, capabilities=ASKING_CAPABILITY).start("confirmed")
    confirming, following = (plain.call(tool).result["requestState"] for tool in ("confirmed", "optional"))
    other = ModernClient(world, BOB, BOTH).call("optional", {"text": FOREIGN}).id_in()
    world.progress(other, 10, message=FOREIGN)
    world.ask(other, elicitation={**FORM, "message": FOREIGN})
    world.clock.advance(seconds=1)
    assert world.faults == world.troubles == []
    return _Scene(world, confirming, following)


def fresh() -> World:
    """Return the world of each input."""
    return copied(_scene().world)


def task_ids() -> list[str]:
    """Return the ids of all tasks."""
    return [key.task_id for key in _scene().world.store.tasks]


def check(data: bytes) -> bool:
    """Send an input to the function, and check the answer."""
    event = _event_of(data)
    world = fresh()
    with bounded():
        response = FunctionMcp(world.server)(event, None)
    check_answer(event, response, world, len(data))
    return True


def check_answer(event: Json, response: Json, world: World, asked: int) -> None:
    """Raise AssertionError unless a response is correct, and the world is unchanged for others."""
    for fault in (*world.faults, *world.troubles):
        raise AssertionError("the answer must not be an internal error") from fault
    written = json.dumps(response, ensure_ascii=False).encode().decode()  # as Lambda's runtime writes it
    assert FOREIGN not in written, "the answer must contain nothing of another caller"
    assert TRACEBACK not in written or TRACEBACK in json.dumps(event), "the answer must contain no traceback"
    check_length(written, asked)
    assert all(_can_be_sent(value) for value in response["headers"].values()), response["headers"]
    _check_others(world)
    answer = Answer(HttpResponse(response["statusCode"], response["body"], response["headers"]))
    headers = {name.lower(): value for name, value in as_object(event["headers"]).items()}
    if event["requestContext"]["http"]["method"] == "POST":
        _check_post(_body(event), headers, answer)
    else:
        _check_get(headers, answer, world)


def _check_post(octets: bytes, headers: Json, answer: Answer) -> None:
    try:
        message = as_object(json.loads(octets))
    except (ValueError, RecursionError):
        message = dict[str, Any]()
    judge(octets, answer, version_of(message, headers))
    if answer.status == 202:
        assert not message.keys() >= {"id", "method"}, "a request must get an answer"
    elif not answer.is_stream:
        assert answer.body.get("error", {}).get("code") != -32603 or answer.status == 401, (
            "the answer must not be an internal error"
        )


def _check_get(headers: Json, answer: Answer, world: World) -> None:
    if not answer.is_stream:
        assert answer.status >= 400, "a GET must be answered with a stream"
        judge(b"", answer, version_of({}, headers))
        return
    judge(json.dumps(_opened_by(headers["last-event-id"].strip(" \t"), world)).encode(), answer, "2025-11-25")


def _opened_by(event_id: str, world: World) -> Json:
    """Return the request that opened the stream of an event's id."""
    _, message_id, task_id, is_call, *_ = json.loads(base64.urlsafe_b64decode(event_id + "=" * (-len(event_id) % 4)))
    task = world.store.tasks.get(TaskKey(OWNER, TaskId(task_id)))
    token = task.origin.progress_token if task else None
    method = "tools/call" if is_call else "tasks/result"
    params = {"name": "optional", "taskId": task_id, "_meta": {"progressToken": token}}
    return {"jsonrpc": "2.0", "id": message_id, "method": method, "params": params}


def _check_others(world: World) -> None:
    before = _scene().world.store.tasks
    assert all(world.store.tasks.get(key) == task for key, task in before.items() if key.owner == BOB), (
        "tasks of another caller must not change"
    )


def _can_be_sent(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _event_of(data: bytes) -> Json:
    """Read the input as an event, and correct parts of a wrong type; text that is not JSON becomes a body."""
    try:
        event = as_object(json.loads(data))
    except (ValueError, RecursionError):
        event = {**_gateway_event("POST", PLAIN_HEADERS), "body": data.decode(errors="surrogateescape")}
    context, body = as_object(event.get("requestContext")), event.get("body")
    method = as_object(context.get("http")).get("method")
    headers = {name: value for name, value in as_object(event.get("headers")).items() if isinstance(value, str)}
    return {
        "headers": headers or None,
        "requestContext": {**context, "http": {"method": method if isinstance(method, str) else "POST"}},
        "body": body if body is None or isinstance(body, str) else json.dumps(body),
        "isBase64Encoded": event.get("isBase64Encoded") is True,
    }


def _body(event: Json) -> bytes:
    octets = (event.get("body") or "").encode(errors="surrogatepass")
    try:
        return base64.b64decode(octets, validate=True) if event.get("isBase64Encoded") else octets
    except binascii.Error:
        return octets


def seeds() -> list[bytes]:
    """Return the recorded requests, with and without sign-in, and a valid request for each method and tool."""
    samples = [recorded(path.stem) for path in sorted(FOLDER.glob("http_*.json"))]
    authorizer = recorded("http_post_jwt")["requestContext"]["authorizer"]
    signed_in = [{**one, "requestContext": {**one["requestContext"], "authorizer": authorizer}} for one in samples]
    return [json.dumps(event).encode() for event in (*samples, *signed_in, *_right_events())]


def _right_events() -> Iterator[Json]:
    for number, sent in enumerate((*valid_requests(), *_of_modern_clients(), *_of_legacy_clients())):
        body = json.dumps(sent.message)
        is_encoded = number % 4 == 3
        yield {
            **_gateway_event("POST", sent.headers),
            "body": base64.b64encode(body.encode()).decode() if is_encoded else body,
            "isBase64Encoded": is_encoded,
        }
    yield _gateway_event("GET", {**IN_SESSION, **STREAM_HEADERS, "last-event-id": STREAM.last_event_id})
    yield _gateway_event("DELETE", IN_SESSION)


def _of_modern_clients() -> Iterator[Sent]:
    client = ModernClient(fresh(), OWNER, BOTH)
    arguments = {"name": "confirmed", "arguments": {"text": "hello"}}
    confirmed = {"confirm": {"action": "accept", "content": {"reason": "It is old."}}}
    meta = {"progressToken": "t", "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
    asked: list[tuple[str, Json]] = [
        ("tools/call", {**arguments, "requestState": _scene().confirming, "inputResponses": confirmed}),
        ("tools/call", {**arguments, "name": "optional", "requestState": _scene().following}),
        ("tools/list", {"cursor": next_cursor("optional")["nextCursor"]}),
        *(("tasks/get", {"taskId": task_id}) for task_id in task_ids()),
        *(("tasks/update", {"taskId": TASK_ID, "inputResponses": {key: right}}) for key, right in RIGHT.items()),
    ]
    for method, params in asked:
        headers = {**client.headers(method, params), "idempotency-key": "a-key"}
        yield Sent(client.message(method, params, meta=meta), headers)
    routed: Json = {"name": "routed", "arguments": {"text": "grüße", "count": -7, "more": {"count": True}}}
    repeated = {"mcp-param-text": header_value("grüße"), "mcp-param-count": "-7", "mcp-param-more": "true"}
    yield Sent(client.message("tools/call", routed), {**client.headers("tools/call", routed), **repeated})


def _of_legacy_clients() -> Iterator[Sent]:
    asked: list[tuple[str, Json]] = [
        ("tools/list", {"cursor": next_cursor("optional")["nextCursor"]}),
        ("tasks/list", {"cursor": next_cursor(TASK_ID)["nextCursor"]}),
        *(("tasks/result", {"taskId": task_id}) for task_id in task_ids()),
    ]
    told: list[tuple[str, Json]] = [("notifications/initialized", {}), ("notifications/cancelled", {"requestId": 1})]
    for method, params in asked:
        yield Sent({"jsonrpc": "2.0", "id": "a", "method": method, "params": params}, IN_SESSION)
    for method, params in told:
        yield Sent({"jsonrpc": "2.0", "method": method, "params": params}, IN_SESSION)
    for task_id in task_ids():
        yield Sent({"jsonrpc": "2.0", "id": f"{task_id}.1", "result": ACCEPT}, IN_SESSION)


def _gateway_event(method: str, headers: dict[str, Any]) -> Json:
    # Without members that nothing reads, so that more changes hit members that matter.
    authorizer = recorded("http_post_jwt")["requestContext"]["authorizer"]
    context = {"http": {"method": method}, "authorizer": authorizer}
    return {"headers": headers, "requestContext": context, "body": None, "isBase64Encoded": False}
