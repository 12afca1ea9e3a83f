"""Loads a handler from its folder, with its own copies of its modules.

The rule: a handler must import the modules beside it at load time, not inside a function. Their plain names are removed
from `sys.modules` after loading, so that two functions can both have an app.py. What the copy of a layer imports later
is a copy of the same instance.
"""

import builtins
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from stepwire_local.errors import FunctionLoadError

_importing = threading.RLock()
_import_anything = builtins.__import__
_LONGEST = 200  # characters of the reason why a file cannot be imported
_ERROR_TYPES: Mapping[type[BaseException], str] = {
    ImportError: "Runtime.ImportModuleError",
    SyntaxError: "Runtime.UserCodeSyntaxError",
    SystemExit: "Runtime.ExitError",
}
"""The type of the error that Lambda gives where importing raises; of other errors, it is their own name."""
_COPIES = "__copies_of_instance__"
"""In the globals of a module that is a copy: the instance's copies."""

# The modules of handlers, under unique names.
_handlers: set[str] = set()


def load_handler(
    handler: str, folder: Path, owner: str, own: Sequence[Path] = (), layers: Sequence[Path] = ()
) -> Callable[..., Any]:
    """Return the handler, e.g. `app.handler`, loaded for an owner with a unique name.

    It gets its own copies of the modules in its folder and in the folders `own`. The handler may be in a layer.

    Raises:
        FunctionLoadError: the handler is missing or cannot be imported.
    """
    module_name, _, attribute = handler.rpartition(".")
    files = [one.joinpath(*module_name.split(".")).with_suffix(".py") for one in (folder, *layers)]
    file = next((one for one in files if one.is_file()), None)
    if file is None:
        raise FunctionLoadError(f"handler {handler} needs {files[0]}, which does not exist")
    try:
        with _own_modules(folder, own):
            module = _import(f"{module_name.replace('.', '_')}_of_{owner}", file)
    except ModuleNotFoundError as error:
        raise _not_imported(file, error, _missing_package(error.name or "a module", folder)) from error
    except (Exception, SystemExit) as error:
        raise _not_imported(file, error, " ".join(str(error).split())) from error
    loaded = getattr(module, attribute, None)
    if loaded is None:
        raise FunctionLoadError(f"{file} has no {attribute}", "Runtime.HandlerNotFound")
    return loaded


def _not_imported(file: Path, error: BaseException, why: str) -> FunctionLoadError:
    named = (kind for of, kind in _ERROR_TYPES.items() if isinstance(error, of))
    words = why if len(why) <= _LONGEST else f"{why[:_LONGEST]}..."
    name = type(error).__name__
    return FunctionLoadError(f"cannot import {file}: {name}: {words}", next(named, name))


def _missing_package(name: str, folder: Path) -> str:
    """Return what to do about a module that code in a folder imports and that is not there."""
    listed = folder / "requirements.txt"
    how = f"pip install -r {listed}" if listed.is_file() else f"uvx --with {name.partition('.')[0]} stepwire-local"
    return f"{name} is not installed here ({how})"


def _import(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    _handlers.add(name)
    sys.modules[name] = module  # dataclasses and pickle look their module up there
    spec.loader.exec_module(module)
    return module


@contextmanager
def _own_modules(folder: Path, own: Sequence[Path]) -> Generator[None]:
    """Import modules of these folders anew under their plain names; remove these names when the block ends."""
    with _importing:
        sys.path.insert(0, str(folder))
        try:
            with _Copies(own).in_place(folder):
                yield
        finally:
            sys.path.remove(str(folder))


class _Copies:
    """An instance's copies of the modules in some folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.modules: dict[str, ModuleType] = {}
        self._folders = folders
        if folders:
            builtins.__import__ = _import_of_instance

    @contextmanager
    def in_place(self, *more: Path) -> Generator[None]:
        """Import these copies under their plain names, and what is new in more folders; remove the names afterwards."""
        with _importing:
            shared = _taken_out(self._folders)
            before = set(sys.modules)
            sys.modules.update(self.modules)
            try:
                yield
            finally:
                for name, module in _taken_out(self._folders).items():
                    self.modules[name] = module
                    vars(module)[_COPIES] = self
                for name in _modules_in(more, set(sys.modules) - before):
                    del sys.modules[name]
                sys.modules.update(shared)


def _import_of_instance(
    name: str,
    globals: Mapping[str, Any] | None = None,  # noqa: A002 - the name that Python gives it
    locals: Mapping[str, Any] | None = None,  # noqa: A002
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> ModuleType:
    """Import a module; one that an instance's copy imports inside a function is a copy of that instance too."""
    copies = globals.get(_COPIES) if globals else None
    if not isinstance(copies, _Copies):
        return _import_anything(name, globals, locals, fromlist, level)
    known = copies.modules.get(name)
    if known is not None and fromlist and all(hasattr(known, one) for one in fromlist):
        return known
    with copies.in_place():
        return _import_anything(name, globals, locals, fromlist, level)


def _taken_out(folders: Sequence[Path]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in _modules_in(folders, list(sys.modules))} if folders else {}


def _modules_in(folders: Sequence[Path], names: Iterable[str]) -> list[str]:
    """Return those of the names in `sys.modules` that are of modules in these folders."""
    # Strings, because comparing thousands of Path objects takes a hundred times as long.
    starts = tuple(f"{folder}{os.sep}" for folder in folders)
    files = ((name, getattr(sys.modules[name], "__file__", None)) for name in names if name not in _handlers)
    return [name for name, file in files if file is not None and file.startswith(starts)]
