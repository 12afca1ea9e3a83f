"""What the paths and expressions of one state can refer to, and how they are resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from stepwire_wrap.definitions.handlers import Handler, Handlers
from stepwire_wrap.definitions.paths import Reference
from stepwire_wrap.definitions.reads import Reads, Use
from stepwire_wrap.definitions.values import INPUT, UNKNOWN, Path, Value, part, record

Variables = Mapping[str, Value]
_STATES: Final = "states"


@dataclass(frozen=True)
class Scope:
    """The data of one state."""

    data: Value
    """`$` in JSONPath, `$states.input` in JSONata."""
    variables: Variables
    reads: Reads
    result: Value = UNKNOWN
    """`$states.result`: what the state's work returned."""
    item: Value = UNKNOWN
    """`$states.context.Map.Item.Value`, inside a Map state."""
    at_exit: bool = False
    """Whether the state's work is done."""
    context: Value | None = None
    """The `$` of a JSONata expression, inside a path or a function."""
    local: Variables = field(default_factory=dict[str, Value])
    """The variables of a JSONata expression."""
    handlers: Handlers = field(default_factory=dict[str, Handler])
    """What is known of the code of functions."""

    def with_data(self, data: Value) -> "Scope":
        """Return the scope with other data."""
        return replace(self, data=data)

    def exiting(self, result: Value) -> "Scope":
        """Return the scope after the state's work."""
        return replace(self, result=result, at_exit=True)

    def inside(self, context: Value, **local: Value) -> "Scope":
        """Return the scope inside a part of an expression."""
        return replace(self, context=context, local={**self.local, **local})

    def look_up(self, reference: Reference) -> Value:
        """Return what a JSONPath refers to, and note nothing."""
        value = self._of(reference.root, reference.path)
        return value if reference.is_whole else UNKNOWN

    def variable(self, name: str) -> Value:
        """Return what a variable holds; `$states` is JSONata's."""
        if name == _STATES:
            return record({"input": self.data, "result": self.result, "context": self._context_object()}, UNKNOWN)
        return self.local.get(name) or self.variables.get(name, UNKNOWN)

    def note(self, value: Value, use: Use) -> None:
        """Note that the state uses a value."""
        self.reads.note(value, replace(use, at_exit=self.at_exit))

    def _of(self, root: str, path: Path) -> Value:
        if root == "$":
            return part(self.data, path)
        if root == "$$":
            return part(self._context_object(), path)
        return part(self.variable(root), path)

    def _context_object(self) -> Value:
        execution = record({"Input": INPUT}, UNKNOWN)
        item = record({"Item": record({"Value": self.item}, UNKNOWN)}, UNKNOWN)
        return record({"Execution": execution, "Map": item}, UNKNOWN)
