"""The state machines of a SAM or CloudFormation template, and of the templates that it nests."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from stepwire.json_text import Json, JsonObject, as_object
from stepwire_wrap.files.functions import Entry, Functions, functions_of
from stepwire_wrap.files.intrinsics import Resolver, Values, referred, substituted
from stepwire_wrap.files.texts import Unreadable, parsed, value_of

MACHINES: Final = ("AWS::Serverless::StateMachine", "AWS::StepFunctions::StateMachine")
# What SAM and the Serverless Framework add to the logical id of what they make more resources of.
_MADE: Final = re.compile("Role|Version|Alias|StepFunctions|Lambda")
_STACKS: Final = {"AWS::CloudFormation::Stack": "TemplateURL", "AWS::Serverless::Application": "Location"}
_PARAMETER: Final = "AWS::SSM::Parameter"
_FILES: Final = ("DefinitionUri", "DefinitionS3Location")
_OUTPUTS: Final = ".Outputs."
_VARIABLE: Final = re.compile(r"\$\{[^{}]*\}")
_MEMBER: Final = re.compile(r"(\.\w+)*\}$")
_WHOLE_MARKS: Final = ("README.md", "readme.md", ".git")
_PROJECT_MARKS: Final = (*_WHOLE_MARKS, "cdk.json", "main.tf", "package.json", "pyproject.toml", "serverless.yml")
_FARTHEST: Final = 4  # folders around a definition
_DEEPEST: Final = 5  # templates inside templates


@dataclass(frozen=True)
class FoundMachine:
    """A state machine in a file."""

    path: Path
    """The file that has its definition."""
    definition: JsonObject
    title: tuple[str, ...]
    """What it may be called, the best first."""
    name: str | None = None
    """Its name in AWS, if each deployment gives it the same."""
    logical_id: str = ""
    """In its template; empty: it is in none."""
    is_express: bool = False
    template: "Template | None" = None
    folder: Path = Path()
    """The folder that was named, and that the project is in."""
    default_name: str = ""
    """Its name in AWS where each parameter has its default; empty: it has none in its template."""

    @property
    def is_json(self) -> bool:
        """Whether its definition is written in JSON."""
        return self.path.suffix == ".json"

    @cached_property
    def projects(self) -> tuple[Path, ...]:
        """The folders of its project: that of its template, or those around its definition, the nearest first."""
        if self.template is not None:
            return (self.template.path.parent.resolve(),)
        folder = self.folder.resolve()
        around = [one for one in self.path.resolve().parents if one.is_relative_to(folder)] or [folder]
        outermost = next((one for one in around if _has(one, _WHOLE_MARKS)), around[-1])
        inner = around[: around.index(outermost)]
        return (*(one for one in inner if _has(one, _PROJECT_MARKS)), outermost)

    @property
    def project(self) -> Path:
        """The outermost folder of its project."""
        return self.projects[-1]


def project_around(path: Path) -> Path:
    """Return the folder of the project that a definition is in; if nothing marks one, the folder of the definition."""
    near = path.resolve().parents[:_FARTHEST]
    marked = (one for marks in (_WHOLE_MARKS, _PROJECT_MARKS) for one in near if _has(one, marks))
    return next(marked, near[0])


def _has(folder: Path, marks: Iterable[str]) -> bool:
    return any((folder / one).exists() for one in marks)


@dataclass(frozen=True)
class Fault:
    """What cannot be read, in one line."""

    where: str
    what: str


@dataclass(frozen=True)
class Parameter:
    """What a template registers (docs/adopting.md): a manifest, or a file beside it."""

    logical_id: str
    name: str
    text: str
    tier: str
    """Empty: the one that costs nothing."""
    is_conditional: bool
    unknown: tuple[str, ...]
    """What it refers to, and the template does not have."""

    @property
    def path(self) -> str:
        """The rest of its name behind `/tools/`: the tool's, and of a file beside it the path too."""
        return self.name.partition("/tools/")[2]


@dataclass(frozen=True)
class Template:
    """A template with what it nests."""

    path: Path
    body: JsonObject
    resolver: Resolver
    functions: Functions
    children: "dict[str, Template]" = field(default_factory=dict[str, "Template"])
    """The templates that it nests, by the logical ids of their stacks."""
    outer: "Template | None" = None
    included: tuple[Path, ...] = ()
    """The other files that it is put together from."""

    @property
    def resources(self) -> dict[str, JsonObject]:
        """The resources by their logical ids."""
        return {name: as_object(one) for name, one in as_object(self.body.get("Resources")).items()}

    def files(self) -> Iterator[Path]:
        """Yield the template's file, and those of what it nests."""
        yield from (self.path, *self.included)
        for one in self.children.values():
            yield from one.files()

    def function(self, text: str) -> Entry | None:
        """Return the code of the function that a text names; one of an outer template too."""
        if (found := self.functions.named(text)) is not None:
            return found
        stack, outputs, name = text.removeprefix("${").removesuffix("}").partition(_OUTPUTS)
        if outputs and stack in self.children:
            child = self.children[stack]
            value = as_object(as_object(child.body.get("Outputs")).get(name)).get("Value")
            return child.function(child.resolver.text(value))
        return None if self.outer is None else self.outer.function(text)

    def has_other(self, text: str) -> bool:
        """Tell whether a text names a resource that is no function, such as an activity."""
        kind = str(self.resources.get(_MEMBER.sub("", text.removeprefix("${")), {}).get("Type", ""))
        return bool(kind) and "::Function" not in kind and "::Lambda::" not in kind

    @property
    def parameters(self) -> frozenset[str]:
        """The names of the values that a deployment gives it."""
        return frozenset(as_object(self.body.get("Parameters")))

    def knows(self, name: str) -> bool:
        """Tell whether a reference to a name is right; one to a role or an alias that a transform makes is, too."""
        rests = (name[len(one) :] for one in self.resources if name.lower().startswith(one.lower()))
        is_known = name in self.parameters or name in self.resources
        is_open = any("::" in one for one in (name, *self.resources))  # AWS's own names; loops and what is included
        return is_known or is_open or any(_MADE.match(one) for one in rests)

    def machines(self) -> Iterator[FoundMachine | Fault]:
        """Yield the state machines, those of nested templates too."""
        for name, one in self.resources.items():
            if one.get("Type") in MACHINES:
                yield self._machine(name, as_object(one.get("Properties")))
        for one in self.children.values():
            yield from one.machines()

    def registered(self) -> Iterator[Parameter]:
        """Yield what is registered."""
        for name, one in self.resources.items():
            properties = as_object(one.get("Properties"))
            called, text, tier = (self.resolver.text(properties.get(each)) for each in ("Name", "Value", "Tier"))
            if one.get("Type") == _PARAMETER and "/tools/" in called:
                unknown = [each for each in dict.fromkeys(referred(properties)) if not self.knows(each)]
                yield Parameter(name, called, text, tier, "Condition" in one, tuple(unknown))
        for one in self.children.values():
            yield from one.registered()

    def _machine(self, name: str, properties: JsonObject) -> FoundMachine | Fault:
        resolver = self.resolver
        try:
            path, value = self._definition(properties)
        except Unreadable as error:
            return Fault(f"{self.path}: {name}", str(error))
        names = as_object(resolver.value(properties.get("DefinitionSubstitutions", {})))
        definition = as_object(substituted(value, names))
        if "StartAt" not in definition:
            return Fault(f"{self.path}: {name}", "its definition has no StartAt")
        given = properties.get("Name", properties.get("StateMachineName"))
        called = replace(resolver, parameters={}).text(given)  # a parameter differs from deployment to deployment
        is_known = bool(called) and "${" not in called
        kind = resolver.text(properties.get("Type", properties.get("StateMachineType")))
        return FoundMachine(
            path, definition, (called, name) if is_known else (name, _VARIABLE.sub("-", called)),
            called if is_known else None, name, kind == "EXPRESS", self, default_name=resolver.text(given),
        )  # fmt: skip

    def _definition(self, properties: JsonObject) -> tuple[Path, Json]:
        """Return the file and the value of a definition.

        Raises:
            Unreadable: it is not on this disk, or no definition.
        """
        if "Definition" in properties:
            return self.path, self.resolver.value(properties["Definition"])
        written = as_object(properties.get("DefinitionString"))
        included = as_object(as_object(written.get("Fn::Transform")).get("Parameters")).get("Location")
        if "DefinitionString" in properties and included is None:
            return self.path, parsed(self.resolver.text(properties["DefinitionString"]), is_json=True)
        given = [properties[name] for name in _FILES if name in properties]
        uri = self.resolver.text(included if included is not None else given[0] if given else None)
        if not uri or uri.startswith("s3://") or "${" in uri:
            raise Unreadable("its definition is not in a file on this disk")
        path = self.path.parent / uri
        if not path.is_file():
            raise Unreadable(f"its definition {uri} does not exist")
        return path, value_of(path)


def is_template(value: Json) -> bool:
    """Tell whether a file's value is a template."""
    resources = as_object(value).get("Resources")
    return isinstance(resources, dict) and any("Type" in as_object(one) for one in as_object(resources).values())


def template_of(
    path: Path, body: JsonObject, given: Values | None = None, depth: int = 0, included: tuple[Path, ...] = ()
) -> Template:
    """Return a template with what it nests, as far as that is on this disk.

    Args:
        path: its file.
        body: its contents.
        given: values of its parameters; defaults stand for the others.
        depth: how many templates it is nested in.
        included: the other files that it is put together from.
    """
    declared = {name: as_object(one).get("Default") for name, one in as_object(body.get("Parameters")).items()}
    defaults = {name: one for name, one in declared.items() if one not in (None, "")}
    resolver = Resolver({**defaults, **(given or {})}, as_object(body.get("Mappings")))
    template = Template(path, body, resolver, functions_of(body, path, resolver), included=included)
    for name, one in template.resources.items():
        child = _nested(template, one, depth) if depth < _DEEPEST else None
        if child is not None:
            object.__setattr__(child, "outer", template)
            template.children[name] = child
    return template


def _nested(template: Template, resource: JsonObject, depth: int) -> Template | None:
    property_name = _STACKS.get(str(resource.get("Type")))
    properties = as_object(resource.get("Properties"))
    place = template.resolver.text(properties.get(property_name)) if property_name else ""
    path = template.path.parent / place
    if not place or "://" in place or not path.is_file():
        return None
    try:
        value = value_of(path)
    except Unreadable:
        return None  # told where the file itself is read
    given = as_object(template.resolver.value(properties.get("Parameters", {})))
    return template_of(path, as_object(value), given, depth + 1) if is_template(value) else None
