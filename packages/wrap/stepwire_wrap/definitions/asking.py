"""The lines that let a state ask through the endpoint, for one that waits for a person elsewhere.

The form has what later states read of the state's result (docs/talking_workflows.md). The rule: the new state gives
what the old one gave, so that nothing behind it changes; what cannot be carried over is named in a comment.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, as_object, load_json, objects_in, write
from stepwire.manifests.definitions import PlacedState, given_to
from stepwire_wrap.definitions.deciders import Decider, Others, key_of, others
from stepwire_wrap.definitions.expressions import expression_in
from stepwire_wrap.definitions.fields import Field, no_of
from stepwire_wrap.definitions.machines import analysed_of_a_variable
from stepwire_wrap.definitions.messages import Piece, formatted, joined_in, quoted
from stepwire_wrap.definitions.paths import reference_of
from stepwire_wrap.definitions.people import WaitingState, said_in
from stepwire_wrap.definitions.schemas import Part, parts_of
from stepwire_wrap.definitions.values import EACH, Path
from stepwire_wrap.definitions.yaml_text import yaml_lines

RETRY: Final[list[Json]] = [
    {"ErrorEquals": ["Stepwire.InputNotSupported", "Stepwire.InvalidInputRequest"], "MaxAttempts": 0},
    {
        "ErrorEquals": ["States.TaskFailed"],
        "IntervalSeconds": 2,
        "BackoffRate": 2,
        "MaxDelaySeconds": 60,
        "MaxAttempts": 12,
        "JitterStrategy": "FULL",
    },
]
"""What a state that asks retries. docs/talking_workflows.md says why."""
_ANSWER: Final = "answer__"  # a variable that no definition has
_DAY: Final = 86_400
_MOST_FIELDS: Final = 8
_MOST_SHOWN: Final = 4  # values that the question tells
_NO_WORDS: Final = re.compile(r"\([^)]*callback[^)]*\)|\b(SNS|SQS|Lambda|Step Functions)\b", re.IGNORECASE)
_RESULT: Final = re.compile(r"\$states\.result\b")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\W]+")
# The word for the other answer, where a definition knows only one.
_OTHERS: Final = {
    "approved": "rejected",
    "approve": "reject",
    "accepted": "rejected",
    "accept": "reject",
    "yes": "no",
    "confirmed": "declined",
    "confirm": "decline",
    "allow": "deny",
    "allowed": "denied",
    "ok": "no",
    "rejected": "approved",
    "reject": "approve",
    "denied": "allowed",
    "deny": "allow",
    "declined": "accepted",
    "decline": "accept",
    "no": "yes",
}
INPUT_REQUESTS: Final = '!Sub "{{resolve:ssm:/stepwire/${Endpoint}/input_requests}}"'
"""The ARN of the function that asks, as a template has it."""
SUBSTITUTIONS: Final = {"Partition": "!Ref AWS::Partition", "InputRequestsFunctionArn": INPUT_REQUESTS}
"""What the lines of a state that asks need in DefinitionSubstitutions."""
# What a field holds that nobody has answered, in JSONata: states on the way of a no may read it.
_NOTHING: Final = {"string": "''", "integer": "0", "number": "0"}


@dataclass(frozen=True)
class Asking:
    """A state that asks."""

    name: str
    state: JsonObject
    left: tuple[str, ...]
    """What it does not carry over from the old state."""

    def lines(self, *, as_json: bool = False) -> list[str]:
        """Return it as a member of `States`, in YAML or JSON."""
        written = _json_lines(self.name, self.state) if as_json else list(yaml_lines({self.name: self.state}, {}))
        return [*written, *(f"# {one}: carry it over by hand" for one in self.left)]


def asking_instead(waiting: WaitingState, decider: Decider) -> Asking:
    """Return the state that asks instead of one that waits for a person elsewhere."""
    found = _fields(waiting.place)
    fields, more = found[:_MOST_FIELDS], [json.dumps(one.name) for one in found[_MOST_FIELDS:]]
    asked = others() if decider is Decider.OTHERS else None
    if asked is not None:
        fields = asked.decided(fields)
    state, left = _asking(waiting, fields, asked)
    left += [f"{', '.join(more)}, which later states read and the form does not have"] if more else []
    return Asking(waiting.place.name, state, (*left, *(one for field in fields for one in field.unheard)))


def _json_lines(name: str, state: JsonObject) -> list[str]:
    """Return a member of `States`; YAML's escapes of what a terminal hides are those of JSON too."""
    return f"{json.dumps(name)}: {json.dumps(state, indent=2)}".splitlines()


def _asking(waiting: WaitingState, fields: list[Field], asked: Others | None) -> tuple[JsonObject, list[str]]:
    """Return the new state, and the names of the fields that it does not have."""
    place, state = waiting.place, waiting.place.state
    timeout = _timeout(state)
    form = {one.name: one.schema for one in fields if one.is_asked}
    payload: JsonObject = {
        "execution_arn": "{% $states.context.Execution.Id %}",
        "task_token": "{% $states.context.Task.Token %}",
        "key": key_of(place.name),
        **(asked.audience(waiting) if asked else {}),
        "timeout_seconds": timeout,
        "elicitation": {
            "message": _message(place, fields, asked),
            "requestedSchema": {"type": "object", "properties": form, **({"required": list(form)} if form else {})},
        },
    }
    answer, raises = _answer(fields)
    asking: JsonObject = {
        "Type": "Task",
        "QueryLanguage": "JSONata",
        "Resource": "arn:${Partition}:states:::lambda:invoke.waitForTaskToken",
        "Arguments": {"FunctionName": "${InputRequestsFunctionArn}", "Payload": payload},
        "TimeoutSeconds": timeout,
        "Retry": _retry(raises=raises),
    }
    kept, left = _kept(place, answer)
    return asking | kept, left


def _retry(*, raises: bool) -> list[Json]:
    """Return the retriers; a question that was declined is not asked again."""
    if not raises:
        return RETRY
    first = as_object(RETRY[0])
    return [{**first, "ErrorEquals": [*first["ErrorEquals"], "States.QueryEvaluationError"]}, *RETRY[1:]]


def _timeout(state: JsonObject) -> Json:
    for name in ("TimeoutSeconds", "HeartbeatSeconds"):
        if name in state:
            return state[name]
        if isinstance(path := state.get(f"{name}Path"), str) and (text := _in_jsonata(path, "$states.input")):
            return f"{{% {text} %}}"
    return _DAY


# The form


def _fields(place: PlacedState) -> list[Field]:
    """Return what later states read of the state's result."""
    state = dict(place.state)
    if place.language == "JSONata":
        text = _RESULT.sub(
            f"${_ANSWER}", json.dumps({name: state[name] for name in ("Output", "Assign") if name in state})
        )
        copy = {"Type": "Pass", "Output": f"{{% ${_ANSWER} %}}", **json.loads(text)}
    else:
        taken = ("ResultSelector", "ResultPath", "OutputPath", "Assign", "Next", "End")
        copy = {"Type": "Pass", "InputPath": f"${_ANSWER}", **{name: state[name] for name in taken if name in state}}
    copy |= {name: state[name] for name in ("Next", "End") if name in state}
    copy["QueryLanguage"] = place.language
    among = {**place.among, "StartAt": place.name, "States": {**as_object(place.among["States"]), place.name: copy}}
    among["QueryLanguage"] = place.among.get("QueryLanguage", place.language)
    root = parts_of(analysed_of_a_variable(among, _ANSWER))
    found, sent = dict[str, Field](), dict(_shown(place))
    for path, part in _leaves(root):
        name = path[-1] if path[-1] not in found else "_".join(path)
        is_chosen = any(read.use.compared is not None for read in part.reads)
        found[name] = Field(name, path, _schema(name, part), "" if is_chosen else sent.get(path[-1], ""))
    return list(found.values())


def _leaves(part: Part, path: Path = ()) -> Iterator[tuple[Path, Part]]:
    for name, one in part.members.items():
        if one.items is not None or name == EACH:
            continue
        yield from _leaves(one, (*path, name)) if one.members else iter([((*path, name), one)])


def _schema(name: str, part: Part) -> JsonObject:
    title = " ".join(_CAMEL.split(name)).strip().capitalize()
    for kind in ("boolean", "integer", "number"):
        if kind in part.types:
            return {"type": kind, "title": title}
    values = [read.use.compared for read in part.reads if read.use.compared is not None]
    texts = list(dict.fromkeys(load_json(one) for one in values if one.startswith('"') and one != '""'))
    if len(texts) == 1 and (other := _OTHERS.get(texts[0].lower())):
        texts.append(_like(texts[0], other))
    if len(texts) == 1:
        return {"type": "string", "title": title, "description": f"The workflow knows {texts[0]}."}
    return {"type": "string", "title": title, **({"enum": texts} if texts else {})}


def _like(word: str, other: str) -> str:
    """Return a word in the letters of another: `REJECTED` beside `APPROVED`."""
    return other.upper() if word.isupper() else other.capitalize() if word[:1].isupper() else other


# The question


def _message(place: PlacedState, fields: list[Field], asked: Others | None) -> str:
    is_agreement = all(not one.is_asked or one.schema["type"] == "boolean" for one in fields)
    asks = asked.asks if asked else "Do you agree?" if is_agreement else "Your answer?"
    told = _told(place) or [Piece(_subject(place))]
    last = replace(told[-1], words=told[-1].words.rstrip(".:? "))
    pieces = [*told[:-1], last]
    known = {one.value for one in pieces}
    shown = [(name, value) for name, value in _shown(place) if value not in known][:_MOST_SHOWN]
    for number, (name, value) in enumerate(shown):
        pieces += [Piece(f"{', ' if number else '. '}{name}: "), Piece(value=value)]
    pieces.append(Piece(f". {asks}"))
    if not any(one.value for one in pieces):
        return "".join(one.words for one in pieces)
    return f"{{% {' & '.join(one.expression for one in _joined(pieces))} %}}"


def _told(place: PlacedState) -> list[Piece]:
    """Return the longest text that the old state made of values; none if it made none."""
    made = list[list[Piece]]()
    for name, text in _members(given_to(place.state)):
        if place.language == "JSONata":
            made.append(joined_in(expression_in(text) or ""))
        elif name.endswith(".$"):
            made.append(formatted(text, lambda path: _in_jsonata(path, _root(place))))
    return max(made, key=lambda one: sum(len(piece.words) for piece in one), default=list[Piece]())


def _subject(place: PlacedState) -> str:
    said = [one for text in said_in(given_to(place.state)) if (one := _sentence(text))]
    words = " ".join(_CAMEL.split(_NO_WORDS.sub(" ", place.name))).strip().capitalize()
    return max(said, key=len, default=words)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Join the words that follow each other."""
    found = list[Piece]()
    for one in pieces:
        if not one.value and found and not found[-1].value:
            found[-1] = Piece(f"{found[-1].words}{one.words}")
        else:
            found.append(one)
    return found


def _sentence(text: str) -> str:
    """Return the first words of a text that people read; empty if it is none."""
    plain = re.split(r"https?://|\$\{|\{\}|[\n\\\"]", text)[0]
    whole = " ".join(re.split(r"(?<=[.!?])\s", plain)[0].split())
    return whole if len(whole.split()) > 1 and whole.isprintable() and "token" not in whole.lower() else ""


def _shown(place: PlacedState) -> Iterator[tuple[str, str]]:
    """Yield the names and the expressions of the values that the old state sent."""
    root = _root(place)
    for name, one in _members(given_to(place.state)):
        text = expression_in(one) if place.language == "JSONata" else _in_jsonata(one, root)
        if text and text != root and re.fullmatch(r"\$states\.input(\.[\w`]+)+", text):
            yield name.removesuffix(".$"), text


def _root(place: PlacedState) -> str:
    """Return the expression of what the state's paths begin with."""
    root, path = "$states.input", place.state.get("InputPath")
    return (_in_jsonata(path, root) or root) if isinstance(path, str) else root


def _members(value: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    for name, one in value.items():
        if isinstance(one, str):
            yield name, one
        elif isinstance(one, dict):
            yield from _members(cast(JsonObject, one))


# What the state gives


def _answer(fields: list[Field]) -> tuple[str, bool]:
    """Return the expression for the result as later states read it, and whether it fails if the user declines."""
    content = "$states.result.content"
    nested: JsonObject = {}
    for one in fields:
        _put(nested, one.path, one.sent or one.agreed or f"{content}.{_step(one.name)}")
    accepted = content if all(one.path == (one.name,) and one.is_asked for one in fields) else _written(nested)
    if all(no_of(one) is None for one in fields):
        return _if_accepted(accepted), True
    declined: JsonObject = {}
    for one in fields:
        _put(declined, one.path, one.sent or no_of(one) or _NOTHING[one.schema["type"]])
    return f"($states.result.action = 'accept' ? {accepted} : {_written(declined)})", False


def _if_accepted(text: str) -> str:
    return f"($states.result.action = 'accept' ? {text} : $error('The user has declined.'))"


def _put(into: JsonObject, path: Path, text: Json) -> None:
    for step in path[:-1]:
        into = into.setdefault(step, {})
    into[path[-1]] = text


def _written(value: Json) -> str:
    """Return an object of expressions as JSONata."""
    if not isinstance(value, dict):
        return str(value)
    return "{" + ", ".join(f"{quoted(name)}: {_written(one)}" for name, one in cast(JsonObject, value).items()) + "}"


def _kept(place: PlacedState, answer: str) -> tuple[JsonObject, list[str]]:
    """Return what becomes of the answer, and where the state leads to, as the old state had it."""
    state = place.state
    kept = {name: state[name] for name in ("Comment", "Next", "End") if name in state}
    if place.language == "JSONata":
        own = {name: _replaced(state[name], answer) for name in ("Output", "Assign", "Catch") if name in state}
        if "Output" in state and "$states.result" not in json.dumps([own.get("Output"), own.get("Assign")]):
            own["Assign"] = {**as_object(own.get("Assign")), "agreed": f"{{% {_if_accepted('true')} %}}"}
        return {"Output": f"{{% {answer} %}}", **own, **kept}, []
    handlers = [_handler(one) for one in objects_in(state.get("Catch"))]
    left = ["Assign"] if "Assign" in state else []
    if "ResultSelector" in state:
        selected = _selected(state["ResultSelector"], answer)
        answer, left = selected or answer, left + ([] if selected else ["ResultSelector"])
    left += ["Assign of Catch"] if any("Assign" in one for one in objects_in(state.get("Catch"))) else []
    output = _placed(state.get("ResultPath", "$"), answer)
    output = output if answer in output else _if_accepted(output)  # who declines stops a workflow that reads no answer
    if isinstance(path := state.get("OutputPath"), str) and path != "$":
        output = _in_jsonata(path, f"({output})") or output
    return {"Output": f"{{% {output} %}}", **({"Catch": handlers} if handlers else {}), **kept}, left


def _selected(selector: Json, answer: str) -> str | None:
    """Return what `ResultSelector` makes of the answer; None if it does more than select."""
    members: list[str] = []
    for name, one in as_object(selector).items():
        text = _in_jsonata(one, answer) if name.endswith(".$") and isinstance(one, str) else write(one)
        if text is None or isinstance(one, dict | list):
            return None
        members.append(f"{quoted(name.removesuffix('.$'))}: {text}")
    return "{" + ", ".join(members) + "}"


def _replaced(value: Json, answer: str) -> Json:
    text = json.dumps(value)
    return load_json(_RESULT.sub(lambda _found: json.dumps(answer)[1:-1], text)) if "$states.result" in text else value


def _handler(handler: JsonObject) -> JsonObject:
    output = _placed(handler.get("ResultPath", "$"), "$states.errorOutput")
    return {"ErrorEquals": handler.get("ErrorEquals", []), "Output": f"{{% {output} %}}", "Next": handler.get("Next")}


def _placed(path: Json, value: str) -> str:
    """Return the state's input with a value at a reference path, as `ResultPath` puts it there."""
    reference = reference_of(path) if isinstance(path, str) else None
    if path is None or reference is None:
        return "$states.input"
    for size in range(len(reference.path), 0, -1):
        outer = "".join(f".{_step(one)}" for one in reference.path[: size - 1])
        value = f"$merge([$states.input{outer}, {{{quoted(reference.path[size - 1])}: {value}}}])"
    return value


def _in_jsonata(path: str, root: str) -> str | None:
    """Return a JSONPath of the state's data as JSONata; None if it is more than names."""
    reference = reference_of(path.strip())
    if reference is None or reference.root != "$" or not reference.is_whole or EACH in reference.path:
        return None
    return root + "".join(f".{_step(one)}" for one in reference.path)


def _step(name: str) -> str:
    return name if _NAME.fullmatch(name) else f"`{name}`"
