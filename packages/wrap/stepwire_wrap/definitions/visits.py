"""What one state does: its ways out, its conditions, and the states inside it. Shared by both query languages."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from stepwire.json_text import Json, JsonObject, as_object, objects_in
from stepwire_wrap.definitions.conditions import Condition
from stepwire_wrap.definitions.handlers import handler_of, note_event, result_of
from stepwire_wrap.definitions.reads import LIST, NUMBER, TEXT, WHOLE, Use
from stepwire_wrap.definitions.scopes import Scope, Variables
from stepwire_wrap.definitions.services import Member, parameters_of
from stepwire_wrap.definitions.values import UNKNOWN, Path, Value, input_paths, is_input_alone, record

_MOST_BRANCHES: Final = 40
ITEMS: Final = Use(must=True, types=LIST, needed=True)
"""What a Map state does with its array."""
FIELDS: Final[Mapping[str, Use]] = {
    "Seconds": Use(must=True, types=NUMBER, needed=True),
    "Timestamp": Use(must=True, types=TEXT, needed=True, format="date-time"),
    "TimeoutSeconds": Use(must=True, types=WHOLE, needed=True),
    "HeartbeatSeconds": Use(must=True, types=WHOLE, needed=True),
    "MaxConcurrency": Use(must=True, types=WHOLE, needed=True),
    "ToleratedFailurePercentage": Use(must=True, types=NUMBER, needed=True),
    "ToleratedFailureCount": Use(must=True, types=WHOLE, needed=True),
    "MaxItems": Use(must=True, types=WHOLE, needed=True),
    "MaxItemsPerBatch": Use(must=True, types=WHOLE, needed=True),
    "MaxInputBytesPerBatch": Use(must=True, types=WHOLE, needed=True),
    "Error": Use(types=TEXT),
    "Cause": Use(types=TEXT),
}
"""What a state does with a field that it may read from its input. In JSONPath, the field's name ends in `Path`."""
Fill: TypeAlias = Callable[[Json, Scope], Value]


def fields_in(state: JsonObject) -> Iterator[tuple[str, Json]]:
    """Yield the fields of a state and, in a Distributed Map, those that say how it reads and batches its items."""
    reader = as_object(state.get("ItemReader"))
    for one in (state, as_object(reader.get("ReaderConfig")), as_object(state.get("ItemBatcher"))):
        yield from one.items()


@dataclass(frozen=True)
class Exit:
    """One way out of a state."""

    to: str | None
    """Name of the next state; None: the end."""
    value: Value
    variables: Variables
    is_error: bool = False
    """Whether it is an error handler's."""


@dataclass(frozen=True)
class Branch:
    """States inside a state, with what they begin with."""

    definition: JsonObject
    data: Value
    variables: Variables
    item: Value = UNKNOWN
    """The item of a Map state that they run for."""
    items: Path | None = None
    """Where in the input those items are, if that is known."""
    runs_once: bool = True


@dataclass(frozen=True)
class Rule:
    """One rule of a Choice state, and where it leads."""

    condition: Condition
    to: str


@dataclass
class Visit:
    """What was seen in one state."""

    exits: list[Exit] = field(default_factory=list[Exit])
    branches: list[Branch] = field(default_factory=list[Branch])
    rules: list[Rule] = field(default_factory=list[Rule])
    default: str | None = None


def takes_of(state: JsonObject, scope: Scope) -> Member | None:
    """Return what the service takes that a task calls; None if it is not known, or if there is none."""
    handler = handler_of(state, scope.handlers)
    if handler is not None:
        return Member(None, is_read=handler.is_all)
    return parameters_of(state.get("Resource")) if state.get("Type") == "Task" else None


def called(state: JsonObject, given: Value, scope: Scope) -> Value:
    """Note what becomes of what a task gives to its function, and return the function's result.

    Where a task names no arguments, all its data is given.
    """
    handler = handler_of(state, scope.handlers)
    if "Parameters" not in state and "Arguments" not in state:
        scope.note(given, Use(passed_on=handler is None or not handler.is_all))
    if handler is not None:
        note_event(state, given, handler, scope.reads)
    return result_of(state, given, scope.handlers)


def next_of(state: JsonObject) -> str | None:
    """Return the name of the next state; None at the end."""
    return str(state["Next"]) if "Next" in state else None


def assigned(state: JsonObject, scope: Scope, fill: Fill) -> Variables:
    """Return the variables after a state or a rule."""
    new = as_object(state.get("Assign"))
    if not new:
        return scope.variables
    values = {name.removesuffix(".$"): fill({name: one}, scope) for name, one in new.items()}
    return {**scope.variables, **{name: _only_member(value) for name, value in values.items()}}


def _only_member(value: Value) -> Value:
    (made,) = value
    (member,) = getattr(made, "members", ((None, UNKNOWN),))
    return member[1]


def side_by_side(state: JsonObject, given: Value, scope: Scope) -> list[Branch]:
    """Return the branches of a Parallel state, each of which begins with what is given."""
    branches = objects_in(state.get("Branches"))[:_MOST_BRANCHES]
    return [Branch(one, given, scope.variables, scope.item) for one in branches]


def repeated(state: JsonObject, given: Value, item: Value, items: Value, variables: Variables) -> Branch:
    """Return the states that a Map state runs for each item. Of items in batches, nothing is known."""
    if "ItemBatcher" in state:
        given = record({"Items": UNKNOWN, "BatchInput": UNKNOWN})
    definition = as_object(state.get("ItemProcessor", state.get("Iterator")))
    is_apart = as_object(definition.get("ProcessorConfig")).get("Mode") == "DISTRIBUTED"
    place = input_paths(items)[0] if is_input_alone(items) else None
    return Branch(definition, given, {} if is_apart else variables, item, place, runs_once=False)
