"""What every judgement uses: names of the protocol, an exchange, and comparisons that name where they fail."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from jsonschema import Draft202012Validator
from mcp_types.methods import SERVER_RESULTS, serialize_server_result

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

JSON_RPC_CODES: Final = frozenset({-32700, -32600, -32601, -32602, -32603})
RESERVED_CODES: Final = range(-32768, -31999)
# Longer, and clients that wait as long as there is progress give up.
LONGEST_RETRY: Final = 20_000  # ms
SCHEMAS: Final = Path(__file__).parents[1] / "schemas"
TASKS: Final[Mapping[str, str]] = MappingProxyType({version: f"tasks.{version}" for version in (LEGACY, MODERN)})
ELICITATION: Final = "elicitation"


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


# -------------------------------------------------------------------------------------------------------- comparisons


def check_shape(found: Json, source: str, shape: str) -> None:
    errors = sorted(_validator(source, shape).iter_errors(found), key=lambda error: error.json_path)  # pyright: ignore[reportUnknownMemberType] # untyped in its stubs
    assert not errors, f"not a {shape} of {source}: " + "; ".join(f"{e.json_path}: {e.message}" for e in errors)


@cache
def _validator(source: str, shape: str) -> Draft202012Validator:
    schema = json.loads((SCHEMAS / f"{source}.schema.json").read_text())
    return Draft202012Validator({**schema, "$ref": f"#/$defs/{shape}"})


def check_same_task(exchange: Exchange, task_id: str) -> None:
    wanted = exchange.params.get("taskId")
    assert task_id == wanted, f"asked for task {wanted!r}, got {task_id!r}"


def check_times(task: Json) -> None:
    created, updated = (datetime.fromisoformat(task[name]) for name in ("createdAt", "lastUpdatedAt"))
    assert created <= updated, "lastUpdatedAt is before createdAt"


def check_members(found: Json, known: set[str], where: str) -> None:
    extra = sorted(found.keys() - known)
    assert not extra, f"{where} must not hold {', '.join(extra)}"


def check_equal(found: Any, known: Any, where: str) -> None:
    """Raise where the two JSON values differ, in type as in value, naming the place."""
    if is_object(found) and is_object(known):
        if where.endswith("._meta"):
            # Its members may have any value, but the library leaves nulls out when it writes.
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
    """Hold the result against the published types, and refuse what they do not define.

    The models ignore unknown members and convert loosely: what counts is that reading and writing changes nothing.
    """
    surface = SERVER_RESULTS
    if exchange.version == MODERN:
        surface = _surface_of(exchange)
    known = serialize_server_result(exchange.method, exchange.version, exchange.result, surface=surface)
    check_equal(exchange.result, known, "result")


def _surface_of(exchange: Exchange) -> Mapping[tuple[str, str], Any]:
    """Choose the one result type that resultType names: a union of them would take a wrong result for another."""
    key = (exchange.method, MODERN)
    types: tuple[Any, ...] = getattr(SERVER_RESULTS[key], "__args__", (SERVER_RESULTS[key],))
    by_result_type = {"input_required" if t.__name__ == "InputRequiredResult" else "complete": t for t in types}
    found = exchange.result.get("resultType")
    assert found in by_result_type, f"resultType must be one of {sorted(by_result_type)}, not {found!r}"  # M26
    return {key: by_result_type[found]}
