"""The judge of our responses: is this JSON-RPC response right for that request, in that protocol version?

It knows nothing of the package under test. What the specification's published types say comes from `mcp_types`; what
they leave open or leave out (the tasks of both eras) comes from `tests/schemas`. It is closed: a member that the
version does not define is an error, so a name of the other era never slips through.

    check({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, response, "2026-07-28")
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeGuard

import mcp_types
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError
from mcp_types import jsonrpc
from mcp_types.methods import SERVER_RESULTS, serialize_server_result
from pydantic import BaseModel, ValidationError

Json = Mapping[str, Any]

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
# Versions that are answered in the legacy way and know no tasks.
LEGACY_WITHOUT_TASKS: Final = frozenset({"2025-03-26", "2025-06-18"})
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"

_JSON_RPC_CODES: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
_RESERVED_CODES: Final = range(-32768, -31999)
_SCHEMAS: Final = Path(__file__).parent / "schemas"


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
    try:
        _check_envelope(request, response)
        if "error" in response:
            _check_error(response, version)
        else:
            _check_result(Exchange(request, response["result"], version))
    except (AssertionError, SchemaError, ValidationError) as error:
        sent, got = (json.dumps(side, indent=2) for side in (request, response))
        raise AssertionError(f"{error}\n--- asked ({version})\n{sent}\n--- answered\n{got}") from None


def check_tool_result(result: Json, version: str) -> None:
    """Raise AssertionError unless `result` is a right CallToolResult, wherever it was found."""
    _check_core(Exchange({"method": "tools/call"}, result, version))


# ------------------------------------------------------------------------------------------------ envelope and errors


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
    if isinstance(wanted, str) or (isinstance(wanted, int) and not isinstance(wanted, bool)):
        assert (type(got), got) == (type(wanted), wanted), f"id must be {wanted!r}, not {got!r}"
        return
    assert got is None, f"the request has no id that could be answered, yet the response has {got!r}"
    assert "error" in response, "a request without an id gets no result"


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
    _check_shape(exchange.result, LEGACY, "CreateTaskResult")  # T7
    mcp_types.CreateTaskResult.model_validate(exchange.result)
    _check_times(exchange.result["task"])


def _legacy_task(shape: str, model: type[BaseModel]) -> Callable[[Exchange], None]:
    def check_task(exchange: Exchange) -> None:
        _knows_tasks(exchange)
        _check_shape(exchange.result, LEGACY, shape)
        model.model_validate(exchange.result)
        _same_task(exchange, exchange.result["taskId"])
        _check_times(exchange.result)

    return check_task


def _check_legacy_task_list(exchange: Exchange) -> None:
    _knows_tasks(exchange)
    _check_shape(exchange.result, LEGACY, "ListTasksResult")
    mcp_types.ListTasksResult.model_validate(exchange.result)
    ids = [task["taskId"] for task in exchange.result["tasks"]]
    assert len(set(ids)) == len(ids), "a task is listed twice"
    for task in exchange.result["tasks"]:
        _check_times(task)


def _check_legacy_task_result(exchange: Exchange) -> None:
    """T14, T16: the very result of the tools/call, and the name of its task."""
    _knows_tasks(exchange)
    _check_shape(exchange.result, LEGACY, "TaskPayloadResult")
    _same_task(exchange, exchange.result["_meta"][RELATED_TASK]["taskId"])
    check_tool_result(exchange.result, LEGACY)


def _knows_tasks(exchange: Exchange) -> None:
    assert exchange.version == LEGACY, f"{exchange.version} knows no tasks"


# ------------------------------------------------------------------------------------------------------ modern tasks


def _check_modern_tool_call(exchange: Exchange) -> None:
    if exchange.result.get("resultType") != "task":
        _check_core(exchange)
        return
    _declared_tasks(exchange)
    _check_shape(exchange.result, MODERN, "CreateTaskResult")
    _check_times(exchange.result)


def _check_modern_task(exchange: Exchange) -> None:
    _declared_tasks(exchange)
    _check_shape(exchange.result, MODERN, "GetTaskResult")
    _same_task(exchange, exchange.result["taskId"])
    _check_times(exchange.result)
    if "result" in exchange.result:
        check_tool_result(exchange.result["result"], MODERN)  # X11
    if "inputRequests" in exchange.result:
        _check_input_requests(exchange.result["inputRequests"])


def _check_input_requests(requests: Json) -> None:
    """Judge them as the same requests are judged that a tools/call asks before there is a task."""
    asked = {"resultType": "input_required", "inputRequests": requests}
    _check_core(Exchange({"method": "tools/call"}, asked, MODERN))


def _check_modern_acknowledgement(exchange: Exchange) -> None:
    _declared_tasks(exchange)
    _check_shape(exchange.result, MODERN, "Acknowledgement")  # X15, X18


def _declared_tasks(exchange: Exchange) -> None:
    """X2, X24: nothing of the extension for a request that does not declare it."""
    capabilities = exchange.params.get("_meta", {}).get(CLIENT_CAPABILITIES, {})
    assert TASKS_EXTENSION in capabilities.get("extensions", {}), f"the request does not declare {TASKS_EXTENSION}"


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


# -------------------------------------------------------------------------------------------------------- comparisons


def _check_shape(result: Json, version: str, shape: str) -> None:
    errors = sorted(_validator(version, shape).iter_errors(result), key=lambda error: error.json_path)  # pyright: ignore[reportUnknownMemberType] # untyped in its stubs
    assert not errors, f"not a {shape} of {version}: " + "; ".join(f"{e.json_path}: {e.message}" for e in errors)


@cache
def _validator(version: str, shape: str) -> Draft202012Validator:
    schema = json.loads((_SCHEMAS / f"tasks.{version}.schema.json").read_text())
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
