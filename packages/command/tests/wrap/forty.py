"""Forty state machines of mixed kinds, with what each is given rightly and wrongly."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from packages.wrap.tests.samples import in_jsonata, machine, passed
from stepwire.json_text import JsonObject

Given = Callable[[random.Random], JsonObject]
_RUNS: Final = (0, 1, 4, 12)


@dataclass(frozen=True)
class Kind:
    """A kind of state machine."""

    name: str
    definition: JsonObject
    right: Given
    wrong: JsonObject | None
    """Arguments that the definition alone tells to be wrong; None: only runs could tell."""


@dataclass(frozen=True)
class One:
    """One of the forty."""

    name: str
    kind: Kind
    runs: int


def _orders(chance: random.Random) -> JsonObject:
    lines = [{"sku": f"s{chance.randint(1, 9)}", "quantity": chance.randint(1, 9)} for _ in range(chance.randint(1, 3))]
    return {"id": str(chance.randint(1, 99)), "lines": lines} | ({"note": "soon"} if chance.random() < 0.5 else {})


def _rule(variable: str, to: str, **test: Any) -> JsonObject:
    return {"Variable": variable, "Next": to, **test}


_CHOICE: Final = machine(
    Which={
        "Type": "Choice",
        "Choices": [_rule("$.method", "Get", StringEquals="GET"), _rule("$.method", "Put", StringEquals="PUT")],
    },
    Get=passed(Parameters={"got.$": "$.id"}),
    Put=passed(Parameters={"put.$": "$.body.text"}),
)
_BOUNDS: Final = in_jsonata(
    Check={
        "Type": "Choice",
        "Choices": [{"Condition": "{% $states.input.percent < 0 or $states.input.percent > 100 %}", "Next": "Refuse"}],
        "Default": "Take",
    },
    Take=passed(Output={"half": "{% $states.input.percent / 2 %}"}),
    Refuse={"Type": "Fail", "Error": "OutOfRange", "Cause": "percent is from 0 to 100"},
)
_MAP: Final = machine(
    Each={
        "Type": "Map",
        "ItemsPath": "$.lines",
        "ItemProcessor": machine(Take=passed(Parameters={"sku.$": "$.sku", "quantity.$": "$.quantity"})),
        "ResultPath": "$.taken",
        "Next": "Done",
    },
    Done=passed(Parameters={"id.$": "$.id", "taken.$": "$.taken"}),
)
_PARALLEL: Final = machine(
    Both={
        "Type": "Parallel",
        "Branches": [
            machine(Left=passed(Parameters={"x.$": "$.left"})),
            machine(Right=passed(Parameters={"x.$": "States.MathAdd($.right, 1)"})),
        ],
        "End": True,
    }
)
_VARIABLES: Final = in_jsonata(
    Keep=passed("Use", Assign={"who": "{% $states.input.customer %}"}, Output={}),
    Use=passed(Output={"hello": "{% $uppercase($who.name) %}", "born": "{% $who.born %}"}),
)
_WAITS: Final = machine(Pause={"Type": "Wait", "SecondsPath": "$.seconds", "Next": "Done"}, Done=passed())
_NOTHING: Final = machine(Only=passed(Result={"fixed": True}))
_WHOLE: Final = in_jsonata(All=passed(Output="{% $states.input %}"))

KINDS: Final = (
    Kind("Choice", _CHOICE,
         lambda chance: {"method": "GET", "id": str(chance.randint(1, 9))}, {"method": "PATCH", "id": "1"}),
    Kind("Bounds", _BOUNDS, lambda chance: {"percent": chance.randint(0, 100)}, {"percent": 101}),
    Kind("Map", _MAP, _orders, {"id": "1", "lines": [{"sku": "s1"}]}),
    Kind("Parallel", _PARALLEL, lambda chance: {"left": "x", "right": chance.randint(1, 9)}, {"left": "x"}),
    Kind("Variables", _VARIABLES,
         lambda chance: {"customer": {"name": "anna", "born": chance.randint(1950, 2000)}}, {"customer": "anna"}),
    Kind("Waits", _WAITS, lambda chance: {"seconds": 0}, {"seconds": "long"}),
    Kind("Nothing", _NOTHING, lambda chance: {}, None),
    Kind("Whole", _WHOLE, lambda chance: {"text": "hello", "count": chance.randint(1, 9)}, None),
)  # fmt: skip


def forty() -> Iterator[One]:
    """Yield the forty: five of each kind, with histories of different lengths."""
    for number in range(40):
        kind = KINDS[number % len(KINDS)]
        yield One(f"{kind.name}{number:02}", kind, _RUNS[number // len(KINDS) % len(_RUNS)])
