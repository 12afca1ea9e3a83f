"""The package's dataclasses behave as those of the standard library; each row runs with both."""

import copy
import dataclasses
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepwire import lean_dataclasses
from tests.cold_start import ROOT


def examples(dataclass: Any) -> SimpleNamespace:
    """Return classes that a decorator makes, with everything that the package uses of it."""

    @dataclass(frozen=True)
    class Point:
        """A point."""

        x: int
        y: int = 2
        label: str = dataclasses.field(default="", compare=False)
        parts: list[int] = dataclasses.field(default_factory=list[int], repr=False)

        @property
        def sum(self) -> int:
            return self.x + self.y

    @dataclass(frozen=True)
    class Solid(Point):
        """A subclass with a field of its own."""

        z: int = 3

    @dataclass(frozen=True)
    class Nothing:
        """No field."""

    @dataclass(frozen=True)
    class One:
        """One field."""

        value: Any

    @dataclass
    class Counted:
        """Its fields change."""

        name: str
        count: int = dataclasses.field(default=0, init=False)
        seen: list[str] = dataclasses.field(default_factory=list[str], init=False)

        def __post_init__(self) -> None:
            self.seen.append(self.name)

        def __repr__(self) -> str:
            return "its own"

    class Plain(Point):
        """An ordinary subclass."""

    return SimpleNamespace(Point=Point, Solid=Solid, Nothing=Nothing, One=One, Counted=Counted, Plain=Plain)


def assigned(value: Any) -> Any:
    value.x = 5
    return value


def deleted(value: Any) -> Any:
    del value.x
    return value


def counted(value: Any) -> Any:
    value.count += 1
    return value.count


def looped(made: SimpleNamespace) -> str:
    parts: list[Any] = []
    loop = made.One(parts)
    parts.append(loop)
    return repr(loop)


Use = Callable[[SimpleNamespace], Any]
USES: dict[str, Use] = {
    "by position": lambda made: made.Point(1, 5).sum,
    "by name": lambda made: made.Point(y=1, x=4).x,
    "shown": lambda made: repr(made.Point(1, label="a")),
    "a subclass is shown": lambda made: repr(made.Solid(1)),
    "no field is shown": lambda made: repr(made.Nothing()),
    "its own representation": lambda made: repr(made.Counted("a")),
    "one that contains itself is shown": looped,
    "equal but for what is not compared": lambda made: made.Point(1, label="a") == made.Point(1, label="b"),
    "unequal": lambda made: made.Point(1) == made.Point(2),
    "another class": lambda made: made.Point(1) == made.Solid(1),
    "an ordinary subclass": lambda made: made.Point(1) == made.Plain(1),
    "another type": lambda made: made.Point(1) == 1,
    "no fields": lambda made: made.Nothing() == made.Nothing(),
    "equal ones in a set": lambda made: len({made.One(1), made.One(1), made.One(2)}),
    "no hash of a part": lambda made: hash(made.Point(1)),
    "no hash": lambda made: hash(made.Counted("a")),
    "a list for each": lambda made: made.Point(1).parts is made.Point(1).parts,
    "a list that is given": lambda made: made.Point(1, parts=[7]).parts,
    "after the creation": lambda made: made.Counted("a").seen,
    "changed": lambda made: counted(made.Counted("a")),
    "a default that no caller gives": lambda made: made.Counted("a", 1),
    "assigned": lambda made: assigned(made.Point(1)),
    "assigned in a subclass": lambda made: assigned(made.Solid(1)),
    "deleted": lambda made: deleted(made.Point(1)),
    "too few": lambda made: made.Point(),
    "too many": lambda made: made.Point(1, 2, "", [], 5),
    "unknown": lambda made: made.Point(1, other=2),
    "twice": lambda made: made.Point(1, x=1),
    "replaced": lambda made: repr(dataclasses.replace(made.Solid(1), y=7)),
    "as a dictionary": lambda made: dataclasses.asdict(made.Point(1)),
    "copied": lambda made: copy.deepcopy(made.Point(1)) == made.Point(1),
    "fields": lambda made: [one.name for one in dataclasses.fields(made.Solid)],
    "patterns": lambda made: made.Solid.__match_args__,
    "of a subclass with no __init__": lambda made: made.Plain(1, 3).sum,
}


def outcome(use: Use, dataclass: Any) -> tuple[str, Any]:
    made = examples(dataclass)
    try:
        first, second = use(made), use(made)  # the first use may compile what the second runs
    except (TypeError, AttributeError) as error:
        return type(error).__name__, re.sub(r"^.*\.", "", str(error))
    assert first == second
    return "returned", first


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_lean_dataclass_does_what_the_standard_library_does(use: Use) -> None:
    assert outcome(use, lean_dataclasses.dataclass) == outcome(use, dataclasses.dataclass)


@lean_dataclasses.dataclass(frozen=True)
class Stored:
    """A class that pickle finds in its module."""

    name: str


def test_a_lean_dataclass_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Stored("a"))) == Stored("a")


def test_an_init_is_compiled_with_the_first_instance_and_once() -> None:
    @lean_dataclasses.dataclass(frozen=True)
    class Later:
        name: str

    before = vars(Later)["__init__"]
    Later("a")
    compiled = vars(Later)["__init__"]
    Later("b")

    assert before is not compiled
    assert vars(Later)["__init__"] is compiled


def test_the_package_has_no_other_dataclasses() -> None:
    package = ROOT / "layers/stepwire/stepwire"
    written: list[Path] = [
        path
        for path in package.rglob("*.py")
        if re.search(r"^\s*(from|import) dataclasses\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert [path.name for path in written] == ["lean_dataclasses.py"]
