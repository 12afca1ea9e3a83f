"""What a `serverless.yml` deploys, as the CloudFormation template that it stands for.

The rule: variables are filled in as far as files and defaults tell their values; the others stay texts. No plugin and
no JavaScript is run.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, cast

from stepwire.json_text import Json, JsonObject, as_object
from stepwire_wrap.files.texts import Unreadable, value_of

_VARIABLE: Final = re.compile(r"\$\{\s*((?:self|opt|env|sls|param):[^{}$]*|file\([^{}$]*\)[^{}$]*)\}")
_FILE: Final = re.compile(r"file\((?P<path>[^)]*)\)(?::(?P<member>.*))?")
_CHOICES: Final = re.compile(r",(?![^(]*\))")
_DEEPEST: Final = 12
_STAGE: Final = "dev"
_STAGES: Final = ("sls:stage", "opt:stage", "self:provider.stage")
_PARAMETER: Final = "serverless:stage"
"""The parameter that stands for the stage in names of state machines: each deployment has its own."""


@dataclass(frozen=True)
class Deployed:
    """What a file deploys."""

    template: JsonObject
    files: tuple[Path, ...] = ()
    """The files that it is put together from, besides its own."""


def is_serverless(value: JsonObject) -> bool:
    """Tell whether a file's value is that of a `serverless.yml`."""
    return "service" in value and "provider" in value and ("functions" in value or "stepFunctions" in value)


def deployed(value: JsonObject, path: Path) -> Deployed:
    """Return what a `serverless.yml` deploys."""
    variables = _Variables(value, path.parent)
    given = variables.object(value.get("resources"))
    own = variables.object(given.get("Resources"))
    machines = as_object(variables.object(value.get("stepFunctions")).get("stateMachines"))
    functions = variables.object(value.get("functions"))
    named = str(variables.value(as_object(value["service"]).get("name", value["service"])))
    prefix = f"{named}-{variables.value('${sls:stage}')}-"
    resources = dict(own)
    for name, one in functions.items():
        logical = f"{name[:1].upper()}{name[1:]}LambdaFunction".replace("-", "Dash").replace("_", "Underscore")
        resources[logical] = _function(as_object(one), f"{prefix}{name}")
        resources[name] = {"Type": "AWS::Lambda::Alias", "Properties": {"FunctionName": {"Ref": logical}}}
    staged = _Variables(value, path.parent, stage=f"${{{_PARAMETER}}}").object(value.get("stepFunctions"))
    names = as_object(staged.get("stateMachines"))
    for name, one in machines.items():
        resources[str(as_object(one).get("id", name))] = _machine(as_object(one), as_object(names.get(name)))
    parameters = {**variables.object(given.get("Parameters")), _PARAMETER: {"Default": variables.value("${sls:stage}")}}
    return Deployed({"Parameters": parameters, "Resources": resources}, tuple(dict.fromkeys(variables.files)))


def _function(function: JsonObject, name: str) -> JsonObject:
    properties = {"FunctionName": function.get("name", name), "Handler": function.get("handler"), "Code": "."}
    return {"Type": "AWS::Lambda::Function", "Properties": cast("Json", properties)}


def _machine(machine: JsonObject, staged: JsonObject) -> JsonObject:
    given = {"StateMachineType": "type", "Definition": "definition"}
    properties = {name: machine[one] for name, one in given.items() if one in machine}
    if "name" in staged:
        properties["StateMachineName"] = {"Fn::Sub": staged["name"]}
    return {"Type": "AWS::StepFunctions::StateMachine", "Properties": cast("Json", properties)}


@dataclass
class _Variables:
    """Fills in the variables of one file."""

    root: JsonObject
    folder: Path
    files: list[Path] = field(default_factory=list[Path])
    """Those that were included."""
    stage: str = ""
    """What is written for the stage; empty: its default."""

    def object(self, value: Json) -> JsonObject:
        """Return an object with its variables filled in; of a list of objects, the members of all."""
        found = self.value(value)
        parts = cast("list[Json]", found) if isinstance(found, list) else [found]
        return {name: inner for one in parts for name, inner in as_object(one).items()}

    def value(self, value: Json, depth: int = 0) -> Json:
        """Return a value with its variables filled in."""
        if depth > _DEEPEST:
            return value
        if isinstance(value, dict):
            return {name: self.value(one, depth + 1) for name, one in cast("JsonObject", value).items()}
        if isinstance(value, list):
            return [self.value(one, depth + 1) for one in cast("list[Json]", value)]
        if not isinstance(value, str) or (found := _VARIABLE.search(value)) is None:
            return value
        made = self._first(found[1], depth)
        if made is None:
            return value
        whole = made if found[0] == value.strip() else f"{value[: found.start()]}{made}{value[found.end() :]}"
        return self.value(whole, depth + 1)

    def _first(self, choices: str, depth: int) -> Json:
        """Return the first of several values that there is."""
        found = (self._named(one.strip(), depth) for one in _CHOICES.split(choices))
        first = next((one for one in found if one is not None), None)
        return _STAGE if first is None and choices.strip() in ("opt:stage", "sls:stage") else first

    def _named(self, name: str, depth: int) -> Json:
        if self.stage and name in _STAGES:
            return self.stage
        source, between, rest = name.partition(":")
        if (included := _FILE.fullmatch(name)) is not None:
            return _member(self._included(included["path"].strip()), included["member"] or "")
        if source == "self":
            return self.value(_member(self.root, rest), depth + 1)
        if name == "sls:stage":
            return self.value(_member(self.root, "provider.stage"), depth + 1)
        return None if between else name.strip("'\"")

    def _included(self, name: str) -> Json:
        path = self.folder / name
        try:
            value = value_of(path)
        except Unreadable:
            return None
        self.files.append(path)
        return value


def _member(value: Json, path: str) -> Json:
    for step in filter(None, path.split(".")):
        value = as_object(value).get(step)
    return value
