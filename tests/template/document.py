"""The template as data: its resources by type, and the references in a value."""

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from stepwire_cli.deployment.parts import extras_of, stack_of

ROOT: Final = Path(__file__).parents[2]
_REFERENCE: Final = re.compile(r"\$\{([A-Za-z0-9]+)(?:\.[A-Za-z]+)?\}")

FUNCTION: Final = "AWS::Serverless::Function"
ROLE_POLICY: Final = "AWS::IAM::Policy"


@dataclass(frozen=True)
class Resource:
    """A resource as the template declares it."""

    logical_id: str
    body: dict[str, Any]

    @property
    def kind(self) -> str:
        """Return its type."""
        return self.body["Type"]

    @property
    def properties(self) -> dict[str, Any]:
        """Return its properties; empty if it has none."""
        return self.body.get("Properties") or {}


@dataclass(frozen=True)
class Statement:
    """A statement of a policy of a function."""

    holder: str
    body: dict[str, Any]

    @property
    def name(self) -> str:
        """Return the holder and the Sid."""
        return f"{self.holder}.{self.body.get('Sid', '?')}"

    @property
    def actions(self) -> list[str]:
        """Return the allowed actions."""
        return listed(self.body["Action"])

    @property
    def resources(self) -> list[Any]:
        """Return the resources of the statement."""
        return listed(self.body["Resource"])


_read: ContextVar[dict[str, Any] | None] = ContextVar("_read", default=None)


def template() -> dict[str, Any]:
    """Return the template with the parts of all extras, with intrinsic functions in their long form."""
    return _read.get() or _stack()


@contextmanager
def reading(document: dict[str, Any]) -> Generator[None]:
    """Have `template` return another document."""
    token = _read.set(document)
    try:
        yield
    finally:
        _read.reset(token)


@cache
def _stack() -> dict[str, Any]:
    return stack_of(ROOT, extras_of(ROOT))


def sources() -> list[str]:
    """Return the texts of which the template is put together: the core's, what it includes, and the extras' parts."""
    files = (ROOT / "template.yaml", ROOT / "operations.yaml", *sorted(ROOT.glob("extras/*/*.yaml")))
    return [file.read_text(encoding="utf-8") for file in files]


def resources(*kinds: str) -> list[Resource]:
    """Return the resources, optionally only those of some types."""
    found = [Resource(name, body) for name, body in template()["Resources"].items()]
    return [resource for resource in found if not kinds or resource.kind in kinds]


def resource(logical_id: str) -> Resource:
    """Return one resource."""
    return Resource(logical_id, template()["Resources"][logical_id])


def declared(name: str) -> str:
    """Return the resource from which SAM made this one: a role or an alias of a function."""
    known = template()["Resources"] | template().get("Outputs", {})
    return name if name in known else name.partition(".")[0].removesuffix("Role")


def statements() -> list[Statement]:
    """Return the statements of all policies of our code."""
    return [
        Statement(holder.logical_id, body)
        for holder in resources(FUNCTION, ROLE_POLICY)
        for document in _documents(holder)
        for body in map(_granted, listed(document.get("Statement") or []))
    ]


def _granted(part: dict[str, Any]) -> dict[str, Any]:
    """Return a policy or a statement that a condition grants as if it were granted always."""
    branches = part["Fn::If"][1:] if "Fn::If" in part else [part]
    return next(one for one in branches if one != {"Ref": "AWS::NoValue"})


def named(value: Resource | Statement | object) -> str:
    """Return what a test calls a resource or a statement."""
    return getattr(value, "logical_id", getattr(value, "name", str(value)))


def references(value: Any) -> set[str]:
    """Return all logical ids and parameters that a value references."""
    return set(_references(value))


def listed(value: Any) -> list[Any]:
    """Return a list; YAML allows a list of one element to be written without brackets."""
    return cast(list[Any], value) if isinstance(value, list) else [value]


def _documents(holder: Resource) -> list[dict[str, Any]]:
    if holder.kind == ROLE_POLICY:
        return [holder.properties["PolicyDocument"]]
    # The others are names of managed policies or of SAM policy templates, which are narrow.
    policies: list[Any] = listed(holder.properties.get("Policies") or [])
    return [_granted(cast(dict[str, Any], policy)) for policy in policies if isinstance(policy, dict)]


def _references(value: Any) -> Iterator[str]:
    match value:
        case {"Ref": str(name)}:
            yield name.partition(".")[0]
        case {"Fn::GetAtt": path}:
            yield str(listed(path)[0]).partition(".")[0]
        case {"Fn::Sub": str(text)}:
            yield from _REFERENCE.findall(text)
        case {"Fn::Sub": [str(text), values]}:
            yield from (name for name in _REFERENCE.findall(text) if name not in values)
            yield from _references(values)
        case _:
            parts = cast(dict[str, Any], value).values() if isinstance(value, dict) else value
            for part in cast(list[Any], parts) if isinstance(value, (dict, list)) else []:
                yield from _references(part)
