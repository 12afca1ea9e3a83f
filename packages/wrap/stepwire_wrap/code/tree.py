"""A program as far as it matters for what is read of an event: one small tree for Python, JavaScript and TypeScript.

What has no node of its own is `Several`: its parts are looked at, and of its value nothing is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class Literal:
    """A text, a number, a boolean or null."""

    value: str | int | float | bool | None
    line: int = 0


@dataclass(frozen=True)
class Name:
    """A variable."""

    name: str
    line: int = 0


@dataclass(frozen=True)
class Attribute:
    """`value.name` of Python, which reads no member of a dictionary."""

    of: "Expression"
    name: str
    line: int = 0


@dataclass(frozen=True)
class Get:
    """A member or an item: `value["key"]`, `value[0]`, and `value.key` of JavaScript."""

    of: "Expression"
    key: "Expression"
    line: int = 0
    is_strict: bool = False
    """Whether it fails if the member is missing."""
    is_guarded: bool = False
    """Whether the value may be missing, as in `value?.key`."""


@dataclass(frozen=True)
class Call:
    """A call."""

    callee: "Expression"
    arguments: "tuple[Expression, ...]"
    named: "Mapping[str, Expression]" = field(default_factory=dict[str, "Expression"])
    spread: "tuple[Expression, ...]" = ()
    """What `**value` of Python hands over."""
    line: int = 0


@dataclass(frozen=True)
class Made:
    """An object that is written out."""

    members: "Mapping[str, Expression]"
    spread: "tuple[Expression, ...]" = ()
    parts: "tuple[Expression, ...]" = ()
    """What else is evaluated, such as computed keys."""


@dataclass(frozen=True)
class Branch:
    """What is always evaluated, and what only sometimes is: `a or b`, `a if test else b`."""

    always: "Expression"
    maybe: "tuple[Expression, ...]"
    is_value: bool = False
    """Whether `always` may be its value too, as in `a or b`."""
    is_both: bool = False
    """Whether it is true only if all of them are, as `a and b`."""


@dataclass(frozen=True)
class Needs:
    """A value that fails, or makes no sense, unless it is of these JSON types."""

    of: "Expression"
    types: frozenset[str]


@dataclass(frozen=True)
class Compares:
    """A comparison with values that are written out."""

    of: "Expression"
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Not:
    """`not value`."""

    of: "Expression"


@dataclass(frozen=True)
class Lacks:
    """A test that holds if a value is missing: `value is None`, `value === undefined`."""

    of: "Expression"


@dataclass(frozen=True)
class Holds:
    """`"key" in value`."""

    of: "Expression"
    key: "Expression"
    line: int = 0


@dataclass(frozen=True)
class TypeTest:
    """A test of a value's type, after which nothing is known of it, unless the function fails without that type."""

    of: "Expression"
    types: frozenset[str] = frozenset()
    """The JSON types of the values for which it holds; empty: unknown."""


@dataclass(frozen=True)
class Several:
    """Anything else, with its parts."""

    parts: "tuple[Expression, ...]" = ()
    is_text: bool = False
    """Whether it only makes a text of them, or a truth value."""


@dataclass(frozen=True)
class Each:
    """A loop inside an expression: its body for each item."""

    target: "Pattern"
    of: "Expression"
    body: "tuple[Expression, ...]"


@dataclass(frozen=True)
class Field:
    """One member of an object that is taken apart."""

    name: str
    target: "Pattern"
    default: "Expression | None" = None


@dataclass(frozen=True)
class Fields:
    """An object that is taken apart: `{a, b: {c}, ...rest}`."""

    fields: tuple[Field, ...]
    rest: str | None = None
    line: int = 0


@dataclass(frozen=True)
class Items:
    """A list that is taken apart."""

    targets: "tuple[Pattern, ...]"


@dataclass(frozen=True)
class Function:
    """A function."""

    parameters: "tuple[Parameter, ...]"
    body: "tuple[Statement, ...]"
    decorators: "tuple[Expression, ...]" = ()
    line: int = 0


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    target: "Pattern"
    declared: "Shape | None" = None
    """What its annotation says."""
    default: "Expression | None" = None


@dataclass(frozen=True)
class Shape:
    """What a type says of a value."""

    types: frozenset[str] = frozenset()
    members: "Mapping[str, Declared]" = field(default_factory=dict[str, "Declared"])
    items: "Shape | None" = None
    values: tuple[str | int | float | bool | None, ...] = ()
    """The only values, if there are few."""
    name: str = ""
    """Name of a type that is declared elsewhere; the rest is empty then."""
    is_checked: bool = False
    """Whether making one fails if a member is missing."""


@dataclass(frozen=True)
class Declared:
    """A member of a type."""

    shape: Shape
    line: int
    is_required: bool = False
    said: str = ""
    default: str = ""
    """JSON text of what stands for it if it is missing."""


Expression: TypeAlias = (
    Literal
    | Name
    | Attribute
    | Get
    | Call
    | Made
    | Branch
    | Needs
    | Compares
    | Not
    | Lacks
    | Holds
    | TypeTest
    | Several
    | Each
    | Function
)
Pattern: TypeAlias = Name | Fields | Items | Get | None


@dataclass(frozen=True)
class Bind:
    """An assignment."""

    target: Pattern
    value: Expression


@dataclass(frozen=True)
class If:
    """A test, and what follows either way."""

    test: Expression
    ways: "tuple[tuple[Statement, ...], ...]"


@dataclass(frozen=True)
class Loop:
    """A loop over the items of a value."""

    target: Pattern
    of: Expression
    body: "tuple[Statement, ...]"


@dataclass(frozen=True)
class Try:
    """What may fail without the function failing."""

    body: "tuple[Statement, ...]"
    handlers: "tuple[tuple[Statement, ...], ...]"
    last: "tuple[Statement, ...]" = ()


@dataclass(frozen=True)
class Leave:
    """The end of a function: by a value, or by an error."""

    value: Expression
    is_failure: bool = False


@dataclass(frozen=True)
class Evaluate:
    """An expression whose value is not kept."""

    value: Expression


@dataclass(frozen=True)
class Define:
    """A function with a name."""

    name: str
    function: Function


Statement: TypeAlias = Bind | If | Loop | Try | Leave | Evaluate | Define


@dataclass(frozen=True)
class Import:
    """A name that another file of the program has."""

    module: str
    """As it is written: `./orders`, `lib.orders`, `..models`."""
    name: str | None = None
    """None: the module itself."""


@dataclass(frozen=True)
class Program:
    """One file."""

    body: tuple[Statement, ...] = ()
    imports: Mapping[str, Import] = field(default_factory=dict[str, Import])
    shapes: Mapping[str, Shape] = field(default_factory=dict[str, Shape])
    """The types that it declares."""
    methods: Mapping[str, Function] = field(default_factory=dict[str, Function])
    """The methods of its classes; where two have one name, neither is here."""
    exports: Mapping[str, Expression] = field(default_factory=dict[str, Expression])
    """What it exports under a name, where that is not a variable of the same name."""
