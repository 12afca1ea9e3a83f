"""What a workflow asks the user of its caller, and what comes back: MCP's elicitations, read strictly.

Nothing that a client's types might refuse is ever asked, and no answer reaches a workflow that is not what it asked
for. Where an answer goes is part of the question: back to the state that waits for it, or into a workflow's input.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeAlias, cast
from urllib.parse import urlsplit

from stepwire.json_text import Json, JsonObject, as_object, is_object, read_back, write
from stepwire.schemas import SchemaError, Violation, check_schema, violations_of

KEY_PATTERN: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_AGAIN: Final = "#"
LARGEST_ELICITATION: Final = 16_384  # bytes of JSON
LARGEST_CONTENT: Final = 16_384  # bytes of JSON in one answer
LONGEST_QUESTION: Final = 4_000  # characters
LONGEST_URL: Final = 2_000  # characters
MOST_QUESTIONS: Final = 100  # in the life of a task, those that are asked again among them
LONGEST_CONFIRMATION: Final = timedelta(minutes=15)


class InvalidElicitation(ValueError):
    """What a workflow wants to ask is no elicitation; the message says why."""


class InvalidResponse(ValueError):
    """An answer is not what was asked for; the message says what would be right."""


class Mode(Enum):
    """How a user is asked: by a form in the client, or by a page elsewhere."""

    FORM = "form"
    URL = "url"


class Action(Enum):
    """What the user did."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


@dataclass(frozen=True)
class FormElicitation:
    """Asks for the fields of a form."""

    message: str
    requested_schema: str
    """JSON text: an object of strings, numbers, booleans and choices."""


@dataclass(frozen=True)
class UrlElicitation:
    """Asks the user to open a page; what happens there is not for the client to see."""

    message: str
    url: str


Elicitation: TypeAlias = FormElicitation | UrlElicitation


@dataclass(frozen=True)
class Callback:
    """The answer goes to the state that waits for it."""

    token: str
    """Opaque, and secret: whoever has it can answer. It never leaves the task's item but for Step Functions."""


@dataclass(frozen=True)
class WorkflowInput:
    """The answer decides whether the workflow begins, and may become a part of its input."""

    member: str | None
    """Where in the input the content goes; None: nowhere."""


@dataclass(frozen=True)
class InputRequest:
    """A question that is open."""

    key: str
    """Unique for the life of the task."""
    number: int
    """The how-manieth question this is; one that is asked again, because the answer was wrong, counts again."""
    elicitation: Elicitation
    destination: Callback | WorkflowInput
    expires_at: datetime | None = None
    """When nobody waits for the answer any more; None: not known."""
    refusal: str | None = None
    """What was wrong with the answer before."""


@dataclass(frozen=True)
class InputResponse:
    """What the user answered."""

    action: Action
    content: str | None = None
    """JSON text of an object, of a form that was accepted."""

    def text(self) -> str:
        """Write it as the workflow gets it: {"action": "accept" | "decline" | "cancel", "content"?: {...}}."""
        answer: JsonObject = {"action": self.action.value}
        return write(answer if self.content is None else {**answer, "content": read_back(self.content)})


@dataclass(frozen=True)
class Unanswerable:
    """The client cannot ask its user, though it had said so."""


Answer: TypeAlias = InputResponse | Unanswerable


@dataclass(frozen=True)
class UndeliveredAnswer:
    """An answer that is recorded, and that the workflow may not have got yet."""

    token: str
    answer: Answer


def key_again(key: str, number: int) -> str:
    """Make the key under which a question is asked again: its author's, and its number.

    No author's key has the mark between them (`KEY_PATTERN`), and no number is used twice: so it is unique for the life
    of the task, with no list of such keys.
    """
    return f"{key.partition(_AGAIN)[0]}{_AGAIN}{number}"


def modes_of(capability: Json) -> frozenset[Mode]:
    """Read a client's capability `elicitation`; an empty one means forms."""
    if not isinstance(capability, dict):
        return frozenset()
    declared = cast(JsonObject, capability)
    named = frozenset(mode for mode in Mode if mode.value in declared)
    return named or (frozenset({Mode.FORM}) if not declared else frozenset())


def mode_of(elicitation: Elicitation) -> Mode:
    """Tell how an elicitation asks."""
    return Mode.FORM if isinstance(elicitation, FormElicitation) else Mode.URL


def elicitation_of(value: Json) -> Elicitation:
    """Read the parameters of an `elicitation/create`: mode (form where left out), message, requestedSchema or url.

    Raises:
        InvalidElicitation: a client might refuse it.
    """
    params = as_object(value)
    if _size_of(value) > LARGEST_ELICITATION:
        raise InvalidElicitation(f"it is larger than {LARGEST_ELICITATION} bytes of JSON")
    is_url = params.get("mode") == Mode.URL.value
    _check(violations_of(_URL_PARAMS if is_url else _FORM_PARAMS, value))
    if is_url:
        _check_url(params["url"])
        return UrlElicitation(params["message"], params["url"])
    _check_requested_schema(params["requestedSchema"])
    return FormElicitation(params["message"], write(params["requestedSchema"]))


def params_of(elicitation: Elicitation) -> JsonObject:
    """Write the parameters of an `elicitation/create`."""
    match elicitation:
        case FormElicitation(message, schema):
            return {"mode": "form", "message": message, "requestedSchema": read_back(schema)}
        case UrlElicitation(message, url):
            return {"mode": "url", "message": message, "url": url}


def response_of(elicitation: Elicitation, value: Json) -> InputResponse:
    """Read an answer, and hold it against what was asked. What nobody asked for is left out.

    Raises:
        InvalidResponse: it is not what was asked for.
    """
    result = as_object(value)
    action = next((one for one in Action if one.value == result.get("action")), None)
    if action is None:
        raise InvalidResponse('it must have an "action": "accept", "decline" or "cancel"')
    if action is not Action.ACCEPT or isinstance(elicitation, UrlElicitation):
        return InputResponse(action)
    return InputResponse(action, _content(elicitation, result.get("content")))


def _content(elicitation: FormElicitation, value: Json) -> str:
    if value is not None and not is_object(value):
        raise InvalidResponse('at content: it must be an object with the fields of "requestedSchema"')
    asked_for = read_back(elicitation.requested_schema)["properties"]
    try:
        text = write({name: item for name, item in as_object(value).items() if name in asked_for})
    except ValueError:  # it is NaN by now
        raise InvalidResponse("at content: it has a number that is too large to be read exactly") from None
    if len(text.encode()) > LARGEST_CONTENT:
        raise InvalidResponse(f"at content: it is larger than {LARGEST_CONTENT} bytes of JSON")
    violations = violations_of(elicitation.requested_schema, read_back(text))
    if violations:
        raise InvalidResponse("; ".join(f"at content{one.pointer}: {one.expected}" for one in violations))
    return text


def _size_of(value: Json) -> int:
    try:
        return len(write(value).encode())
    except ValueError:  # the readers of JSON in front of us let both pass
        raise InvalidElicitation("it has half a character, or a number that JSON does not know") from None


def _check(violations: tuple[Violation, ...]) -> None:
    if violations:
        raise InvalidElicitation("; ".join(map(str, violations[:3])))


def _check_url(url: str) -> None:
    # M49: HTTPS, but for a page on the developer's own machine.
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1"})
    except ValueError:
        is_safe, parts = False, None
    if not is_safe or parts is None or not parts.hostname or parts.username is not None:
        raise InvalidElicitation("at /url: it must be an https URL, without a user name")


def _check_requested_schema(schema: JsonObject) -> None:
    unknown = sorted(set(schema.get("required", ())) - schema["properties"].keys())
    if unknown:
        raise InvalidElicitation(f"at /requestedSchema/required: {unknown[0][:80]!r} is not one of its properties")
    try:
        check_schema(schema)
    except SchemaError as error:
        raise InvalidElicitation(f"at /requestedSchema: {error}") from None


_TEXT: Final[JsonObject] = {"type": "string"}
_COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}
_NUMBER: Final[JsonObject] = {"type": "number"}
_TEXTS: Final[JsonObject] = {"type": "array", "items": _TEXT, "minItems": 1}


def _closed(required: JsonObject, optional: JsonObject) -> JsonObject:
    properties = {**required, **optional}
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _field(kind: Json, default: JsonObject, required: JsonObject, optional: JsonObject | None = None) -> JsonObject:
    described = {"title": _TEXT, "description": _TEXT, "default": default}
    return _closed({"type": kind, **required}, {**described, **(optional or {})})


_TITLED: Final[JsonObject] = {"type": "array", "minItems": 1, "items": _closed({"const": _TEXT, "title": _TEXT}, {})}
_CHOICES: Final[JsonObject] = {"type": "array", "items": _TEXT}
_IS_STRING: Final[JsonObject] = {"const": "string"}
_IS_ARRAY: Final[JsonObject] = {"const": "array"}
_FORMATS: Final[JsonObject] = {"enum": ["email", "uri", "date", "date-time"]}
# M47: what both eras' schemas allow, and no more; a client's types refuse the rest.
_PROPERTY: Final[JsonObject] = {
    "anyOf": [
        _field(_IS_STRING, _TEXT, {}, {"minLength": _COUNT, "maxLength": _COUNT, "format": _FORMATS}),
        _field({"enum": ["number", "integer"]}, _NUMBER, {}, {"minimum": _NUMBER, "maximum": _NUMBER}),
        _field({"const": "boolean"}, {"type": "boolean"}, {}),
        _field(_IS_STRING, _TEXT, {"enum": _TEXTS}, {"enumNames": _TEXTS}),
        _field(_IS_STRING, _TEXT, {"oneOf": _TITLED}),
        _field(
            _IS_ARRAY,
            _CHOICES,
            {"items": {"anyOf": [_closed({"type": _IS_STRING, "enum": _TEXTS}, {}), _closed({"anyOf": _TITLED}, {})]}},
            {"minItems": _COUNT, "maxItems": _COUNT},
        ),
    ]
}
_MESSAGE: Final[JsonObject] = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION}
_REQUESTED_SCHEMA: Final = _closed(
    {"type": {"const": "object"}, "properties": {"type": "object", "additionalProperties": _PROPERTY}},
    {"$schema": _TEXT, "required": {"type": "array", "items": _TEXT}},
)
_FORM_PARAMS: Final = write(
    _closed({"message": _MESSAGE, "requestedSchema": _REQUESTED_SCHEMA}, {"mode": {"const": "form"}})
)
_URL_PARAMS: Final = write(
    _closed({"mode": {"const": "url"}, "message": _MESSAGE, "url": {"type": "string", "maxLength": LONGEST_URL}}, {})
)
