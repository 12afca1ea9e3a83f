"""What the methods of MCP Events do: read the parameters, call the room of subscriptions, return the result."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from types import MappingProxyType
from typing import Final

from stepwire.codec import MILLISECOND
from stepwire.errors import InvalidCursor, InvalidParams
from stepwire.extras.events.events import POLL, WEBHOOK, Filter, added_types, filter_of, position_of, shown_types
from stepwire.extras.events.record import USUAL_EVENTS, Poll, poll
from stepwire.extras.events.refusals import EntityNotFound, Forbidden, Unsupported
from stepwire.extras.events.subscribing import Asked, Events
from stepwire.extras.events.subscription import check_secret, endpoint_of, granted
from stepwire.json_text import JsonObject
from stepwire.protocol.tokens import cursor_of
from stepwire.server.call import Call, object_in, optional_milliseconds_in, text_in
from stepwire.server.services import Services

_LONGEST_NAME: Final = 40  # characters of a wrong name in an error
_LISTENS_FOR: Final = timedelta(hours=1)
"""How long after a poll the events of others' tasks are recorded for whoever polls them."""
_LONGEST_AGE: Final = timedelta(days=365)


def list_events(services: Services, _events: Events, call: Call) -> JsonObject:
    """Return the types of events; they fit on one page. Webhooks are for callers who are known."""
    if cursor_of(call.params) is not None:
        raise InvalidCursor
    modes = (WEBHOOK, POLL) if services.access.knows_callers else (POLL,)
    types = _types(services, call)
    return {"events": [{"name": name, "delivery": list(modes), **shown} for name, shown in types.items()]}


def poll_events(services: Services, events: Events, call: Call) -> JsonObject:
    """Return the caller's events since a cursor, or a first cursor."""
    services.polls.check(call.caller.principal, "events/poll", call.at)
    wanted = _wanted(services, call)
    position = position_of(call.caller.principal, cursor_of(call.params))
    asked = Poll(call.caller.principal, wanted, position, _duration(call, "maxAgeMs"), _most(call))
    if wanted.task_id is None and not services.access.knows_callers:
        raise Forbidden("This server has no sign-in: name the task in params.arguments.taskId.")
    if position is None:
        _check_known(services, call, wanted)
    _listen(services, call, wanted, _LISTENS_FOR / 2, _LISTENS_FOR)
    return poll(events.record, asked, call.at)


def subscribe(services: Services, events: Events, call: Call) -> JsonObject:
    """Begin or refresh a webhook subscription.

    The ladder, first failure wins: who calls; the event and its arguments; the delivery; times and cursor; then what
    needs a read, a limit, and last a request to the endpoint.
    """
    _check_caller(services)
    services.polls.check(call.caller.principal, "events/subscribe", call.at)
    wanted = _wanted(services, call)
    delivery = object_in(call.params, "delivery")
    mode = delivery.get("mode")
    if mode != WEBHOOK:
        raise Unsupported("params.delivery.mode must be webhook.", "deliveryMode", str(mode))
    endpoint_of(delivery.get("url"), allows_local=events.allows_local)
    secret = check_secret(delivery.get("secret"))
    ttl = granted(_duration(call, "ttlMs"), is_given="ttlMs" in call.params)
    position = position_of(call.caller.principal, cursor_of(call.params))
    asked = Asked(
        call.caller.principal,
        wanted,
        str(delivery["url"]),
        secret,
        ttl,
        position,
        _duration(call, "maxAgeMs"),
        call.caller.person,
    )
    _check_known(services, call, wanted)
    shown = events.subscribing.subscribe(asked, call.at)
    _listen(services, call, wanted, ttl, ttl)
    return shown


def unsubscribe(services: Services, events: Events, call: Call) -> JsonObject:
    """End a webhook subscription."""
    _check_caller(services)
    services.polls.check(call.caller.principal, "events/unsubscribe", call.at)
    wanted = _wanted(services, call, is_end=True)
    url = text_in(object_in(call.params, "delivery"), "url")
    events.subscribing.unsubscribe(call.caller.principal, wanted, url, call.at)
    return {}


def _check_caller(services: Services) -> None:
    if not services.access.knows_callers:
        raise Forbidden("This server has no sign-in, so it cannot know whose webhook that is: use events/poll.")


def _types(services: Services, call: Call) -> dict[str, JsonObject]:
    """Return what is shown of each type that this caller may have."""
    return shown_types(one for one in added_types(services.parts) if one.is_for is None or one.is_for(services, call))


def _wanted(services: Services, call: Call, *, is_end: bool = False) -> Filter:
    """Return what a client wants, or wants no more: that it may also if it may no longer want it."""
    name = text_in(call.params, "name")
    types = shown_types(added_types(services.parts)) if is_end else _types(services, call)
    if name not in types:
        known = ", ".join(shown_types(one for one in added_types(services.parts) if one.is_for is None))
        raise EntityNotFound(f"Unknown event {name[:_LONGEST_NAME]!r}. There are: {known}.", "event")
    return filter_of(name, list(types[name]["inputSchema"]["properties"]), call.params.get("arguments"))


def _check_known(services: Services, call: Call, wanted: Filter) -> None:
    """Refuse a filter that cannot match; another caller's task is as unknown as one that never was."""
    if wanted.tool is not None:
        tool = services.catalog.find(wanted.tool)
        # Who has events of others' tasks need not be able to call the tool.
        if not any(one.name == wanted.name and one.is_for for one in added_types(services.parts)):
            services.access.check(call.caller.scopes, tool, services.catalog)
    if wanted.task_id is not None:
        services.operations.recorder.require(call.caller.principal, wanted.task_id)


def _listen(services: Services, call: Call, wanted: Filter, needed: timedelta, longest: timedelta) -> None:
    """Let a caller have the events that they ask for, where that is not so anyhow."""
    for one in added_types(services.parts):
        if one.name == wanted.name and one.listen is not None:
            one.listen(services, call, needed, longest)


def _duration(call: Call, name: str) -> timedelta | None:
    milliseconds = optional_milliseconds_in(call.params, name, f"params.{name}")
    return None if milliseconds is None else timedelta(milliseconds=min(milliseconds, _LONGEST_AGE // MILLISECOND))


def _most(call: Call) -> int:
    value = call.params.get("maxEvents")
    if value is None:
        return USUAL_EVENTS
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise InvalidParams("params.maxEvents must be a whole number, 1 or more.")
    return value


METHODS: Final[Mapping[str, Callable[[Services, Events, Call], JsonObject]]] = MappingProxyType(
    {
        "events/list": list_events,
        "events/poll": poll_events,
        "events/subscribe": subscribe,
        "events/unsubscribe": unsubscribe,
    }
)
