"""Read the code of one function: its file, the files that it imports, and what becomes of its event."""

import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stepwire_wrap.code import methods, python_code
from stepwire_wrap.code.calls import dotted
from stepwire_wrap.code.following import Following, scope_of
from stepwire_wrap.code.summary import reads_of, result_of
from stepwire_wrap.code.tree import Bind, Call, Expression, Function, Name, Program
from stepwire_wrap.code.values import ANYTHING, At, Class, Code, File, Scope, Value
from stepwire_wrap.definitions.handlers import Handler

PYTHON: Final = (".py",)
SCRIPTS: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_LARGEST: Final = 400_000  # bytes of a file
_MOST_FILES: Final = 40  # of one function
_DEEPEST_WRAPPER: Final = 5
_DEFAULTS: Final = ("default", "module.exports")


def can_read(suffix: str) -> bool:
    """Tell whether files of a kind can be read: those of JavaScript need the extra `javascript`."""
    if suffix in PYTHON:
        return True
    names = ("tree_sitter", "tree_sitter_javascript", "tree_sitter_typescript")
    return suffix in SCRIPTS and all(importlib.util.find_spec(name) is not None for name in names)


@dataclass
class Files:
    """The files of one function."""

    root: Path
    """Where imports begin that name no folder."""
    base: Path
    """What files are named from in notes."""
    scopes: dict[Path, Scope | None] = field(default_factory=dict[Path, Scope | None])

    def scope(self, file: Path, text: str | None = None, suffix: str = "") -> Scope | None:
        """Return the scope of a file; None if it cannot be read."""
        if file in self.scopes or len(self.scopes) >= _MOST_FILES:
            return self.scopes.get(file)
        program = _program(file, text, suffix or file.suffix)
        self.scopes[file] = None if program is None else scope_of(program, self._name(file))
        return self.scopes[file]

    def _name(self, file: Path) -> str:
        resolved = file.resolve()
        return str(resolved.relative_to(self.base)) if resolved.is_relative_to(self.base) else file.name

    def imported(self, scope: Scope, module: str, name: str | None) -> Value:
        """Return a name of another file, or the file itself."""
        here = next((file for file, one in self.scopes.items() if one is scope), None)
        if here is None:
            return ANYTHING
        for file, is_whole in self._places(here, module, name):
            found = self.scope(file)
            if found is not None:
                return (File(found),) if is_whole or name is None else _named(found, name, self)
        return ANYTHING

    def _places(self, here: Path, module: str, name: str | None) -> Iterator[tuple[Path, bool]]:
        """Yield the files that an import may mean, and whether the file itself is the name."""
        if here.suffix in SCRIPTS:
            yield from ((file, False) for file in _script_files(here.parent / module) if module.startswith("."))
            return
        level = len(module) - len(module.lstrip("."))
        parts = module.lstrip(".").split(".") if module.lstrip(".") else []
        roots = [here.parents[level - 1]] if level else [here.parent, self.root]
        for root in roots:
            place = root.joinpath(*parts)
            if name is not None and (place / f"{name}.py").is_file():
                yield place / f"{name}.py", True
            for file in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
                if file.is_file():
                    yield file, False


def _script_files(place: Path) -> Iterator[Path]:
    names = [
        place,
        *(place.with_name(f"{place.name}{one}") for one in SCRIPTS),
        *(place / f"index{s}" for s in SCRIPTS),
    ]
    names += [place.with_suffix(one) for one in (".ts", ".mts", ".tsx") if place.suffix in (".js", ".mjs")]
    yield from (one for one in names if one.is_file())


def _program(file: Path, text: str | None, suffix: str) -> Program | None:
    try:
        if text is None:
            if file.stat().st_size > _LARGEST:
                return None
            text = file.read_text(encoding="utf-8-sig")
        if suffix in PYTHON:
            return python_code.program_of(text)
        if suffix in SCRIPTS and can_read(suffix):
            # Here, because only functions in JavaScript and TypeScript need the parser.
            from stepwire_wrap.code import script_code  # noqa: PLC0415

            return script_code.program_of(text, suffix)
    except (OSError, ValueError):
        pass
    return None


def handler_in(file: Path, function: str, files: Files, text: str | None = None, suffix: str = "") -> Handler | None:
    """Return what a function reads of its event; None if its code cannot be read.

    Args:
        file: the file that has it.
        function: its name there.
        files: of the function.
        text: the code, if it is not the file's.
        suffix: what the file would be called then.
    """
    scope = files.scope(file, text, suffix)
    if scope is None:
        return None
    code, wrappers = _entry(scope, function, files)
    try:
        return None if code is None else _handler(code, files, is_wrapped=wrappers)
    except RecursionError:
        return None  # its expressions are nested too deeply


def _handler(code: Code, files: Files, *, is_wrapped: bool) -> Handler:
    following = Following(files.imported)
    event: Value = (At(()),)
    following.is_certain = not is_wrapped
    for one in code.function.decorators:
        event = _decorated(one, event, code.scope, following)
    result = following.run(code, [event])
    if not following.is_certain:  # what is around it may change what it returns
        following.escape(result, 0, code.scope)
        result = ANYTHING
    reads = reads_of(following.found, following.type_tested)
    return Handler(reads, is_all=True, result=result_of(result, following.changed))


def _decorated(decorator: Expression, event: Value, scope: Scope, following: Following) -> Value:
    """Return what a function gets of its event through a decorator."""
    call = decorator if isinstance(decorator, Call) else None
    name = (dotted(call.callee if call is not None else decorator) or "").rpartition(".")[2]
    if name in methods.WRAPPERS_THAT_CHANGE_NOTHING:
        return event
    given = [] if call is None else [following.value(one, scope) for one in (*call.arguments, *call.named.values())]
    classes = [one for value in given for one in value if isinstance(one, Class)]
    if name in methods.EVENT_PARSERS and classes:
        following.declared(event, classes[0].shape, classes[0].scope)
        return ANYTHING
    if name == "event_source":
        return ANYTHING
    following.is_certain = False  # it may change the event, or catch what is raised
    return event


def _named(scope: Scope, name: str, files: Files) -> Value:
    found = scope.look_up(name)
    if found is not None:
        return found
    if name in scope.program.shapes:
        return (Class(scope.program.shapes[name], scope),)
    if name in scope.program.imports:
        again = scope.program.imports[name]
        return files.imported(scope, again.module, again.name)
    exported = scope.program.exports.get(name)
    code = None if exported is None else _function_in(exported, scope, files, 0)
    return (code,) if code is not None else ANYTHING


def _entry(scope: Scope, name: str, files: Files) -> tuple[Code | None, bool]:
    """Return the function that is called, and whether something is wrapped around it."""
    found = scope.look_up(name)
    direct = next((one for one in found or () if isinstance(one, Code)), None)
    if direct is not None:
        return direct, False
    candidates: Mapping[str, Expression] = {
        **{
            one.target.name: one.value
            for one in scope.program.body
            if isinstance(one, Bind) and isinstance(one.target, Name)
        },
        **scope.program.exports,
    }
    for wanted in (name, *_DEFAULTS):
        if wanted in candidates:
            code = _function_in(candidates[wanted], scope, files, 0)
            return code, not isinstance(candidates[wanted], Name | Function)
    imported = [one for one in _named(scope, name, files) if isinstance(one, Code)]
    return (imported[0] if imported else None), False


def _function_in(node: Expression, scope: Scope, files: Files, depth: int) -> Code | None:
    """Return the function that an expression is, or that a call is wrapped around: `middy(handler).use(...)`."""
    if depth > _DEEPEST_WRAPPER:
        return None
    match node:
        case Function():
            return Code(node, scope)
        case Name():
            return _function_called(node.name, scope, files, depth)
        case Call():
            inner = [*node.arguments, *_owners(node.callee)]
            return next(filter(None, (_function_in(one, scope, files, depth + 1) for one in inner)), None)
        case _:
            return None


def _function_called(name: str, scope: Scope, files: Files, depth: int) -> Code | None:
    code = next((one for one in _named(scope, name, files) if isinstance(one, Code)), None)
    bound = (one for one in scope.program.body if isinstance(one, Bind) and one.target == Name(name, _line_of(one)))
    values = [] if code is not None else [one.value for one in bound]
    return code or next(filter(None, (_function_in(one, scope, files, depth + 1) for one in values)), None)


def _line_of(one: Bind) -> int:
    return one.target.line if isinstance(one.target, Name) else 0


def _owners(callee: Expression) -> Iterator[Expression]:
    of = getattr(callee, "of", None)
    if isinstance(of, Call):
        yield of
