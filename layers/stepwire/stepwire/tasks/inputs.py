"""Questions of workflows to clients (MCP elicitation, sampling, roots), and the answers, both validated strictly.

Only questions that every client's schema accepts are sent, and only answers that conform to the question reach a
workflow. A question's destination says where its answer goes: to the state that waits for it, or into the workflow's
input.
"""

import re
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from stepwire.codec import Keyed
from stepwire.json_text import Json, JsonObject, as_object, is_object, load_json, write
from stepwire.schemas.validation import SchemaError, Violation, check_schema, violations_of
from stepwire.tasks.answers import CALLER, Action, Audience, Given, InputResponse
from stepwire.tasks.question_schemas import FORM_PARAMS, LISTED, SAMPLED, SAMPLING_PARAMS, URL_PARAMS

KEY_PATTERN: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_RETRY_MARK: Final = "#"
LARGEST_QUESTION: Final = 16_384  # bytes of JSON
LARGEST_CONTENT: Final = 16_384  # bytes of JSON in one answer
MOST_QUESTIONS: Final = 100  # in the life of a task, repeated ones included
LONGEST_RETRYING: Final = timedelta(minutes=15)
"""How long after a question the same question is taken for a retry, if the entry of the state is not known."""
MOST_UNCLAIMED: Final = 2  # answers of 16 kB, so that the task still fits its item
LONGEST_CONFIRMATION: Final = timedelta(minutes=15)


class InvalidQuestion(ValueError):
    """A workflow's question cannot be sent to every client; the message says why."""


class InvalidResponse(ValueError):
    """An answer does not conform to its question; the message says what would be right."""


class Mode(StrEnum):
    """What a client can be asked: its user with a form or a web page, its model, or for its roots."""

    FORM = "form"
    URL = "url"
    SAMPLING = "sampling"
    ROOTS = "roots"


ELICITATION_MODES: Final = frozenset({Mode.FORM, Mode.URL})
"""The modes in which a client asks its user."""


class FormElicitation(Struct, frozen=True, tag="form", omit_defaults=True):
    """A question that asks for the fields of a form."""

    message: str
    requested_schema: str
    """JSON text: an object of strings, numbers, booleans and choices."""


class UrlElicitation(Struct, frozen=True, tag="url", omit_defaults=True):
    """A question that asks the user to open a web page, whose content the client does not see."""

    message: str
    url: str


class Sampling(Struct, frozen=True, tag="sampling", omit_defaults=True):
    """A question to the client's model."""

    params: str
    """JSON text: the checked params of a `sampling/createMessage`."""


class Roots(Struct, frozen=True, tag="roots", omit_defaults=True):
    """The question which folders the client works in."""


Elicitation: TypeAlias = FormElicitation | UrlElicitation
Asked: TypeAlias = Elicitation | Sampling | Roots


class AskingState(Struct, frozen=True, omit_defaults=True):
    """What tells whether a state that asks is one that has asked before, and was retried."""

    digest: str
    """Of the execution, the question, and the time at which the state was entered, if that is known."""
    at: datetime
    """When the state first asked it."""
    has_entry: bool = False
    """Whether the digest has the time of entry: only the same entry of the same state has this digest then."""

    def is_retried_by(self, other: "AskingState") -> bool:
        """Tell whether another asking may be a retry of this one; also a loop asks the same again, but much later."""
        if self.digest != other.digest:
            return False
        return self.has_entry or other.at - self.at <= LONGEST_RETRYING


class Callback(Keyed, frozen=True, tag="callback", omit_defaults=True):
    """The answer goes to the workflow state that waits for it."""

    token: str
    """Step Functions' task token. Secret: it authorizes the answer, and is stored only in the task's item."""
    run: int = 0
    """Index of the run whose workflow asks."""
    asking: AskingState | None = None
    """What the state asks; None where only the token matters."""

    def _key(self) -> Hashable:
        return self.token  # it belongs to one state


class WorkflowInput(Struct, frozen=True, tag="workflow_input", omit_defaults=True):
    """The answer decides whether the workflow starts, and may become part of its input."""

    member: str | None
    """The member of the input that receives the content; None: the content is not passed on."""


class InputRequest(Struct, frozen=True, omit_defaults=True):
    """An open question."""

    key: str
    """Unique for the life of the task."""
    number: int
    """Sequence number of the question, from 1; asking again takes the next number."""
    asked: Asked
    destination: Callback | WorkflowInput
    expires_at: datetime | None = None
    """When the workflow stops waiting for the answer; None: not known."""
    refusal: str | None = None
    """What was wrong with the previous answer."""
    audience: Audience = CALLER
    """Who answers it."""
    answers: tuple[Given, ...] = ()
    """What those of them have answered who did, while it waits for others of them."""

    @property
    def is_asked_again(self) -> bool:
        """Tell whether the question was asked before, under another key."""
        return _RETRY_MARK in self.key


class Directed(Struct, frozen=True):
    """A question to others than the caller."""

    asked: Asked
    """What they are shown of it."""
    audience: Audience


class UndeliveredAnswer(Struct, frozen=True, omit_defaults=True):
    """A recorded answer whose delivery to the workflow is not confirmed."""

    token: str
    answers: tuple[Given, ...]
    """At least one; the last one has closed the question."""
    asking: AskingState | None = None
    """What was asked."""
    is_unclaimed: bool = False
    """Whether nobody waited for it: it is kept for the retry of the state that asked."""
    run: int = 0
    """Index of the run whose workflow asked."""
    names_people: bool = False
    """Whether the workflow is told who has answered: of a question to others than the caller."""

    def text(self) -> str | None:
        """Return the workflow's JSON, or the client's result; None: the question cannot be answered.

        {"action": "accept" | "decline" | "cancel", "content"?: {...},
         "answers"?: [{"action": ..., "by": name, "person": digest, "at": time, "way": way, "content"?: {...}}]}
        """
        answer = self.answers[-1].answer
        if not isinstance(answer, InputResponse):
            return None
        if answer.action is None:
            return answer.content or "{}"
        people: JsonObject = {"answers": [one.shown() for one in self.answers]} if self.names_people else {}
        return write({**answer.shown(), **people})


def retry_key(key: str, number: int) -> str:
    """Return the key under which a question is asked again: the author's key and the sequence number.

    Unique for the life of the task without a list of such keys: no author's key contains the mark (`KEY_PATTERN`), and
    each number is used once.
    """
    return f"{key.partition(_RETRY_MARK)[0]}{_RETRY_MARK}{number}"


def modes_of(capabilities: JsonObject) -> frozenset[Mode]:
    """Return what a client can be asked, by the capabilities that it declares."""
    modes = frozenset(mode for mode in (Mode.SAMPLING, Mode.ROOTS) if is_object(capabilities.get(mode.value)))
    elicitation = capabilities.get("elicitation")
    if elicitation == {}:  # an empty capability means forms
        return modes | {Mode.FORM}
    declared = as_object(elicitation)
    return modes | frozenset(mode for mode in ELICITATION_MODES if mode.value in declared)


def mode_of(asked: Asked) -> Mode:
    """Return the kind of a question."""
    return _MODES[type(asked)]


def method_of(asked: Asked) -> str:
    """Return the MCP method that puts a question to a client."""
    return _METHODS.get(mode_of(asked), "elicitation/create")


def asked_of(given: JsonObject) -> Asked:
    """Return the question of a workflow, given as one of `elicitation`, `sampling` and `roots`.

    Raises:
        InvalidQuestion: none or several are given, or some client might refuse it.
    """
    if len(given) != 1:
        raise InvalidQuestion("it must have exactly one of elicitation, sampling and roots")
    ((kind, value),) = given.items()
    return _READERS[kind](value)


def elicitation_of(value: Json) -> Elicitation:
    """Return an elicitation from the params of `elicitation/create`: mode (default form), message and schema or url.

    Raises:
        InvalidQuestion: some client might refuse it.
    """
    params = as_object(value)
    _check_size(value)
    is_url = params.get("mode") == Mode.URL.value
    _check(violations_of(URL_PARAMS if is_url else FORM_PARAMS, value))
    if is_url:
        _check_url(params["url"])
        return UrlElicitation(params["message"], params["url"])
    _check_requested_schema(params["requestedSchema"])
    return FormElicitation(params["message"], write(params["requestedSchema"]))


def _sampling_of(value: Json) -> Sampling:
    # Without tools and contexts, for which a client needs further capabilities; each message has one content block,
    # because earlier types allow no list.
    _check_size(value)
    _check(violations_of(SAMPLING_PARAMS, value))
    # JSON Schema takes 100.0 for an integer, and some clients do not.
    return Sampling(write({**value, "maxTokens": int(value["maxTokens"])}))


def _roots_of(value: Json) -> Roots:
    if value != {}:
        raise InvalidQuestion("roots must be an empty object")
    return Roots()


def params_of(asked: Asked) -> JsonObject:
    """Return the params of the request that puts a question to a client."""
    match asked:
        case FormElicitation(message, schema):
            return {"mode": "form", "message": message, "requestedSchema": load_json(schema)}
        case UrlElicitation(message, url):
            return {"mode": "url", "message": message, "url": url}
        case Sampling(params):
            return load_json(params)
        case Roots():
            return {}


def response_of(asked: Asked, value: Json) -> InputResponse:
    """Return an answer that conforms to its question, without the fields that the question does not ask for.

    Raises:
        InvalidResponse: the answer does not conform.
    """
    match asked:
        case Sampling():
            return InputResponse(None, _result(SAMPLED, value))
        case Roots():
            return InputResponse(None, _result(LISTED, value))
        case FormElicitation() | UrlElicitation():
            result = as_object(value)
            action = next((one for one in Action if one.value == result.get("action")), None)
            if action is None:
                raise InvalidResponse('it must have an "action": "accept", "decline" or "cancel"')
            if action is not Action.ACCEPT or isinstance(asked, UrlElicitation):
                return InputResponse(action)
            return InputResponse(action, _content(asked, result.get("content")))


def _content(elicitation: FormElicitation, value: Json) -> str:
    if value is not None and not is_object(value):
        raise InvalidResponse('at content: it must be an object with the fields of "requestedSchema"')
    asked_for = load_json(elicitation.requested_schema)["properties"]
    text = _bounded({name: item for name, item in as_object(value).items() if name in asked_for}, "at content: ")
    violations = violations_of(elicitation.requested_schema, load_json(text))
    if violations:
        raise InvalidResponse("; ".join(f"at content{one.pointer}: {one.expected}" for one in violations))
    return text


def _bounded(value: Json, place: str = "") -> str:
    try:
        text = write(value)
    except ValueError:  # the parser has replaced the number by NaN
        raise InvalidResponse(f"{place}it has a number that is too large to be read exactly") from None
    if len(text.encode()) > LARGEST_CONTENT:
        raise InvalidResponse(f"{place}it is larger than {LARGEST_CONTENT} bytes of JSON")
    return text


def _result(schema: str, value: Json) -> str:
    """Return the members of a client's result that its schema names, as JSON text."""
    properties = load_json(schema)["properties"]
    # Some clients write null for a member that they leave out.
    known = {name: item for name, item in as_object(value).items() if name in properties and item is not None}
    text = _bounded(known)
    violations = violations_of(schema, load_json(text))
    if violations:
        raise InvalidResponse("; ".join(map(str, violations[:3])))
    return text


def _check_size(value: Json) -> None:
    try:
        size = len(write(value).encode())
    except ValueError:  # Lambda's JSON parser accepts both
        raise InvalidQuestion("it has a lone surrogate, or a number that JSON does not allow") from None
    if size > LARGEST_QUESTION:
        raise InvalidQuestion(f"it is larger than {LARGEST_QUESTION} bytes of JSON")


def _check(violations: tuple[Violation, ...]) -> None:
    if violations:
        raise InvalidQuestion("; ".join(map(str, violations[:3])))


def _check_url(url: str) -> None:
    # Readers of URLs leave out line ends and tabs, and show other characters as they like.
    if any(not "!" <= character <= "~" or character == "\\" for character in url):
        raise InvalidQuestion("at /url: it must be printable ASCII, without spaces: encode the rest (%20, xn--)")
    # M49: HTTPS only, except for a page on the developer's own machine.
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in {"localhost", "127.0.0.1"})
    except ValueError:
        is_safe, parts = False, None
    if not is_safe or parts is None or not parts.hostname or parts.username is not None:
        raise InvalidQuestion("at /url: it must be an https URL, without a user name")


def _check_requested_schema(schema: JsonObject) -> None:
    unknown = sorted(set(schema.get("required", ())) - schema["properties"].keys())
    if unknown:
        raise InvalidQuestion(f"at /requestedSchema/required: {unknown[0][:80]!r} is not one of its properties")
    try:
        check_schema(schema)
    except SchemaError as error:
        raise InvalidQuestion(f"at /requestedSchema: {error}") from None


_MODES: Final[Mapping[type[Asked], Mode]] = MappingProxyType(
    {FormElicitation: Mode.FORM, UrlElicitation: Mode.URL, Sampling: Mode.SAMPLING, Roots: Mode.ROOTS}
)
_METHODS: Final = MappingProxyType({Mode.SAMPLING: "sampling/createMessage", Mode.ROOTS: "roots/list"})
_READERS: Final[Mapping[str, Callable[[Json], Asked]]] = MappingProxyType(
    {"elicitation": elicitation_of, "sampling": _sampling_of, "roots": _roots_of}
)
