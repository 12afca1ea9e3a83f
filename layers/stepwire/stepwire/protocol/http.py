"""HTTP, independent of any framework: a request, its headers and its query, each read once, a response, and events.

Intermediaries route by headers and never read the body, so the two must not differ (M11 to M14). That holds too for
headers that repeat parameters of a tool: a property of the input schema names its header with `x-mcp-header`, and
`Region` means `Mcp-Param-Region` (M39).

The query has switches, and a selection of tools; other fields are others' business. A URL is the caller's own, so
nothing in it is a permission: `?group=finance` narrows what is listed and called, and whoever may call another tool can
write another URL.

Nothing is streamed: the client polls for more (SSE polling). Released clients need these rules of a body of server-sent
events: `retry` comes first; an event with an id has a `data` line too; lines end in LF; and no data contains a
character at which some reader breaks a line.
"""

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, cast
from urllib.parse import parse_qsl

from msgspec import Struct, field

from stepwire.composition import RESERVED_PARAMETERS
from stepwire.errors import HeaderMismatch, InvalidParams
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.principal import Caller

JSON: Final = "application/json"
EVENT_STREAM: Final = "text/event-stream"
VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
SESSION: Final = "mcp-session-id"
IDEMPOTENCY_KEY: Final = "idempotency-key"
LAST_EVENT_ID: Final = "last-event-id"
USER_AGENT: Final = "user-agent"

_ENCODED: Final = re.compile(r"=\?base64\?(.*)\?=")
_PRINTABLE: Final = re.compile(r"[\x20-\x7e\t]*")
_ZERO_WEIGHT: Final = re.compile(r"q=0(\.0{0,3})?")


class HttpRequest(Struct, frozen=True):
    """A request to the endpoint, from a caller that API Gateway has authenticated."""

    method: str
    headers: Mapping[str, str]
    """By lower-case name; API Gateway joins repeated headers with a comma."""
    body: bytes
    caller: Caller
    query: str = ""
    """Of the URL, as it came."""
    at: datetime | None = None
    """When the invocation began; None: when the server reads the request."""
    deadline: datetime | None = None
    """When Lambda ends the invocation, after which the client gets no response; None: not known."""


class HttpResponse(Struct, frozen=True):
    """A complete response; its body is never streamed."""

    status: int
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class RoutedName(Struct, frozen=True):
    """What Mcp-Name repeats of a method's parameters."""

    parameter: str
    may_be_absent: bool = False
    """Whether the header may be left out; a wrong one is refused all the same."""


class RequestHeaders(Struct, frozen=True):
    """The headers of one request that the server uses, without white space around them (M10); None: absent."""

    origin: str | None = None
    media_type: str = ""
    """Of the body: the Content-Type in lower case, without its parameters."""
    content_encoding: str = "identity"
    accepts_json: bool = True
    accepts_events: bool = True
    """Whether the response may be a stream of server-sent events."""
    version: str | None = None
    """MCP-Protocol-Version."""
    method: str | None = None
    """Mcp-Method."""
    name: str | None = None
    """Mcp-Name, as it was sent: `decoded` reads it."""
    session_id: str | None = None
    """MCP-Session-Id."""
    last_event_id: str | None = None
    idempotency_key: str | None = None
    user_agent: str = ""
    by_name: Mapping[str, str] = field(default_factory=dict[str, str])
    """All headers; the names are in lower case."""

    def parameter(self, name: str) -> str | None:
        """Return a header Mcp-Param-*; the input schema of the called tool says which there are."""
        return self.by_name.get(name.lower())


def headers_of(sent: Mapping[str, str]) -> RequestHeaders:
    """Read the headers of a request, whose names are in lower case. Any value is read; the ladder checks them."""
    values = {name: value.strip(" \t") for name, value in sent.items()}
    accepted = _accepted(values.get("accept") or "*/*")
    return RequestHeaders(
        origin=values.get("origin"),
        media_type=values.get("content-type", "").partition(";")[0].strip().lower(),
        content_encoding=(values.get("content-encoding") or "identity").lower(),
        accepts_json=JSON in accepted,
        accepts_events=EVENT_STREAM in accepted,
        version=values.get(VERSION),
        method=values.get(METHOD),
        name=values.get(NAME),
        session_id=values.get(SESSION),
        last_event_id=values.get(LAST_EVENT_ID),
        idempotency_key=values.get(IDEMPOTENCY_KEY),
        user_agent=values.get(USER_AGENT, ""),
        by_name=values,
    )


def decoded(name: str, value: str | None) -> str | None:
    """Return the text of a header that may hold any text: all but printable ASCII is sent in base64 (M14).

    Raises:
        HeaderMismatch: it has characters that no header may have, or it claims to be base64 and is not.
    """
    match = _ENCODED.fullmatch(value or "")
    if value is None or match is None:
        if value is not None and not _PRINTABLE.fullmatch(value):
            raise HeaderMismatch(f"The header {name} has characters that no header may have; use =?base64?...?=.")
        return value
    try:
        return base64.b64decode(match[1], validate=True).decode("utf-8")
    except ValueError:
        raise HeaderMismatch(f"The header {name} is not base64 of UTF-8 between =?base64? and ?=.") from None


def _accepted(accept: str) -> list[str]:
    """Return which types of a response a client accepts; of its media ranges, the most precise decides (RFC 9110)."""
    ranges: dict[str, bool] = {}
    for part in accept.split(","):
        kind, *parameters = part.split(";")
        is_refused = any(_ZERO_WEIGHT.fullmatch(one.strip().lower()) for one in parameters)
        ranges[kind.strip().lower()] = not is_refused
    any_type = ranges.get("*/*", False)
    types = ((JSON, "application/*"), (EVENT_STREAM, "text/*"))
    return [one for one, of_its_kind in types if ranges.get(one, ranges.get(of_its_kind, any_type))]


# ---------------------------------------------------------------------------------------------------------------- query


LONGEST_QUERY: Final = 8_192  # characters; API Gateway takes no more than 10,240 bytes of headers and URL
MOST_NAMES: Final = 100  # of tools and groups in one selection
PARAMETERS: Final = frozenset({"group", "resume", "rounds", "tools"}) | RESERVED_PARAMETERS
"""All that this server reads from a query, and so the names that a path may have instead."""
_MOST_FIELDS: Final = 20
_TOOLS: Final = "tools"
_GROUP: Final = "group"


class Selection(Struct, frozen=True):
    """Which tools of the catalog a URL names: the union of both."""

    tools: frozenset[str]
    groups: frozenset[str]

    def has(self, tool: str, groups: tuple[str, ...]) -> bool:
        """Tell whether a tool of these groups is among them."""
        return tool in self.tools or not self.groups.isdisjoint(groups)


def selection_in(query: str) -> Selection | None:
    """Read `?tools=a,b&group=finance,hr`, each of which may be repeated; None where the URL selects no tools.

    Raises:
        InvalidParams: it names nothing, or too much.
    """
    tools, groups = _names_in(query, _TOOLS), _names_in(query, _GROUP)
    if tools is None and groups is None:
        return None
    selection = Selection(frozenset(tools or ()), frozenset(groups or ()))
    if len(selection.tools) + len(selection.groups) > MOST_NAMES:
        raise InvalidParams(f"The URL names more than {MOST_NAMES} tools and groups: give the tools a group.")
    return selection


def _names_in(query: str, parameter: str) -> list[str] | None:
    values = values_in(query, parameter)
    if not values:
        return None
    names = [name for value in values for one in value.split(",") if (name := one.strip())]
    if not names:
        raise InvalidParams(f"{parameter} in the URL names nothing: write names with commas, or leave it out.")
    return names


def switch_in(query: str, parameter: str) -> bool | None:
    """Read a parameter that is 1 or 0; None if it is not there.

    Raises:
        InvalidParams: it is something else.
    """
    match values_in(query, parameter):
        case []:
            return None
        case ["0" | "1" as value]:
            return value == "1"
        case _:
            raise InvalidParams(f"{parameter} in the URL must be given once, as 1 or 0.")


def values_in(query: str, parameter: str) -> list[str]:
    """Return the values of a parameter.

    Percent-encoding changes nothing, not even of its name or of the length: API Gateway may have decoded the query, so
    what the client sent is not known.

    Raises:
        InvalidParams: the query is too long, or has too many fields.
    """
    if parameter not in query and "%" not in query:
        return []
    try:
        fields = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise InvalidParams(f"The query of the URL has more than {_MOST_FIELDS} fields.") from None
    if sum(len(name) + len(value) for name, value in fields) > LONGEST_QUERY:
        raise InvalidParams(f"The query of the URL is longer than {LONGEST_QUERY} characters.")
    return [value for name, value in fields if name == parameter]


# ---------------------------------------------------------------------------------------------------------- Mcp-Param-*


ANNOTATION: Final = "x-mcp-header"
_TYPES: Final = ("integer", "string", "boolean")
_NAMED: Final = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
"""Keywords whose members are schemas under names that the author chooses."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # RFC 9110
_WHOLE_NUMBER: Final = re.compile(r"(-?[0-9]{1,16})(\.0+)?")  # the integers that every language reads exactly


class ParameterHeader(Struct, frozen=True):
    """A header and the parameter that it repeats."""

    name: str
    """Such as `Mcp-Param-Region`."""
    path: tuple[str, ...]
    """The names of the properties that lead to the parameter."""

    def value_in(self, arguments: JsonObject) -> Json:
        """Return the parameter's value in a call; None if the call does not give it."""
        value: Json = arguments
        for name in self.path:
            value = as_object(value).get(name)
        return value


def parameter_headers(schema: JsonObject) -> tuple[ParameterHeader, ...]:
    """Return the annotated parameters of a schema; clients look for them in nested properties only."""
    return tuple(
        ParameterHeader(f"Mcp-Param-{property_schema[ANNOTATION]}", path)
        for path, property_schema in _properties(schema)
        if ANNOTATION in property_schema
    )


def check_annotations(schema: JsonObject) -> None:
    """Check the annotations of an input schema; clients hide a tool with a wrong one.

    Raises:
        ValueError: an annotation is wrong; the message begins with its place.
    """
    known: dict[str, str] = {}
    _check_none_misplaced("the top level", schema)
    for path, property_schema in _properties(schema):
        where = "/properties/" + "/properties/".join(path)
        annotation = property_schema.get(ANNOTATION)
        _check_none_misplaced(where, {name: part for name, part in property_schema.items() if name != ANNOTATION})
        if ANNOTATION not in property_schema:
            continue
        if not isinstance(annotation, str) or not _TOKEN.fullmatch(annotation):
            raise ValueError(f"at {where}/{ANNOTATION}: must be the name of a header: letters, digits and hyphens")
        if property_schema.get("type") not in _TYPES:
            raise ValueError(f"at {where}: {ANNOTATION} needs a type of {', '.join(_TYPES)}")
        first = known.setdefault(annotation.lower(), where)
        if first != where:
            raise ValueError(f"at {where}/{ANNOTATION}: {annotation!r} is also the header of {first}")


def check_parameter_headers(
    headers: RequestHeaders, declared: tuple[ParameterHeader, ...], arguments: JsonObject
) -> None:
    """Compare the headers of a call with its arguments.

    Raises:
        HeaderMismatch: a header is missing or malformed, differs from its parameter, or repeats one that is absent.
    """
    for one in declared:
        found = decoded(one.name, headers.parameter(one.name))
        value = one.value_in(arguments)
        if isinstance(value, list | dict) or (isinstance(value, float) and not value.is_integer()):
            continue  # the schema reports what is wrong with it
        where = ".".join(("params.arguments", *one.path))
        if value is None:
            if found is not None:
                raise HeaderMismatch(f"The header {one.name} is present, but {where} is not.")
        elif found is None:
            raise HeaderMismatch(f"The header {one.name} is missing; it must repeat {where}, as tools/list says.")
        elif not _repeats(found, value):
            raise HeaderMismatch(f"The header {one.name} differs from {where}.")


def _repeats(text: str, value: Json) -> bool:
    match value:
        case bool():
            return text == ("true" if value else "false")
        case int() | float():
            number = _WHOLE_NUMBER.fullmatch(text)
            return number is not None and int(number[1]) == value
        case _:
            return text == value


def _properties(schema: JsonObject, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], JsonObject]]:
    for name, part in as_object(schema.get("properties")).items():
        property_schema = as_object(part)
        yield (*path, name), property_schema
        yield from _properties(property_schema, (*path, name))


def _check_none_misplaced(where: str, schema: JsonObject) -> None:
    if _has_annotation({name: part for name, part in schema.items() if name != "properties"}):
        raise ValueError(f"at {where}: {ANNOTATION} is where no client looks for it: only properties may have it")


def _has_annotation(part: Json, *, is_named: bool = False) -> bool:
    """Tell whether a part of a schema has an annotation; `is_named`: its members are schemas under chosen names."""
    match part:
        case dict():
            members = as_object(part)
            inner = (_has_annotation(one, is_named=not is_named and name in _NAMED) for name, one in members.items())
            return (ANNOTATION in members and not is_named) or any(inner)
        case list():
            return any(_has_annotation(one) for one in cast(list[Json], part))
        case _:
            return False


# --------------------------------------------------------------------------------------------------- server-sent events


# JSON does not escape these, and Python's `splitlines`, which some clients use, breaks lines at them.
_LINE_ENDS: Final = str.maketrans({character: f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"})


class ServerSentEvent(Struct, frozen=True):
    """One event: JSON text, or no data, which only carries the id."""

    data: str = ""
    id: str | None = None


def body_of(events: Iterable[ServerSentEvent], retry_ms: int | None = None) -> str:
    """Return the body of a response."""
    retry = "" if retry_ms is None else f"retry: {retry_ms}\n\n"
    return retry + "".join(map(_written, events))


def _written(event: ServerSentEvent) -> str:
    named = "" if event.id is None else f"id: {event.id}\n"
    return f"{named}data: {event.data.translate(_LINE_ENDS)}\n\n"
