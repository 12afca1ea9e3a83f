"""The judge of our responses: is this JSON-RPC response right for that request, in that protocol version?

It knows nothing of the package under test. What the specification's published types say comes from `mcp_types`; what
they leave open or leave out (the tasks of both eras, the fields of a form) comes from `tests/schemas`. It is closed: a
member that the version does not define is an error, so a name of the other era never slips through.

    check({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, response, "2026-07-28")

A response can also be a body of server-sent events, and a legacy one goes on in the next body:

    messages = check_stream(request, body, "2026-07-28")
    stream = StreamJudge(request)
    messages = stream.check(first_body) + stream.check(second_body)
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeGuard

import mcp_types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from mcp_types import jsonrpc
from mcp_types.methods import SERVER_NOTIFICATIONS, SERVER_REQUESTS, SERVER_RESULTS, serialize_server_result
from pydantic import BaseModel, ValidationError

Json = Mapping[str, Any]

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
# Versions that are answered in the legacy way and know no tasks.
LEGACY_WITHOUT_TASKS: Final = frozenset({"2025-03-26", "2025-06-18"})
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"

_JSON_RPC_CODES: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
_RESERVED_CODES: Final = range(-32768, -31999)
# Longer, and clients that wait as long as there is progress give up.
_LONGEST_RETRY: Final = 20_000  # ms
_SCHEMAS: Final = Path(__file__).parent / "schemas"
_TASKS: Final[Mapping[str, str]] = MappingProxyType({version: f"tasks.{version}" for version in (LEGACY, MODERN)})
_ELICITATION: Final = "elicitation"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and the result that it got."""

    request: Json
    result: Json
    version: str

    @property
    def method(self) -> str:
        """Name the requested method."""
        return self.request["method"]

    @property
    def params(self) -> Json:
        """Give the request's params, empty where it has none."""
        return self.request.get("params") or {}


def check(request: Json, response: Json, version: str) -> None:
    """Raise AssertionError unless `response` is a right answer to `request` in protocol `version`.

    A request that is wrong in itself may be given too: its answer must be an error, with its id where that can be read.
    """
    assert version in {MODERN, LEGACY, *LEGACY_WITHOUT_TASKS}, f"unknown version {version!r}"
    with _complaining(request, json.dumps(response, indent=2), version):
        _check_response(request, response, version)


def check_stream(request: Json, body: str, version: str) -> list[dict[str, Any]]:
    """Raise AssertionError unless `body` is a right body of events to `request`, and give its messages.

    Args:
        request: the JSON-RPC request that opened the stream, also where the body answers a GET that resumes it.
    """
    with _complaining(request, body, version):
        stream = read_stream(body)
        judge = _STREAMS.get((version, request["method"]))
        assert judge, f"{request['method']} is not answered with events in {version}"
        judge(request, stream)
        _check_order(stream.events)
    return stream.messages


@dataclass
class StreamJudge:
    """Judges a legacy stream of many bodies, to a POST and then to each GET, also across them."""

    request: Json
    version: str = LEGACY
    events: list["Event"] = field(default_factory=list["Event"])

    def check(self, body: str) -> list[dict[str, Any]]:
        """Raise AssertionError unless `body` is right, and right as the next one; give its messages."""
        messages = check_stream(self.request, body, self.version)
        self.events.extend(read_stream(body).events)
        with _complaining(self.request, body, self.version):
            _check_order(self.events)
        return messages

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Give the messages of all bodies."""
        return [event.message for event in self.events if event.message is not None]

    @property
    def response(self) -> dict[str, Any] | None:
        """Give the response that ended the stream, if it has come."""
        return next((message for message in self.messages if "method" not in message), None)


def check_tool_result(result: Json, version: str) -> None:
    """Raise AssertionError unless `result` is a right CallToolResult, wherever it was found."""
    _check_core(Exchange({"method": "tools/call"}, result, version))


@contextmanager
def _complaining(request: Json, answered: str, version: str) -> Generator[None]:
    """Show both sides with whatever is wrong between them."""
    try:
        yield
    except (AssertionError, SchemaError, ValidationError) as error:
        asked = json.dumps(request, indent=2)
        raise AssertionError(f"{error}\n--- asked ({version})\n{asked}\n--- answered\n{answered}") from None


# ------------------------------------------------------------------------------------------------ envelope and errors


def _check_response(request: Json, response: Json, version: str) -> None:
    _check_envelope(request, response)
    if "error" in response:
        _check_error(response, version)
    else:
        _check_result(Exchange(request, response["result"], version))


def _check_envelope(request: Json, response: Json) -> None:
    assert response.get("jsonrpc") == "2.0", "jsonrpc must be '2.0'"
    outcomes = response.keys() & {"result", "error"}
    assert len(outcomes) == 1, "exactly one of result and error must be there"  # M25
    _only(response, {"jsonrpc", "id", *outcomes}, "the response")
    _check_id(request, response)
    assert isinstance(response.get("result", {}), dict), "result must be an object"


def _check_id(request: Json, response: Json) -> None:
    """M20, M25: the request's own id, of the same type; none, and then an error, where it could not be read."""
    wanted, got = request.get("id"), response.get("id")
    if got is None and _is_response(request):
        return  # L6: what a response gets that is not accepted is an error, and need not name it
    if isinstance(wanted, str) or (isinstance(wanted, int) and not isinstance(wanted, bool)):
        assert (type(got), got) == (type(wanted), wanted), f"id must be {wanted!r}, not {got!r}"
        return
    assert got is None, f"the request has no id that could be answered, yet the response has {got!r}"
    assert "error" in response, "a request without an id gets no result"


def _is_response(message: Json) -> bool:
    return "method" not in message and bool(message.keys() & {"result", "error"})


def _check_error(response: Json, version: str) -> None:
    error = response["error"]
    mcp_types.ErrorData.model_validate(error, strict=True)
    _only(error, {"code", "message", "data"}, "error")
    assert error["message"], "error.message must say something"
    code = error["code"]
    if version == MODERN and code in _MODERN_ERROR_DATA:
        _MODERN_ERROR_DATA[code](error.get("data"))
        return
    # M27: nothing of ours in the reserved range, and no retired code.
    assert code in _JSON_RPC_CODES or code not in _RESERVED_CODES, f"error code {code} is not {version}'s to use"


def _check_mismatch_data(_data: Any) -> None:
    """-32020: any data, or none."""


def _check_missing_capability_data(data: Any) -> None:
    """M19, X3."""
    assert _is_object(data), "error -32021 must carry data.requiredCapabilities"
    required = data.get("requiredCapabilities")
    assert required, "data.requiredCapabilities must name what is missing"
    mcp_types.ClientCapabilities.model_validate(required)


def _check_unsupported_version_data(data: Any) -> None:
    """M17."""
    assert _is_object(data), "error -32022 must carry data.supported and data.requested"
    assert data.keys() == {"supported", "requested"}, "error -32022's data must be supported and requested"
    assert MODERN in data["supported"], f"data.supported must hold {MODERN}"


_MODERN_ERROR_DATA: Final[Mapping[int, Callable[[Any], None]]] = MappingProxyType(
    {
        jsonrpc.HEADER_MISMATCH: _check_mismatch_data,
        jsonrpc.MISSING_REQUIRED_CLIENT_CAPABILITY: _check_missing_capability_data,
        jsonrpc.UNSUPPORTED_PROTOCOL_VERSION: _check_unsupported_version_data,
    }
)


# ----------------------------------------------------------------------------------------------------------- results


def _check_result(exchange: Exchange) -> None:
    checks = _MODERN_RESULTS if exchange.version == MODERN else _LEGACY_RESULTS
    judge = checks.get(exchange.method)
    assert judge, f"{exchange.method} has no result in {exchange.version}, only an error"
    if exchange.version == MODERN:
        assert SERVER_INFO in (exchange.result.get("_meta") or {}), f"_meta must hold {SERVER_INFO}"  # M21
    judge(exchange)


def _check_core(exchange: Exchange) -> None:
    """Hold the result against the published types, and refuse what they do not define.

    The models ignore unknown members and convert loosely: what counts is that reading and writing changes nothing.
    """
    surface = SERVER_RESULTS
    if exchange.version == MODERN:
        surface = _surface_of(exchange)
    known = serialize_server_result(exchange.method, exchange.version, exchange.result, surface=surface)
    _same(exchange.result, known, "result")


def _surface_of(exchange: Exchange) -> Mapping[tuple[str, str], Any]:
    """Choose the one result type that resultType names: a union of them would take a wrong result for another."""
    key = (exchange.method, MODERN)
    types: tuple[Any, ...] = getattr(SERVER_RESULTS[key], "__args__", (SERVER_RESULTS[key],))
    by_result_type = {"input_required" if t.__name__ == "InputRequiredResult" else "complete": t for t in types}
    found = exchange.result.get("resultType")
    assert found in by_result_type, f"resultType must be one of {sorted(by_result_type)}, not {found!r}"  # M26
    return {key: by_result_type[found]}


def _check_empty(exchange: Exchange) -> None:
    """L14: `{}`, with room for `_meta`."""
    _only(exchange.result, {"_meta"}, "result")


def _check_initialize(exchange: Exchange) -> None:
    _check_core(exchange)
    assert exchange.result["protocolVersion"] == exchange.version, "protocolVersion must be the one spoken from here on"
    tasks = exchange.result["capabilities"].get("tasks")
    if exchange.version in LEGACY_WITHOUT_TASKS:
        assert tasks is None, f"{exchange.version} knows no capabilities.tasks"
    assert "extensions" not in exchange.result["capabilities"], "extensions are of the modern era"


def _check_discover(exchange: Exchange) -> None:
    _check_core(exchange)
    capabilities = exchange.result["capabilities"]
    assert "tasks" not in capabilities, "capabilities.tasks is of the legacy era"  # A4
    assert capabilities.get("extensions", {}).get(TASKS_EXTENSION, {}) == {}, "the extension has no settings"  # X1
    assert MODERN in exchange.result["supportedVersions"], f"supportedVersions must hold {MODERN}"


def _check_tool_list(exchange: Exchange) -> None:
    _check_core(exchange)
    for tool in exchange.result["tools"]:
        Draft202012Validator.check_schema(tool["inputSchema"])
        Draft202012Validator.check_schema(tool.get("outputSchema", {}))
        if exchange.version in LEGACY_WITHOUT_TASKS:
            assert "execution" not in tool, f"{exchange.version} knows no execution.taskSupport"


# ------------------------------------------------------------------------------------------------------ legacy tasks


def _check_legacy_tool_call(exchange: Exchange) -> None:
    asked_for_task = exchange.params.get("task") is not None and exchange.version not in LEGACY_WITHOUT_TASKS
    if not asked_for_task:
        _check_core(exchange)
        return
    _check_shape(exchange.result, _TASKS[LEGACY], "CreateTaskResult")  # T7
    mcp_types.CreateTaskResult.model_validate(exchange.result)
    _check_times(exchange.result["task"])


def _legacy_task(shape: str, model: type[BaseModel]) -> Callable[[Exchange], None]:
    def check_task(exchange: Exchange) -> None:
        _knows_tasks(exchange)
        _check_shape(exchange.result, _TASKS[LEGACY], shape)
        model.model_validate(exchange.result)
        _same_task(exchange, exchange.result["taskId"])
        _check_times(exchange.result)

    return check_task


def _check_legacy_task_list(exchange: Exchange) -> None:
    _knows_tasks(exchange)
    _check_shape(exchange.result, _TASKS[LEGACY], "ListTasksResult")
    mcp_types.ListTasksResult.model_validate(exchange.result)
    ids = [task["taskId"] for task in exchange.result["tasks"]]
    assert len(set(ids)) == len(ids), "a task is listed twice"
    for task in exchange.result["tasks"]:
        _check_times(task)


def _check_legacy_task_result(exchange: Exchange) -> None:
    """T14, T16: the very result of the tools/call, and the name of its task."""
    _knows_tasks(exchange)
    _check_shape(exchange.result, _TASKS[LEGACY], "TaskPayloadResult")
    _same_task(exchange, exchange.result["_meta"][RELATED_TASK]["taskId"])
    check_tool_result(exchange.result, LEGACY)


def _knows_tasks(exchange: Exchange) -> None:
    assert exchange.version == LEGACY, f"{exchange.version} knows no tasks"


# ------------------------------------------------------------------------------------------------------ modern tasks


def _check_modern_tool_call(exchange: Exchange) -> None:
    judge = _MODERN_TOOL_CALLS.get(exchange.result.get("resultType", ""), _check_core)
    judge(exchange)


def _check_task_created(exchange: Exchange) -> None:
    _declared_tasks(exchange)
    _check_shape(exchange.result, _TASKS[MODERN], "CreateTaskResult")
    _check_times(exchange.result)


def _check_input_required(exchange: Exchange) -> None:
    """M43."""
    _check_core(exchange)
    _check_shape(exchange.result, _TASKS[MODERN], "InputRequiredResult")
    _check_input_requests(exchange, exchange.result.get("inputRequests", {}))


def _check_modern_task(exchange: Exchange) -> None:
    _declared_tasks(exchange)
    _check_shape(exchange.result, _TASKS[MODERN], "GetTaskResult")
    _same_task(exchange, exchange.result["taskId"])
    _check_detailed_task(exchange)


def _check_detailed_task(exchange: Exchange) -> None:
    """Judge what goes with the status, in a result as in a notification."""
    _check_times(exchange.result)
    if "result" in exchange.result:
        check_tool_result(exchange.result["result"], MODERN)  # X11
    _check_input_requests(exchange, exchange.result.get("inputRequests", {}))


def _check_input_requests(exchange: Exchange, requests: Json) -> None:
    """Judge them as the same requests are judged that a tools/call asks before there is a task."""
    asked = {"resultType": "input_required", "inputRequests": requests}
    _check_core(Exchange({"method": "tools/call"}, asked, MODERN))
    for request in requests.values():
        _check_declared(exchange, request)
        if request["method"] == "elicitation/create":
            _check_elicitation(request["params"], "ModernParams")
        elif request["method"] == "sampling/createMessage":
            _check_sampling(request["params"])


def _check_declared(exchange: Exchange, asked: Json) -> None:
    """M44, M48: nothing is asked in a way that the client does not declare in this very request."""
    kind = _CAPABILITY_TO_ANSWER[asked["method"]]
    declared = _capabilities_of(exchange).get(kind)
    assert declared is not None, f"the request does not declare {kind}"
    if kind == "elicitation":
        mode = asked["params"].get("mode", "form")
        assert mode in (declared.keys() & {"form", "url"} or {"form"}), f"the request does not declare {kind}.{mode}"


_CAPABILITY_TO_ANSWER: Final[Mapping[str, str]] = MappingProxyType(
    {"elicitation/create": "elicitation", "sampling/createMessage": "sampling", "roots/list": "roots"}
)


def _check_elicitation(params: Json, shape: str) -> None:
    """M47, M49, L19."""
    _check_shape(params, _ELICITATION, shape)
    if params.get("mode") == "url":
        return
    form = params["requestedSchema"]
    Draft202012Validator.check_schema(form)
    _only(dict.fromkeys(form.get("required", [])), set(form["properties"]), "requestedSchema.required")


def _check_sampling(params: Json) -> None:
    """M44: nothing that needs a capability within sampling, and one content block, as all types allow."""
    _only(params, set(_SAMPLING_MEMBERS), "sampling")
    assert type(params["maxTokens"]) is int, "maxTokens must be written as an integer"
    assert params.get("includeContext", "none") == "none", "sampling.context is not asked for"
    kinds = {message["content"]["type"] for message in params["messages"]}
    assert kinds <= {"text", "image", "audio"}, f"not every client knows content of {kinds}"


_SAMPLING_MEMBERS: Final = frozenset(
    {
        *("_meta", "messages", "maxTokens", "systemPrompt", "temperature", "stopSequences"),
        *("includeContext", "modelPreferences"),
        "task",
    }
)


def _check_modern_acknowledgement(exchange: Exchange) -> None:
    _declared_tasks(exchange)
    _check_shape(exchange.result, _TASKS[MODERN], "Acknowledgement")  # X15, X18


def _declared_tasks(exchange: Exchange) -> None:
    """X2, X24: nothing of the extension for a request that does not declare it."""
    extensions = _capabilities_of(exchange).get("extensions", {})
    assert TASKS_EXTENSION in extensions, f"the request does not declare {TASKS_EXTENSION}"


def _capabilities_of(exchange: Exchange) -> Json:
    return exchange.params.get("_meta", {}).get(CLIENT_CAPABILITIES, {})


_MODERN_TOOL_CALLS: Final[Mapping[str, Callable[[Exchange], None]]] = MappingProxyType(
    {"task": _check_task_created, "input_required": _check_input_required}
)

_LEGACY_RESULTS: Final[Mapping[str, Callable[[Exchange], None]]] = MappingProxyType(
    {
        "initialize": _check_initialize,
        "ping": _check_empty,
        "tools/list": _check_tool_list,
        "tools/call": _check_legacy_tool_call,
        "tasks/get": _legacy_task("GetTaskResult", mcp_types.GetTaskResult),
        "tasks/result": _check_legacy_task_result,
        "tasks/list": _check_legacy_task_list,
        "tasks/cancel": _legacy_task("CancelTaskResult", mcp_types.CancelTaskResult),
    }
)

_MODERN_RESULTS: Final[Mapping[str, Callable[[Exchange], None]]] = MappingProxyType(
    {
        "server/discover": _check_discover,
        "tools/list": _check_tool_list,
        "tools/call": _check_modern_tool_call,
        "tasks/get": _check_modern_task,
        "tasks/update": _check_modern_acknowledgement,
        "tasks/cancel": _check_modern_acknowledgement,
    }
)


# ------------------------------------------------------------------------------------------------------------ streams


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a body: a message, or none in the event that only gives an id."""

    event_id: str | None
    message: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class EventStream:
    """A whole body of events."""

    retry_ms: int | None
    events: tuple[Event, ...]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Give the messages in their order."""
        return [event.message for event in self.events if event.message is not None]

    @property
    def event_ids(self) -> list[str]:
        """Give the ids in their order."""
        return [event.event_id for event in self.events if event.event_id is not None]


def read_stream(body: str) -> EventStream:
    """Read a body of events; raise AssertionError where any reader could read it in another way.

    Narrower than the format: `retry` at the very start or nowhere, one line of data in each event, no comments.
    """
    assert body.endswith("\n\n"), "the body must end with a blank line, or its last event is lost"
    # Not only CR: Python's splitlines, which released clients use, also cuts at U+0085, U+2028 and U+2029.
    assert body.splitlines() == body.split("\n")[:-1], "the body must hold no other line end than LF"
    retry, rest = _retry_of(body)
    blocks = rest.removesuffix("\n\n").split("\n\n") if rest else []
    return EventStream(retry, tuple(_event(block) for block in blocks))


def _retry_of(body: str) -> tuple[int | None, str]:
    """Take the retry off, with the blank line that may follow it."""
    found = re.match(r"retry: ?([0-9]+)\n\n?", body)
    return (int(found[1]), body[found.end() :]) if found else (None, body)


def _event(block: str) -> Event:
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        name, colon, value = line.partition(":")
        assert colon, f"not a field: {line!r}"
        assert name in {"id", "data"}, f"no {name!r} is due in an event"
        assert name not in fields, f"two lines of {name!r} in one event"
        fields[name] = value.removeprefix(" ")
    assert "data" in fields, f"an event without a line of data is dropped by clients: {block!r}"
    return Event(fields.get("id"), _message(fields["data"]) if fields["data"] else None)


def _message(text: str) -> dict[str, Any]:
    try:
        message: Any = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise AssertionError(f"data is not JSON: {error}") from None
    assert _is_object(message), "data must be one JSON-RPC message"
    return dict(message)


def _refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def _check_order(events: Sequence[Event]) -> None:
    """Judge events by those before them, within a body or across many."""
    _once((event.event_id for event in events if event.event_id is not None), "event id")
    messages = [event.message for event in events if event.message is not None]
    ended = [index for index, message in enumerate(messages) if "method" not in message]
    assert all(index == len(messages) - 1 for index in ended), "something follows the response"  # L8
    asked = {*_CAPABILITY_TO_ANSWER, *_ABOUT_CLIENT_TASKS}
    _once((message["id"] for message in messages if message.get("method") in asked), "request id")
    _once(
        (json.dumps(m, sort_keys=True) for m in messages if m.get("method") == "notifications/tasks/status"), "status"
    )
    _check_increasing([m["params"] for m in messages if m.get("method") == "notifications/progress"])


def _once(found: Iterable[Any], what: str) -> None:
    seen: set[Any] = set()
    for value in found:
        assert value not in seen, f"{what} given twice: {value}"
        seen.add(value)


def _check_increasing(progress: Sequence[Json]) -> None:
    latest: dict[str, float] = {}
    for params in progress:
        token = json.dumps(params["progressToken"])  # 1 and "1" are two tokens
        assert params["progress"] > latest.get(token, float("-inf")), (
            f"progress must increase, not go to {params['progress']}"
        )
        latest[token] = params["progress"]


def _check_published(message: Json, surface: Mapping[tuple[str, str], type[BaseModel]], version: str) -> None:
    """Hold a message against its published type, and refuse what that does not define."""
    known = surface[(message["method"], version)].model_validate(message, by_name=False)
    _same(message, known.model_dump(by_alias=True, mode="json", exclude_none=True), message["method"])


def _judged_by(table: Mapping[str, Callable[[Json, Json], None]], request: Json, message: Json) -> None:
    judge = table.get(str(message["method"]))
    assert judge, f"{message['method']} has no place on a stream of {request['method']}"
    judge(request, message)


# ----------------------------------------------------------------------------------------------------- legacy streams


def _check_legacy_stream(request: Json, stream: EventStream) -> None:
    """L8: what a client needs to come back, then what there is to say, then the response if it is there."""
    params: Json = request.get("params") or {}
    creates_a_task = request["method"] == "tools/call" and params.get("task") is not None
    assert not creates_a_task, "a call that creates a task is answered at once (T7)"
    assert stream.retry_ms is not None, "the body must begin with retry"
    assert 1 <= stream.retry_ms <= _LONGEST_RETRY, f"retry must be 1 to {_LONGEST_RETRY} ms"
    assert stream.events, "the body must have an event with an id and empty data"
    assert stream.events[0].message is None, "the first event must have an id and empty data"
    assert all(event.message for event in stream.events[1:]), "only the first event may have empty data"
    for event in stream.events:
        if event.message is None or event.message.get("method") not in _ABOUT_CLIENT_TASKS:
            assert re.fullmatch("[!-~]+", event.event_id or ""), f"{event.event_id!r} cannot be an event id"
    for message in stream.messages:
        _check_legacy_message(request, message)


def _check_legacy_message(request: Json, message: Json) -> None:
    if "method" in message:
        _judged_by(_LEGACY_MESSAGES, request, message)
        return
    _check_response(request, message, LEGACY)
    if "result" in message:
        _check_related(request, message["result"])


def _check_legacy_progress(request: Json, message: Json) -> None:
    _check_published(message, SERVER_NOTIFICATIONS, LEGACY)
    _check_related(request, message.get("params") or {})
    if request["method"] == "tools/call":  # T32: on tasks/result it can be the token of the call that began the task
        _same_token(request, message)


def _check_legacy_status(request: Json, message: Json) -> None:
    """T31."""
    _check_shape(message, _TASKS[LEGACY], "TaskStatusNotification")
    mcp_types.TaskStatusNotification.model_validate(message)
    _check_times(message["params"])
    if request["method"] == "tasks/result":
        _same_task(Exchange(request, {}, LEGACY), message["params"]["taskId"])


def _check_legacy_input_request(request: Json, message: Json) -> None:
    """T30, L19, M44."""
    assert isinstance(message.get("id"), str), "the id of a request of ours must be a string"
    assert message["id"], "the id of a request of ours must not be empty"
    _check_published(message, SERVER_REQUESTS, LEGACY)
    if message["method"] == "elicitation/create":
        _check_elicitation(message["params"], "LegacyParams")
    elif message["method"] == "sampling/createMessage":
        _check_sampling(message["params"])
    _check_related(request, message.get("params") or {})


def _check_related(request: Json, found: Json) -> None:
    """T16, T29: the task is named on its own stream, and on no other."""
    related = _meta_of(found).get(RELATED_TASK)
    wanted = {"taskId": request["params"]["taskId"]} if request["method"] == "tasks/result" else None
    assert related == wanted, f"_meta's {RELATED_TASK} must be {wanted}, not {related}"


def _meta_of(found: Json) -> Json:
    return found.get("_meta") or {}


def _same_token(request: Json, message: Json) -> None:
    wanted = _meta_of(request.get("params") or {}).get("progressToken")
    token = message["params"]["progressToken"]
    assert (type(token), token) == (type(wanted), wanted), f"progressToken must be {wanted!r}, not {token!r}"


_ABOUT_CLIENT_TASKS: Final[Mapping[str, type[BaseModel]]] = MappingProxyType(
    {
        "tasks/get": mcp_types.GetTaskRequest,
        "tasks/result": mcp_types.GetTaskPayloadRequest,
        "tasks/cancel": mcp_types.CancelTaskRequest,
    }
)
"""What a server asks about tasks that its client has made of its questions."""


def _check_about_client_task(_request: Json, message: Json) -> None:
    """T35: the id names the task, so no metadata does."""
    assert isinstance(message.get("id"), str), "the id of a request of ours must be a string"
    known = _ABOUT_CLIENT_TASKS[message["method"]].model_validate(message)
    _same(message["params"], known.model_dump(by_alias=True, mode="json", exclude_none=True)["params"], "params")
    _only(message["params"], {"taskId"}, "params")


_LEGACY_MESSAGES: Final[Mapping[str, Callable[[Json, Json], None]]] = MappingProxyType(
    {
        **dict.fromkeys(_ABOUT_CLIENT_TASKS, _check_about_client_task),
        "notifications/progress": _check_legacy_progress,
        "notifications/tasks/status": _check_legacy_status,
        **dict.fromkeys(_CAPABILITY_TO_ANSWER, _check_legacy_input_request),
    }
)


# ----------------------------------------------------------------------------------------------------- modern streams


def _check_modern_stream(stream: EventStream) -> None:
    """M8: nothing to come back with, since no stream can be resumed, and the response at the end."""
    assert stream.retry_ms is None, "retry is of the legacy era"
    assert stream.event_ids == [], "ids of events are of the legacy era"
    assert len(stream.messages) == len(stream.events), "an event without data says nothing"
    assert stream.messages, "the body must hold the response"
    assert "method" not in stream.messages[-1], "the body must end with the response"


def _check_modern_call_stream(request: Json, stream: EventStream) -> None:
    """M42: progress of this very request, then its response."""
    _check_modern_stream(stream)
    assert "progressToken" in request["params"]["_meta"], "without a progress token there is nothing to stream"
    *before, response = stream.messages
    for message in before:
        assert message.get("method") == "notifications/progress", "nothing but progress goes before the response"
        _check_published(message, SERVER_NOTIFICATIONS, MODERN)
        _same_token(request, message)
    _check_response(request, response, MODERN)


def _check_listen_stream(request: Json, stream: EventStream) -> None:
    """M51 to M53: acknowledged, notified, and ended with grace."""
    _check_modern_stream(stream)
    assert len(stream.messages) > 1, "the subscription must be acknowledged before it ends"
    acknowledged, *notifications, response = stream.messages
    _check_acknowledged(request, acknowledged)
    agreed = acknowledged["params"]["notifications"].get("taskIds", [])
    for message in notifications:
        _check_task_notification(request, message, agreed)
    _check_envelope(request, response)
    assert "result" in response, "a subscription that was acknowledged ends with a result"
    _check_core(Exchange(request, response["result"], MODERN))
    assert SERVER_INFO in response["result"]["_meta"], f"_meta must hold {SERVER_INFO}"  # M21
    _check_subscription(request, response["result"])


def _check_acknowledged(request: Json, message: Json) -> None:
    wanted = "notifications/subscriptions/acknowledged"
    assert message.get("method") == wanted, f"the first message must be {wanted}"
    found = message.get("params", {}).get("notifications")
    assert _is_object(found), "params.notifications must be an object"
    _check_filter(request["params"]["notifications"], found)
    agreed = dict(found)
    if agreed.pop("taskIds", None) is not None:  # of the extension, which the published types leave out
        _declared_tasks(Exchange(request, {}, MODERN))
    core = {**message, "params": {**message["params"], "notifications": agreed}}
    _check_published(core, SERVER_NOTIFICATIONS, MODERN)
    _check_subscription(request, message["params"])


def _check_filter(requested: Json, agreed: Json) -> None:
    """M52: nothing that was not asked for; what is not agreed to is left out."""
    _only(agreed, {name for name, value in requested.items() if value}, "notifications")
    for name, value in agreed.items():
        if not _is_array(requested[name]):
            assert value is True, f"notifications.{name} must be true or left out"
            continue
        assert _is_array(value), f"notifications.{name} must be an array"
        assert all(isinstance(item, str) for item in value), f"notifications.{name} must hold strings"
        _only(dict.fromkeys(value), set(requested[name]), f"notifications.{name}")
        _once(value, f"notifications.{name}")


def _check_task_notification(request: Json, message: Json, agreed: Sequence[str]) -> None:
    """X22, X23: what tasks/get would show."""
    _check_shape(message, _TASKS[MODERN], "TaskNotification")
    assert message["params"]["taskId"] in agreed, f"{message['params']['taskId']!r} was not agreed to"
    _check_subscription(request, message["params"])
    _check_detailed_task(Exchange(request, message["params"], MODERN))


def _check_subscription(request: Json, found: Json) -> None:
    """M51 to M53: the request's id, of the same type."""
    wanted, got = request["id"], _meta_of(found).get(SUBSCRIPTION_ID)
    assert (type(got), got) == (type(wanted), wanted), f"_meta's {SUBSCRIPTION_ID} must be {wanted!r}, not {got!r}"


_STREAMS: Final[Mapping[tuple[str, str], Callable[[Json, EventStream], None]]] = MappingProxyType(
    {
        (LEGACY, "tools/call"): _check_legacy_stream,
        (LEGACY, "tasks/result"): _check_legacy_stream,
        (MODERN, "tools/call"): _check_modern_call_stream,
        (MODERN, "subscriptions/listen"): _check_listen_stream,
    }
)


# -------------------------------------------------------------------------------------------------------- comparisons


def _check_shape(found: Json, source: str, shape: str) -> None:
    errors = sorted(_validator(source, shape).iter_errors(found), key=lambda error: error.json_path)  # pyright: ignore[reportUnknownMemberType] # untyped in its stubs
    assert not errors, f"not a {shape} of {source}: " + "; ".join(f"{e.json_path}: {e.message}" for e in errors)


@cache
def _validator(source: str, shape: str) -> Draft202012Validator:
    schema = json.loads((_SCHEMAS / f"{source}.schema.json").read_text())
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{shape}"})


def _same_task(exchange: Exchange, task_id: str) -> None:
    wanted = exchange.params.get("taskId")
    assert task_id == wanted, f"asked for task {wanted!r}, got {task_id!r}"


def _check_times(task: Json) -> None:
    created, updated = (datetime.fromisoformat(task[name]) for name in ("createdAt", "lastUpdatedAt"))
    assert created <= updated, "lastUpdatedAt is before createdAt"


def _only(found: Json, known: set[str], where: str) -> None:
    extra = sorted(found.keys() - known)
    assert not extra, f"{where} must not hold {', '.join(extra)}"


def _same(found: Any, known: Any, where: str) -> None:
    """Raise where the two JSON values differ, in type as in value, naming the place."""
    if _is_object(found) and _is_object(known):
        if where.endswith("._meta"):
            # Its members may have any value, but the library leaves nulls out when it writes.
            found = {name: value for name, value in found.items() if value is not None}
        _only(found, set(known), where)
        for name, value in found.items():
            _same(value, known[name], f"{where}.{name}")
    elif _is_array(found) and _is_array(known):
        for index, (left, right) in enumerate(zip(found, known, strict=True)):
            _same(left, right, f"{where}[{index}]")
    else:
        same = found == known and isinstance(found, bool) == isinstance(known, bool)
        assert same, f"{where} is {found!r}; its type in the specification makes it {known!r}"


def _is_object(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def _is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list)
