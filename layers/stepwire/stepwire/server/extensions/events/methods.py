"""What the methods of MCP Events do: read the parameters, call the room of subscriptions, return the result."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from stepwire.errors import EntityNotFound, Forbidden, InvalidCursor, InvalidParams, Unsupported
from stepwire.json_text import JsonObject
from stepwire.protocol import params as read
from stepwire.server.kit import Call, Kit
from stepwire.subscriptions.events import EVENT_NAMES, POLL, WEBHOOK, Filter, filter_of, listed, position_of
from stepwire.subscriptions.record import USUAL_EVENTS, Poll, poll
from stepwire.subscriptions.subscribing import Asked, Events
from stepwire.subscriptions.subscription import check_secret, endpoint_of, granted

_LONGEST_NAME: Final = 40  # characters of a wrong name in an error
_LONGEST_AGE: Final = timedelta(days=365)


def list_events(kit: Kit, _events: Events, call: Call) -> JsonObject:
    """Return the types of events; they fit on one page. Webhooks are for callers who are known."""
    if read.cursor(call.params) is not None:
        raise InvalidCursor
    return {"events": listed((WEBHOOK, POLL) if kit.access.knows_callers else (POLL,))}


def poll_events(kit: Kit, events: Events, call: Call) -> JsonObject:
    """Return the caller's events since a cursor, or a first cursor."""
    kit.polls.check(call.caller.principal, "events/poll")
    wanted = _wanted(call)
    position = position_of(call.caller.principal, read.cursor(call.params))
    asked = Poll(call.caller.principal, wanted, position, _longest(call), _most(call))
    if wanted.task_id is None and not kit.access.knows_callers:
        raise Forbidden("This server has no sign-in: name the task in params.arguments.taskId.")
    if position is None:
        _check_known(kit, call, wanted)
    return poll(events.record, asked, kit.now())


def subscribe(kit: Kit, events: Events, call: Call) -> JsonObject:
    """Begin or refresh a webhook subscription.

    The ladder, first failure wins: who calls; the event and its arguments; the delivery; times and cursor; then what
    needs a read, a limit, and last a request to the endpoint.
    """
    _check_caller(kit)
    kit.polls.check(call.caller.principal, "events/subscribe")
    wanted = _wanted(call)
    delivery = read.required_object(call.params, "delivery")
    mode = delivery.get("mode")
    if mode != WEBHOOK:
        raise Unsupported("params.delivery.mode must be webhook.", "deliveryMode", str(mode))
    endpoint_of(delivery.get("url"), allows_local=events.allows_local)
    secret = check_secret(delivery.get("secret"))
    ttl = granted(_duration(call, "ttlMs"), is_given="ttlMs" in call.params)
    position = position_of(call.caller.principal, read.cursor(call.params))
    asked = Asked(call.caller.principal, wanted, str(delivery["url"]), secret, ttl, position, _longest(call))
    _check_known(kit, call, wanted)
    return events.subscribing.subscribe(asked, kit.now())


def unsubscribe(kit: Kit, events: Events, call: Call) -> JsonObject:
    """End a webhook subscription."""
    _check_caller(kit)
    kit.polls.check(call.caller.principal, "events/unsubscribe")
    wanted = _wanted(call)
    url = read.text(read.required_object(call.params, "delivery"), "url")
    events.subscribing.unsubscribe(call.caller.principal, wanted, url, kit.now())
    return {}


def _check_caller(kit: Kit) -> None:
    if not kit.access.knows_callers:
        raise Forbidden("This server has no sign-in, so it cannot know whose webhook that is: use events/poll.")


def _wanted(call: Call) -> Filter:
    name = read.text(call.params, "name")
    if name not in EVENT_NAMES:
        known = ", ".join(EVENT_NAMES)
        raise EntityNotFound(f"Unknown event {name[:_LONGEST_NAME]!r}. There are: {known}.", "event")
    return filter_of(name, call.params.get("arguments"))


def _check_known(kit: Kit, call: Call, wanted: Filter) -> None:
    """Refuse a filter that cannot match; another caller's task is as unknown as one that never was."""
    if wanted.tool is not None:
        kit.access.check_tool(kit.catalog.find(wanted.tool), call.caller.scopes, kit.catalog)
    if wanted.task_id is not None:
        kit.operations.recorder.require(call.caller.principal, wanted.task_id)


def _longest(call: Call) -> timedelta | None:
    return _duration(call, "maxAgeMs")


def _duration(call: Call, name: str) -> timedelta | None:
    milliseconds = read.optional_milliseconds(call.params, name, f"params.{name}")
    return None if milliseconds is None else timedelta(milliseconds=min(milliseconds, _LONGEST_AGE // _MILLISECOND))


def _most(call: Call) -> int:
    value = call.params.get("maxEvents")
    if value is None:
        return USUAL_EVENTS
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidParams("params.maxEvents must be a whole number, 1 or more.")
    return value


_MILLISECOND: Final = timedelta(milliseconds=1)
METHODS: Final[Mapping[str, Callable[[Kit, Events, Call], JsonObject]]] = MappingProxyType(
    {
        "events/list": list_events,
        "events/poll": poll_events,
        "events/subscribe": subscribe,
        "events/unsubscribe": unsubscribe,
    }
)
