"""Check the results of MCP Events (SEP-3415): no released SDK has types for them."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from jsonschema import Draft202012Validator

from tests.extras.events.event_types import listed
from tests.wire_oracle.comparisons import Exchange, Json, check_members, check_schema

EXTENSION: Final = "io.modelcontextprotocol/events"
CODES: Final = frozenset(range(-32015, -32010))
"""NotFound, Forbidden, ResourceExhausted, Unsupported and CallbackEndpointError."""
_COMMON: Final = {"_meta", "resultType"}
_PAYLOADS: Final = {one["name"]: one["payloadSchema"] for one in listed(("poll",), is_approver=True)}


def is_named(capabilities: Json) -> bool:
    """Tell whether a client of the older era names events."""
    return "events" in capabilities or EXTENSION in capabilities.get("extensions", {})


def without(exchange: Exchange) -> Exchange:
    """Return an exchange whose result does not advertise events, for checks against types that know none."""
    capabilities = dict(exchange.result.get("capabilities", {}))
    assert capabilities.pop("events", {}) == {}, "capabilities.events must be {}: ChatGPT reads it"
    extensions = dict(capabilities.get("extensions", {}))
    assert extensions.pop(EXTENSION, {}) == {}
    kept = {**capabilities, "extensions": extensions} if extensions else capabilities
    if not extensions:
        kept.pop("extensions", None)
    return replace(
        exchange, result={**exchange.result, **({"capabilities": kept} if "capabilities" in exchange.result else {})}
    )


def check_occurrence(event: Json, *, has_cursor: bool) -> None:
    """Check an `EventOccurrence`: its members, and its data against the schema of its type."""
    members = {"eventId", "name", "timestamp", "data"}
    check_members(event, members | {"_meta"} | ({"cursor"} if has_cursor else set()), "event")
    assert members <= event.keys()
    assert datetime.fromisoformat(event["timestamp"]).tzinfo is not None
    schema: Json = {**_PAYLOADS[event["name"]], "additionalProperties": False}
    validator: Any = Draft202012Validator(schema)
    validator.validate(event["data"])


def _check_list(exchange: Exchange) -> None:
    check_members(exchange.result, {"events", *_COMMON}, "result")
    for one in exchange.result["events"]:
        assert one.keys() == {"name", "description", "delivery", "inputSchema", "payloadSchema"}
        assert one["delivery"]
        assert set(one["delivery"]) <= {"poll", "webhook"}
        for schema in ("inputSchema", "payloadSchema"):
            check_schema(one[schema])


def _check_poll(exchange: Exchange) -> None:
    result = exchange.result
    check_members(result, {"events", "cursor", "truncated", "hasMore", "nextPollMs", *_COMMON}, "result")
    for event in result["events"]:
        check_occurrence(event, has_cursor=False)
        assert event["name"] == exchange.params["name"]
    _check_types(result, cursor=str, truncated=bool, hasMore=bool, nextPollMs=int)
    if exchange.params.get("cursor") is None:
        assert (result["events"], result["truncated"]) == ([], False), "without a cursor, nothing is replayed"


def _check_subscription(exchange: Exchange) -> None:
    result = exchange.result
    check_members(result, {"id", "refreshBefore", "cursor", "truncated", "deliveryStatus", *_COMMON}, "result")
    _check_types(result, id=str, refreshBefore=str, cursor=str, truncated=bool)
    assert datetime.fromisoformat(result["refreshBefore"]).tzinfo is not None


def _check_end(exchange: Exchange) -> None:
    check_members(exchange.result, _COMMON, "result")


def _check_types(result: Json, **types: type) -> None:
    found: dict[str, Any] = {name: type(result[name]) for name in types}
    assert found == types


RESULTS: Final[Mapping[str, Callable[[Exchange], None]]] = MappingProxyType(
    {
        "events/list": _check_list,
        "events/poll": _check_poll,
        "events/subscribe": _check_subscription,
        "events/unsubscribe": _check_end,
    }
)
