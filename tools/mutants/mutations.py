"""The mutants of a file: mutmut changes one expression or statement of a function."""

import difflib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import CodeType
from typing import Final, cast

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

ROOT: Final = Path(__file__).parents[2]
KIT: Final = ROOT / "layers/stepwire/stepwire"


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    file: str
    """From the root of the checkout."""
    number: int
    """Of this file's changes, from 1; the same while the file stays the same."""
    lines: tuple[int, int]
    """The first and the last line of the statement that is changed."""
    source: str
    """The whole file with the change."""

    @property
    def name(self) -> str:
        """Return the name by which a command takes it, such as tasks/lifecycle.py:12."""
        return f"{Path(self.file).relative_to(KIT.relative_to(ROOT))}:{self.number}"

    @property
    def module(self) -> str:
        """Return the kit's folder or file that it is in, such as tasks, or an extra's."""
        match Path(self.file).relative_to(KIT.relative_to(ROOT)).parts:
            case ["extras", extra, _, *_]:
                return f"extras/{extra}"
            case [first, *_]:
                return first.removesuffix(".py")
            case _:
                return ""

    def difference(self) -> list[str]:
        """Return the lines that it takes out (-) and puts in (+)."""
        before = (ROOT / self.file).read_text(encoding="utf-8").splitlines()
        lines = difflib.unified_diff(before, self.source.splitlines(), lineterm="", n=0)
        return [line for line in lines if line[:1] in "-+" and line[:3] not in ("---", "+++")]


class _Visitor(MutationVisitor):
    """Finds what mutmut would change, in decorated functions too.

    mutmut leaves those out because it defines them twice. Here the code of the function that exists is replaced.
    """

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        undecorated = node.with_changes(decorators=()) if isinstance(node, cst.FunctionDef) else node
        return super()._skip_node_and_children(undecorated)


class Changes:
    """What may be changed in a file; a mutant is made when it is asked for, because that takes time."""

    def __init__(self, file: Path) -> None:
        self._name = str(file.relative_to(ROOT))
        code = file.read_text(encoding="utf-8")
        wrapper = MetadataWrapper(cst.parse_module(code))
        visitor = _Visitor(mutation_operators, IgnoredCode(set(), set(), set()))
        self._module = wrapper.visit(visitor)
        self._positions = wrapper.resolve(PositionProvider)
        self._parents = wrapper.resolve(ParentNodeProvider)
        self._all = [one for one in visitor.mutations if one.contained_by_top_level_function is not None]
        self._before = dict(codes(code, self._name))

    def __len__(self) -> int:
        return len(self._all)

    def mutant(self, number: int) -> Mutant | None:
        """Return a mutant by its number, from 1; None where the change has no effect, or is no Python."""
        change = self._all[number - 1]
        if self._is_of_a_cast(change.original_node):
            return None
        source = cast("cst.Module", self._module.deep_replace(change.original_node, change.mutated_node)).code
        try:
            after = dict(codes(source, self._name))
        except SyntaxError:
            return None
        if all(after.get(place) == code for place, code in self._before.items()):
            return None
        at = self._positions[self._statement(change.original_node)]
        return Mutant(self._name, number, (at.start.line, at.end.line), source)

    def _is_of_a_cast(self, node: cst.CSTNode) -> bool:
        """Return whether it is a call of `cast`, or in its first argument: neither does anything at run time."""
        below, above = node, node
        while isinstance(above, cst.BaseExpression | cst.BaseSlice | cst.SubscriptElement | cst.Arg):
            if m.matches(above, m.Call(func=m.Name("cast"))):
                call = cast("cst.Call", above)
                return above is node or below is call.args[0]
            below, above = above, self._parents[above]
        return False

    def _statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the simple statement that an expression is in; itself where it is in the head of a compound one."""
        above: cst.CSTNode | None = node
        while above is not None and not isinstance(above, cst.SimpleStatementLine | cst.BaseCompoundStatement):
            above = self._parents.get(above)
        return above if isinstance(above, cst.SimpleStatementLine) else node


def files_of(modules: Sequence[str]) -> Iterator[Path]:
    """Yield the files of these folders and files of the kit, such as tasks or codec."""
    for module in modules:
        path = KIT / module
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
        yield from (file for file in found if file.exists())


def changes_of(module: str) -> int:
    """Return how many mutants a module has."""
    return sum(len(Changes(file)) for file in files_of([module]))


def chosen(files: Iterable[Path], size: int, seed: int, only: Sequence[str] = ()) -> Iterator[Mutant]:
    """Yield a sample of the mutants of files, the same for the same seed; all of them where the size is 0.

    With names in `only`, yield those mutants, of whatever file.
    """
    if only:
        parts = [name.rpartition(":") for name in only]
        numbers = [(Changes(KIT / file), int(number)) for file, _, number in parts]
    else:
        changes = [Changes(file) for file in files]
        numbers = [(one, number) for one in changes for number in range(1, len(one) + 1)]
        picked = random.Random(seed).sample(range(len(numbers)), min(size or len(numbers), len(numbers)))  # noqa: S311 - no secret
        numbers = [numbers[at] for at in sorted(picked)]
    for one, number in numbers:
        mutant = one.mutant(number)
        if mutant is not None:
            yield mutant


Place = tuple[str, int]
"""The qualified name of a function, and its position among those of that name in its file, from 1."""


def codes(source: str, path: str) -> Iterator[tuple[Place, CodeType]]:
    """Yield the code of each function of a file; not of classes, whose bodies have run.

    Raises:
        SyntaxError: it is no Python.
    """
    counts: dict[str, int] = defaultdict(int)
    for one in _inner(compile(source, path, "exec")):
        if one.co_flags & CO_OPTIMIZED:
            counts[one.co_qualname] += 1
            yield (one.co_qualname, counts[one.co_qualname]), one


def _inner(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner(constant)
