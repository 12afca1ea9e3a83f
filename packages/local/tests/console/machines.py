"""Definitions of state machines for the console's tests, small and large."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
EXAMPLES = Path(__file__).parents[4] / "examples" / "workflows"


def passing(name: str | None = None, **more: Any) -> Json:
    return {"Type": "Pass", **({"Next": name} if name else {"End": True}), **more}


def machine(start: str, **states: Json) -> Json:
    return {"StartAt": start, "States": states}


def examples() -> dict[str, Json]:
    """Return the definitions of the examples; none where their folder was deleted."""
    files = {path.name.partition(".")[0]: path for path in sorted(EXAMPLES.glob("*.asl.yaml"))}
    return {name: yaml.safe_load(path.read_text(encoding="utf-8")) for name, path in files.items()}


def choice(*targets: str, default: str) -> Json:
    rules = [{"Variable": "$.n", "NumericEquals": n, "Next": name} for n, name in enumerate(targets)]
    return {"Type": "Choice", "Choices": rules, "Default": default}


def sixty() -> Json:
    """An order of 60 states: stages of tasks with one handler, choices, a loop, branches and items."""
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Compensate"}]
    states: Json = {}
    stages = ("Check", "Price", "Reserve", "Charge", "Pack", "Ship")
    for stage, following in pairwise((*stages, "Notify")):
        tasks = [f"{stage}{part}" for part in ("Input", "Rules", "Record")]
        states[f"{stage}Needed"] = choice(tasks[0], f"{stage}ByHand", default=f"{following}Needed")
        for name, after in pairwise((*tasks, f"{following}Needed")):
            states[name] = {
                "Type": "Task",
                "Resource": f"arn:aws:states:::lambda:{name}",
                "Next": after,
                "Catch": catch,
            }
        states[f"{stage}ByHand"] = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Next": tasks[2]}
    states["NotifyNeeded"] = choice("Notify", default="Wait")
    states["Notify"] = {
        "Type": "Parallel",
        "Branches": [_branch(way) for way in ("Mail", "Text", "Paper", "Push")],
        "Next": "Items",
    }
    states["Items"] = {"Type": "Map", "ItemProcessor": _items(), "Next": "Wait", "Catch": catch}
    states["Wait"] = {"Type": "Wait", "Seconds": 5, "Next": "IsDelivered"}
    states["IsDelivered"] = choice("Done", "Compensate", default="Wait")
    states["Compensate"] = passing("Tell")
    states["Tell"] = passing("Refund")
    states["Refund"] = passing("Close")
    states["Close"] = {"Type": "Fail"}
    states["Done"] = {"Type": "Succeed"}
    return {"StartAt": "CheckNeeded", "States": states}


def _branch(way: str) -> Json:
    first, second, third = f"{way}Write", f"{way}Send", f"{way}Log"
    return machine(first, **{first: passing(second), second: passing(third), third: passing()})


def _items() -> Json:
    one = {"IsFragile": choice("Wrap", default="Label"), "Wrap": passing("Label"), "Label": passing("Weigh")}
    return machine(
        "IsFragile",
        **one,
        Weigh=passing("Store"),
        Store=passing("Scan"),
        Scan=passing("IsScanned"),
        IsScanned=choice("Stored", default="Scan"),
        Stored={"Type": "Succeed"},
    )


MACHINES: dict[str, Json] = {
    "one state": machine("A", A=passing()),
    "a chain": machine("A", A=passing("B"), B=passing("C"), C=passing()),
    "a choice": machine("A", A=choice("B", "C", default="D"), B=passing("D"), C=passing("D"), D=passing()),
    "a loop": machine("A", A=passing("B"), B=choice("A", "C", default="B"), C=passing()),
    "a long loop": machine(
        "A", A=passing("B"), B=passing("C"), C=passing("D"), D=choice("A", default="E"), E=passing()
    ),
    "a skip of several ranks": machine(
        "A", A=choice("B", "D", default="E"), B=passing("C"), C=passing("D"), D=passing("E"), E=passing()
    ),
    "a state that nothing reaches": machine("A", A=passing(), Alone=passing()),
    "a catch": machine("A", A=passing("B", Catch=[{"ErrorEquals": ["X"], "Next": "C"}]), B=passing(), C=passing()),
    "branches": machine(
        "P", P={"Type": "Parallel", "Branches": [_branch("Mail"), _branch("Text")], "Next": "Z"}, Z=passing()
    ),
    "items in a branch": machine(
        "P",
        P={
            "Type": "Parallel",
            "Branches": [machine("M", M={"Type": "Map", "Iterator": _items(), "End": True}), _branch("Mail")],
            "End": True,
        },
    ),
    "a tall box beside a long way": machine(
        "A",
        A=choice("P", "B", default="Z"),
        B=passing("Z"),
        P={"Type": "Parallel", "Branches": [_branch("Mail")], "Next": "Y"},
        Y=passing("Z"),
        Z=passing(),
    ),
    **examples(),
    "sixty states": sixty(),
}


def names_in(definition: Json) -> list[str]:
    """Return the names of all states, those in branches and items too."""
    found = list(definition["States"])
    for state in definition["States"].values():
        inner = [*state.get("Branches", ()), *filter(None, (state.get("ItemProcessor"), state.get("Iterator")))]
        found += [name for one in inner for name in names_in(one)]
    return found


def text(definition: Json) -> str:
    return json.dumps(definition)
