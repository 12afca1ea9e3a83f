"""What a definition reads of values that only an execution has, so that examples of them can be made. No I/O.

The rules: reading a part of a shape creates that part, so that the example has it. The first value that is asked for
counts: the way to a successful end is walked before all others.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from botocore.model import ListShape, StructureShape
from botocore.model import Shape as Model

_UNSET: Final = object()
MOMENT: Final = "2026-01-31T12:00:00Z"
# Examples by the last word of a member's name; a member of DynamoDB's form has its type as its name.
_BY_NAME: Final[Mapping[str, Any]] = {
    "S": "text",
    "N": "1",
    "BOOL": True,
    "SS": ["text"],
    "L": [],
    "M": {},
    **dict.fromkeys(
        ("count", "number", "total", "size", "amount", "quantity", "price", "index", "length", "seconds"), 1
    ),
    **dict.fromkeys(("code", "statuscode"), 200),
    **{name: ["text"] for name in ("items", "records", "results", "list", "rows")},
    **dict.fromkeys(("date", "time", "timestamp"), MOMENT),
    **dict.fromkeys(("arn",), "arn:aws:s3:::example"),
}
_BY_TYPE: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("integer", "long", "float", "double"), 1),
    "boolean": True,
    "timestamp": MOMENT,
}


_BY_JSON_TYPE: Final[Mapping[str, Any]] = {"integer": 1, "number": 1, "boolean": True, "string": "text"}


class Shape:
    """A value of which something is known."""

    def __init__(self, base: "Shape | None" = None) -> None:
        self._base = base
        self._members: dict[str, Shape] = {}
        self._items: list[Shape] = []
        self._text: Shape | None = None
        self._value: Any = _UNSET
        self.is_absent = False

    @classmethod
    def of(cls, value: Any) -> "Shape":
        """Return the shape of a value that is written out."""
        shape = cls()
        if isinstance(value, Mapping):
            shape._members = {name: cls.of(one) for name, one in cast("Mapping[str, Any]", value).items()}
        else:
            shape._value = value
        return shape

    @classmethod
    def record(cls, members: "Mapping[str, Shape]") -> "Shape":
        """Return the shape of an object that is put together."""
        shape = cls()
        shape._members = dict(members)
        return shape

    @classmethod
    def array(cls, *items: "Shape") -> "Shape":
        """Return the shape of an array; all further items are as the last one."""
        shape = cls()
        shape._items = list(items)
        return shape

    @property
    def value(self) -> Any:
        """Return the value that it should have; None if nothing asks for one."""
        return None if self._value is _UNSET else self._value

    @property
    def names(self) -> frozenset[str]:
        """Return the names of the members that are read, in lower case."""
        return frozenset(name.casefold() for name in self._members)

    def member(self, name: str) -> "Shape":
        """Return a member."""
        if name not in self._members:
            self._members[name] = Shape() if self._base is None else self._base.member(name)
        return self._members[name]

    def item(self, index: int = 0) -> "Shape":
        """Return an item."""
        if self._base is not None and not self._items:
            return self._base.item(index)
        if not self._items:
            self._items.append(Shape())
        return self._items[min(index, len(self._items) - 1)]

    def parsed(self) -> "Shape":
        """Return what it is if it is JSON text."""
        if self._text is None:
            self._text = Shape()
        return self._text

    def with_part(self, path: "tuple[str, ...]", part: "Shape") -> "Shape":
        """Return the shape with another part at a path, as ResultPath puts it there."""
        if not path:
            return part
        changed = Shape(self)
        inner = self._members.get(path[0]) or Shape()
        changed._members[path[0]] = inner.with_part(path[1:], part)
        return changed

    def prefer(self, value: Any) -> None:
        """Ask for a value, unless another is asked for already."""
        if self._value is _UNSET:
            self._value = value

    def be_one_of(self, types: frozenset[str]) -> None:
        """Ask for a value of one of some JSON types; no type: any value."""
        if "array" in types:
            self.item()
        found = next((value for name, value in _BY_JSON_TYPE.items() if name in types), _UNSET)
        if found is not _UNSET and not types & {"array", "object"}:
            self.prefer(found)

    def prefer_types(self, model: Model | None) -> None:
        """Ask for values of the types that a service's answer has, where something reads them; None: it has none."""
        if isinstance(model, StructureShape):
            types = {name.casefold(): one for name, one in model.members.items()}  # Step Functions' case is its own
            for name, member in self._members.items():
                if (found := types.get(name.casefold())) is not None:
                    member.prefer_types(found)
        elif isinstance(model, ListShape):
            for one in self._items:
                one.prefer_types(model.member)
        elif model is not None and model.type_name in _BY_TYPE:
            self.prefer(_BY_TYPE[model.type_name])

    def example(self, name: str = "") -> Any:
        """Return a value of this shape."""
        if self._value is not _UNSET:
            return self._value
        if self._text is not None:
            return json.dumps(self._text.example())
        if self._items:
            return [one.example() for one in self._items]
        whole: Any = self._base.example() if self._base is not None else {}
        known = cast("dict[str, Any]", whole) if isinstance(whole, dict) else {}
        members = {key: one.example(key) for key, one in self._members.items() if not one.is_absent}
        return {**known, **members} if known or self._members else _by_name(name)


def _by_name(name: str) -> Any:
    if name in _BY_NAME:
        return _BY_NAME[name]
    lower = name.casefold()
    if lower.startswith(("is_", "has_")) or (name[:2] == "is" and name[2:3].isupper()):
        return True
    return next((value for end, value in _BY_NAME.items() if end.islower() and lower.endswith(end)), "text")
