"""What a manifest adds to the arguments of a call on their way to the workflow: constants, defaults and who calls.

The rule: a member that the server sets is never the caller's. Its name is no property of the schema that is shown, and
a call with a member of that name is refused.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from stepwire.json_text import JsonObject
from stepwire.principal import Claims, Principal


class Caller(Struct, frozen=True):
    """Who made a call, as the sign-in verified it."""

    principal: Principal
    claims: Mapping[str, str] = field(default_factory=Claims)
    """Of the token or signature, as API Gateway writes them. Never in a log."""


class Context(Struct, frozen=True):
    """Tells the workflow who calls."""

    input_key: str
    """The member of the workflow's input that says so."""
    claims: tuple[str, ...] = ()
    """The claims that the workflow gets, and no others."""

    def member(self, caller: Caller, task_id: str, tool: str) -> JsonObject:
        """Return the member; a claim that the caller does not have is null."""
        claims = {name: caller.claims.get(name) for name in self.claims}
        return {"principal": caller.principal, "task_id": task_id, "tool": tool, "claims": claims}


class Additions(Struct, frozen=True):
    """What is added to the arguments of a tool's calls."""

    constants: JsonObject = field(default_factory=dict[str, Any])
    defaults: JsonObject = field(default_factory=dict[str, Any])
    """For arguments that a call leaves out; not shown to clients."""
    context: Context | None = None
    of_arms: frozenset[str] = frozenset()
    """Names of the constants of the arms of a race, which each arm gets when it starts."""

    @property
    def reserved(self) -> frozenset[str]:
        """Names that the server sets, and a caller may not."""
        return frozenset((*self.constants, *((self.context.input_key,) if self.context else ()), *self.of_arms))

    def with_defaults(self, arguments: JsonObject) -> JsonObject:
        """Return the arguments with the defaults for those that are left out."""
        missing = {name: value for name, value in self.defaults.items() if name not in arguments}
        return {**arguments, **missing} if missing else arguments

    def workflow_input(self, arguments: JsonObject, caller: Caller, task_id: str, tool: str) -> JsonObject:
        """Return the workflow's input."""
        if not self.reserved:
            return arguments
        context = {} if self.context is None else {self.context.input_key: self.context.member(caller, task_id, tool)}
        return {**arguments, **self.constants, **context}


NOTHING_ADDED = Additions()


def additions_of(entry: JsonObject) -> Additions:
    """Read the additions of a tool's compiled entry."""
    shape, context = entry.get("input", {}), entry.get("context")
    arms: list[JsonObject] = entry.get("race", {}).get("arms", [])
    of_arms = frozenset(name for arm in arms for name in arm.get("constants", {}))
    if not shape and context is None and not of_arms:
        return NOTHING_ADDED
    return Additions(
        shape.get("constants", {}),
        shape.get("defaults", {}),
        None if context is None else Context(context["input_key"], tuple(context["claims"])),
        of_arms,
    )
