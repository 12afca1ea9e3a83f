"""What the paths and expressions of a state refer to, as shapes. An expression that computes is taken for any value.

The rule: whatever an expression mentions is read, so that an example has it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from stepwire_local.survey.shapes import Shape

_STEP: Final = re.compile(
    r"\.(?P<name>[\w-]+)|\[['\"](?P<quoted>[^'\"]+)['\"]\]|\[(?P<place>\d+)\]|\[(?P<any>[^\]]*)\]"
)
_PATH: Final = re.compile(r"\$\$?[\w-]*(?:\.{1,2}[\w-]+|\.?\[[^\]]*\])*")
_KEYED: Final = re.compile(rf"""['"](?P<name>[^'"]+)['"]\s*:\s*(?P<path>{_PATH.pattern})""")
_LITERAL: Final = r"""(?P<literal>'[^']*'|"[^"]*"|-?\d+(?:\.\d+)?|true|false|null)"""
_COMPARED: Final = re.compile(rf"(?P<path>\$[\w.\[\]-]+)\s*(?P<sign>!=|<=|>=|=|<|>)\s*{_LITERAL}")
_SIGNS: Final = {"<": "LessThan", "<=": "LessThanEquals", ">": "GreaterThan", ">=": "GreaterThanEquals"}


@dataclass(frozen=True)
class Scope:
    """What a state can refer to."""

    data: Shape
    """`$` of a JSONPath, `$states.input`."""
    given: Shape
    """The input of the execution."""
    variables: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    item: Shape = field(default_factory=Shape)
    """`$$.Map.Item.Value`."""
    result: Shape = field(default_factory=Shape)

    def at(self, path: str) -> Shape:
        """Return what a path refers to."""
        root = re.match(r"\$\$?[\w-]*", path)
        start = root[0] if root else ""
        return _follow(self._root(start), path[len(start) :])

    def with_data(self, data: Shape) -> "Scope":
        """Return the scope with other data."""
        return replace(self, data=data)

    def _root(self, name: str) -> Shape:
        if name in ("$", ""):
            return self.data
        if name == "$$":
            return self._context()
        if name == "$states":
            states = {"input": self.data, "result": self.result, "context": self._context()}
            return Shape.record(states)
        return self.variables.get(name[1:]) or Shape()

    def _context(self) -> Shape:
        mapped = Shape.record({"Item": Shape.record({"Value": self.item})})
        return Shape.record({"Execution": Shape.record({"Input": self.given}), "Map": mapped})

    def evaluated(self, template: Any) -> Shape:
        """Return the shape of a payload."""
        if isinstance(template, list):
            items = cast("list[Any]", template)
            return Shape.array(*(self.evaluated(one) for one in items)) if items else Shape.of([])
        if isinstance(template, Mapping):
            members = cast("Mapping[str, Any]", template).items()
            return Shape.record({name.removesuffix(".$"): self._member(name, one) for name, one in members})
        if isinstance(template, str) and template.startswith("{%"):
            return self.expression(template[2:-2].strip())
        return Shape.of(template)

    def _member(self, name: str, value: Any) -> Shape:
        return self.expression(value) if name.endswith(".$") and isinstance(value, str) else self.evaluated(value)

    def expression(self, text: str) -> Shape:
        """Return what a path, an intrinsic function or a JSONata expression gives."""
        if _PATH.fullmatch(text):
            return self.at(text)
        mentioned = [self.at(path) for path in _PATH.findall(text)]
        if text.startswith(("States.StringToJson", "$parse(")) and mentioned:
            return (mentioned[-1] if text.startswith("$") else mentioned[0]).parsed()
        if text.startswith("States.ArrayGetItem") and mentioned:
            return mentioned[0].item()
        if text.startswith(("{", "$merge(")):
            return self._merged(text)
        return Shape()

    def _merged(self, text: str) -> Shape:
        """Return an object that is written out, and what is merged into it."""
        keyed = {found["name"]: self.at(found["path"]) for found in _KEYED.finditer(text)}
        merged = _PATH.findall(_KEYED.sub("", text.removeprefix("$merge")))
        shape = Shape(self.at(merged[0]) if merged else None)
        for name, part in keyed.items():
            shape = shape.with_part((name,), part)
        return shape

    def comparisons(self, text: str) -> Iterator[tuple[Shape, str, Any]]:
        """Yield what a JSONata condition compares, as rules of a Choice name it."""
        self.expression(text)
        for found in _COMPARED.finditer(text):
            value, sign = _literal(found["literal"]), found["sign"]
            kind = "Boolean" if isinstance(value, bool) else "String" if isinstance(value, str) else "Numeric"
            operator = f"{kind}{_SIGNS.get(sign, 'Equals')}"
            yield self.at(found["path"]), f"!{operator}" if sign == "!=" else operator, value


def _follow(shape: Shape, steps: str) -> Shape:
    for step in _STEP.finditer(steps):
        if name := step["name"] or step["quoted"]:
            shape = shape.member(name)
        else:
            for mentioned in re.findall(r"@\.([\w-]+)", step["any"] or ""):
                shape.item().member(mentioned)
            shape = shape.item(int(step["place"] or 0))
    return shape


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    named = {"true": True, "false": False, "null": None}
    return named[text] if text in named else float(text) if "." in text else int(text)


def steps_of(path: str) -> tuple[str, ...]:
    """Return the names in a reference path such as that of ResultPath."""
    return tuple(step["name"] or step["quoted"] for step in _STEP.finditer(path) if step["name"] or step["quoted"])
