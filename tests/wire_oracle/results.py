"""Judge one JSON-RPC response: its envelope, its error, or its result by method and protocol version."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

import mcp_types
from mcp_types import jsonrpc
from pydantic import BaseModel

from stepwire.json_text import as_object
from tests.extras import parts
from tests.wire_oracle.apps import RESOURCE_RESULTS, check_tool_meta, declares_apps, without_apps
from tests.wire_oracle.comparisons import (
    JSON_RPC_CODES,
    LEGACY,
    LEGACY_WITHOUT_TASKS,
    MODERN,
    RELATED_TASK,
    RESERVED_CODES,
    SERVER_INFO,
    TASKS,
    TASKS_EXTENSION,
    Exchange,
    Json,
    check_core,
    check_members,
    check_same_task,
    check_schema,
    check_shape,
    check_times,
    is_object,
)
from tests.wire_oracle.questions import check_input_requests, declared_tasks
from tests.wire_oracle.skills import SKILL_RESULTS, without_skills

_OF_EXTRAS: Final = parts("oracle")
_RESULTS_OF_EXTRAS: Final[Mapping[str, Callable[[Exchange], None]]] = {
    method: check for part in _OF_EXTRAS for method, check in part.RESULTS.items()
}
_CODES_OF_EXTRAS: Final = frozenset[int]().union(*(part.CODES for part in _OF_EXTRAS))
_RESOURCE_NOT_FOUND: Final = -32002  # retired in 2026-07-28, which uses -32602


def check_tool_result(result: Json, version: str) -> None:
    """Raise AssertionError unless `result` is a correct CallToolResult."""
    check_core(Exchange({"method": "tools/call"}, result, version))


# ------------------------------------------------------------------------------------------------ envelope and errors


def check_response(request: Json, response: Json, version: str) -> None:
    check_envelope(request, response)
    if "error" in response:
        _check_error(response, version)
    else:
        _check_result(Exchange(request, response["result"], version))


def check_envelope(request: Json, response: Json) -> None:
    assert response.get("jsonrpc") == "2.0", "jsonrpc must be '2.0'"
    outcomes = response.keys() & {"result", "error"}
    assert len(outcomes) == 1, "a response must have either result or error"  # M25
    check_members(response, {"jsonrpc", "id", *outcomes}, "the response")
    _check_id(request, response)
    assert isinstance(response.get("result", {}), dict), "result must be an object"


def _check_id(request: Json, response: Json) -> None:
    """M20, M25: the id and its type are those of the request; if the request's id cannot be read, it gets an error."""
    wanted, got = request.get("id"), response.get("id")
    if got is None and _is_response(request):
        return  # L6: the answer to a response that is not accepted is an error, which may leave out the id
    if isinstance(wanted, str) or (isinstance(wanted, int) and not isinstance(wanted, bool)):
        assert (type(got), got) == (type(wanted), wanted), f"id must be {wanted!r}, not {got!r}"
        return
    assert got is None, f"the request has no readable id, so the response must have none, not {got!r}"
    assert "error" in response, "a message without an id must not get a result"


def _is_response(message: Json) -> bool:
    return "method" not in message and bool(message.keys() & {"result", "error"})


def _check_error(response: Json, version: str) -> None:
    error = response["error"]
    mcp_types.ErrorData.model_validate(error, strict=True)
    check_members(error, {"code", "message", "data"}, "error")
    assert error["message"], "error.message must not be empty"
    code = error["code"]
    if version == MODERN and code in _MODERN_ERROR_DATA:
        _MODERN_ERROR_DATA[code](error.get("data"))
        return
    # M27: no code of our own in the reserved range, and no retired code.
    known = JSON_RPC_CODES | _CODES_OF_EXTRAS | (frozenset[int]() if version == MODERN else {_RESOURCE_NOT_FOUND})
    assert code in known or code not in RESERVED_CODES, f"error code {code} is not defined in {version}"


def _check_mismatch_data(_data: Any) -> None:
    """-32020: any data, or none."""


def _check_missing_capability_data(data: Any) -> None:
    """M19, X3."""
    assert is_object(data), "error -32021 must carry data.requiredCapabilities"
    required = data.get("requiredCapabilities")
    assert required, "data.requiredCapabilities must name the missing capabilities"
    mcp_types.ClientCapabilities.model_validate(required)


def _check_unsupported_version_data(data: Any) -> None:
    """M17."""
    assert is_object(data), "error -32022 must carry data.supported and data.requested"
    assert data.keys() == {"supported", "requested"}, "error -32022 must have no data besides supported and requested"
    assert MODERN in data["supported"], f"data.supported must contain {MODERN}"


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
    assert judge, f"{exchange.method} must get an error in {exchange.version}, not a result"
    if exchange.version == MODERN:
        assert SERVER_INFO in (exchange.result.get("_meta") or {}), f"_meta must hold {SERVER_INFO}"  # M21
    judge(exchange)


def _check_empty(exchange: Exchange) -> None:
    """L14: `{}`, which may have `_meta`."""
    check_members(exchange.result, {"_meta"}, "result")


def _check_initialize(exchange: Exchange) -> None:
    declared = as_object(exchange.params.get("capabilities"))
    told = exchange.result["capabilities"]
    named = {part.EXTENSION for part in _OF_EXTRAS if part.is_named(declared)}
    assert "extensions" not in told or named or declares_apps(declared), (
        "only a client that names an extension is told of it"
    )
    assert not as_object(told.get("extensions")).keys() & {part.EXTENSION for part in _OF_EXTRAS} - named
    exchange = _without_extras(exchange)
    if declares_apps(declared):
        exchange = without_apps(exchange)
    check_core(exchange)
    assert exchange.result["protocolVersion"] == exchange.version, (
        "protocolVersion must be the version that was agreed on"
    )
    tasks = exchange.result["capabilities"].get("tasks")
    if exchange.version in LEGACY_WITHOUT_TASKS:
        assert tasks is None, f"{exchange.version} has no capabilities.tasks"
    assert "extensions" not in exchange.result["capabilities"], "only the modern era has extensions"


def _without_extras(exchange: Exchange) -> Exchange:
    for part in _OF_EXTRAS:
        exchange = part.without(exchange)
    return exchange


def _check_discover(exchange: Exchange) -> None:
    exchange = without_apps(_without_extras(without_skills(exchange)))
    check_core(exchange)
    capabilities = exchange.result["capabilities"]
    assert "tasks" not in capabilities, "only the legacy era has capabilities.tasks"  # A4
    assert capabilities.get("extensions", {}).get(TASKS_EXTENSION, {}) == {}, (
        "the extension must be declared as {}"
    )  # X1
    assert MODERN in exchange.result["supportedVersions"], f"supportedVersions must contain {MODERN}"


def _check_tool_list(exchange: Exchange) -> None:
    check_core(exchange)
    for tool in exchange.result["tools"]:
        check_schema(tool["inputSchema"])
        check_schema(tool.get("outputSchema", {}))
        check_tool_meta(exchange, tool)
        if exchange.version in LEGACY_WITHOUT_TASKS:
            assert "execution" not in tool, f"{exchange.version} has no execution.taskSupport"


# ------------------------------------------------------------------------------------------------------ legacy tasks


def _check_legacy_tool_call(exchange: Exchange) -> None:
    asked_for_task = exchange.params.get("task") is not None and exchange.version not in LEGACY_WITHOUT_TASKS
    if not asked_for_task:
        check_core(exchange)
        return
    check_shape(exchange.result, TASKS[LEGACY], "CreateTaskResult")  # T7
    mcp_types.CreateTaskResult.model_validate(exchange.result)
    check_times(exchange.result["task"])


def _legacy_task(shape: str, model: type[BaseModel]) -> Callable[[Exchange], None]:
    def check_task(exchange: Exchange) -> None:
        _check_has_tasks(exchange)
        check_shape(exchange.result, TASKS[LEGACY], shape)
        model.model_validate(exchange.result)
        check_same_task(exchange, exchange.result["taskId"])
        check_times(exchange.result)

    return check_task


def _check_legacy_task_list(exchange: Exchange) -> None:
    _check_has_tasks(exchange)
    check_shape(exchange.result, TASKS[LEGACY], "ListTasksResult")
    mcp_types.ListTasksResult.model_validate(exchange.result)
    ids = [task["taskId"] for task in exchange.result["tasks"]]
    assert len(set(ids)) == len(ids), "a task is listed twice"
    for task in exchange.result["tasks"]:
        check_times(task)


def _check_legacy_task_result(exchange: Exchange) -> None:
    """T14, T16: the result of the tools/call, with the id of its task."""
    _check_has_tasks(exchange)
    check_shape(exchange.result, TASKS[LEGACY], "TaskPayloadResult")
    check_same_task(exchange, exchange.result["_meta"][RELATED_TASK]["taskId"])
    check_tool_result(exchange.result, LEGACY)


def _check_has_tasks(exchange: Exchange) -> None:
    assert exchange.version == LEGACY, f"{exchange.version} has no tasks"


# ------------------------------------------------------------------------------------------------------ modern tasks


def _check_modern_tool_call(exchange: Exchange) -> None:
    judge = _MODERN_TOOL_CALLS.get(exchange.result.get("resultType", ""), check_core)
    judge(exchange)


def _check_task_created(exchange: Exchange) -> None:
    declared_tasks(exchange)
    check_shape(exchange.result, TASKS[MODERN], "CreateTaskResult")
    check_times(exchange.result)


def _check_input_required(exchange: Exchange) -> None:
    """M43."""
    check_core(exchange)
    check_shape(exchange.result, TASKS[MODERN], "InputRequiredResult")
    check_input_requests(exchange, exchange.result.get("inputRequests", {}))


def _check_modern_task(exchange: Exchange) -> None:
    declared_tasks(exchange)
    check_shape(exchange.result, TASKS[MODERN], "GetTaskResult")
    check_same_task(exchange, exchange.result["taskId"])
    check_detailed_task(exchange)


def check_detailed_task(exchange: Exchange) -> None:
    """Check the members that belong to the status, in a result or a notification."""
    check_times(exchange.result)
    if "result" in exchange.result:
        check_tool_result(exchange.result["result"], MODERN)  # X11
    check_input_requests(exchange, exchange.result.get("inputRequests", {}))


def _check_modern_acknowledgement(exchange: Exchange) -> None:
    declared_tasks(exchange)
    check_shape(exchange.result, TASKS[MODERN], "Acknowledgement")  # X15, X18


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
        **_RESULTS_OF_EXTRAS,
        **RESOURCE_RESULTS,
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
        **_RESULTS_OF_EXTRAS,
        **RESOURCE_RESULTS,
        **SKILL_RESULTS,
    }
)
