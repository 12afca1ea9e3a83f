"""Names of the protocol, an exchange, and comparisons that name the place of a difference."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeGuard

import jsonschema_rs
from mcp_types.methods import SERVER_RESULTS, serialize_server_result

Json = Mapping[str, Any]

MODERN: Final = "2026-07-28"
LEGACY: Final = "2025-11-25"
# Versions of the legacy era without tasks.
LEGACY_WITHOUT_TASKS: Final = frozenset({"2025-03-26", "2025-06-18"})
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"

JSON_RPC_CODES: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
RESERVED_CODES: Final = range(-32768, -31999)
# With a longer retry, clients that wait only while there is progress give up.
LONGEST_RETRY: Final = 20_000  # ms
SCHEMAS: Final = Path(__file__).parents[1] / "schemas"
TASKS: Final[Mapping[str, str]] = MappingProxyType({version: f"tasks.{version}" for version in (LEGACY, MODERN)})
ELICITATION: Final = "elicitation"


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request and its result."""

    request: Json
    result: Json
    version: str

    @property
    def method(self) -> str:
        """Return the requested method."""
        return self.request["method"]

    @property
    def params(self) -> Json:
        """Return the request's params; empty if it has none."""
        return self.request.get("params") or {}


# -------------------------------------------------------------------------------------------------------- comparisons


def check_shape(found: Json, source: str, shape: str) -> None:
    faults = sorted(
        f"/{'/'.join(map(str, fault.instance_path))}: {fault.message}"
        for fault in _validator(source, shape).iter_errors(found)
    )
    assert not faults, f"not a {shape} of {source}: " + "; ".join(faults)


def check_schema(found: Json) -> None:
    """Raise AssertionError unless this is a JSON Schema 2020-12; a pattern must be a regular expression."""
    faults = [f"{fault.instance_path}: {fault.message}" for fault in _metaschema().iter_errors(found)]
    assert not faults, "not a JSON Schema: " + "; ".join(faults)


@cache
def _metaschema() -> jsonschema_rs.Draft202012Validator:
    schema = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True)


@cache
def _validator(source: str, shape: str) -> jsonschema_rs.Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{source}.schema.json").read_text())
    return jsonschema_rs.Draft202012Validator({**schema, "$ref": f"#/$defs/{shape}"})


def check_same_task(exchange: Exchange, task_id: str) -> None:
    wanted = exchange.params.get("taskId")
    assert task_id == wanted, f"the request names task {wanted!r}, the response {task_id!r}"


def check_times(task: Json) -> None:
    created, updated = (datetime.fromisoformat(task[name]) for name in ("createdAt", "lastUpdatedAt"))
    assert created <= updated, "lastUpdatedAt is before createdAt"


def check_members(found: Json, known: set[str], where: str) -> None:
    extra = sorted(found.keys() - known)
    assert not extra, f"{where} must not have {', '.join(extra)}"


def check_equal(found: Any, known: Any, where: str) -> None:
    """Raise AssertionError if two JSON values differ in type or value; name the place."""
    if is_object(found) and is_object(known):
        if where.endswith("._meta"):
            # _meta may have members of any value, but mcp_types does not write nulls.
            found = {name: value for name, value in found.items() if value is not None}
        check_members(found, set(known), where)
        for name, value in found.items():
            check_equal(value, known[name], f"{where}.{name}")
    elif is_array(found) and is_array(known):
        for index, (left, right) in enumerate(zip(found, known, strict=True)):
            check_equal(left, right, f"{where}[{index}]")
    else:
        same = found == known and isinstance(found, bool) == isinstance(known, bool)
        assert same, f"{where} is {found!r}; its type in the specification makes it {known!r}"


def is_object(value: Any) -> TypeGuard[Json]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list)


def check_core(exchange: Exchange) -> None:
    """Check the result against the published types, and reject members that they do not define.

    The models ignore unknown members and convert types. So the check reads and writes the result and compares both.
    """
    surface = SERVER_RESULTS
    if exchange.version == MODERN:
        surface = _surface_of(exchange)
    known = serialize_server_result(exchange.method, exchange.version, exchange.result, surface=surface)
    check_equal(exchange.result, known, "result")


def _surface_of(exchange: Exchange) -> Mapping[tuple[str, str], Any]:
    """Return the one result type that resultType names; a union of types would accept results of a wrong type."""
    key = (exchange.method, MODERN)
    types: tuple[Any, ...] = getattr(SERVER_RESULTS[key], "__args__", (SERVER_RESULTS[key],))
    by_result_type = {"input_required" if t.__name__ == "InputRequiredResult" else "complete": t for t in types}
    found = exchange.result.get("resultType")
    assert found in by_result_type, f"resultType must be one of {sorted(by_result_type)}, not {found!r}"  # M26
    return {key: by_result_type[found]}
