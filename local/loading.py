"""Loads a handler from its folder, with copies of its modules that are its own.

The rule: modules beside the handler must be imported when it is loaded, not from inside a function: their plain names
are forgotten after, so that two functions may both have an app.py.
"""

import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from local.errors import FunctionLoadError

_importing = threading.RLock()

# The modules of handlers, under names that no other module has.
_handlers: set[str] = set()


def load_handler(handler: str, folder: Path, owner: str, own: Sequence[Path] = ()) -> Callable[..., Any]:
    """Return the handler, e.g. `app.handler`, loaded for its owner, whose name must be unique.

    `own` are the folders whose modules are copied for it too; those of its own folder always are.

    Raises:
        FunctionLoadError: it is not there, or cannot be imported.
    """
    module_name, _, attribute = handler.rpartition(".")
    file = folder.joinpath(*module_name.split(".")).with_suffix(".py")
    if not file.is_file():
        raise FunctionLoadError(f"{owner}: handler {handler} needs {file}, which is not there.")
    try:
        with _own_modules(folder, own):
            module = _import(f"{module_name.replace('.', '_')}_of_{owner}", file)
    except Exception as error:
        raise FunctionLoadError(f"{owner}: cannot import {file}: {type(error).__name__}: {error}") from error
    loaded = getattr(module, attribute, None)
    if loaded is None:
        raise FunctionLoadError(f"{owner}: {file} has no {attribute}.")
    return loaded


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
    """Let modules be imported by their plain names, those of the folders anew, and forget those names after."""
    with _importing:
        sys.path.insert(0, str(folder))
        shared = _taken_out(own)
        before = set(sys.modules)
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            for name in set(_modules_in((folder, *own))) - before:
                del sys.modules[name]
            sys.modules.update(shared)


def _taken_out(folders: Sequence[Path]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in _modules_in(folders)}


def _modules_in(folders: Sequence[Path]) -> list[str]:
    """Return the plain names under which modules of these folders are known."""
    # Texts, because there are thousands of modules, and to compare paths takes a hundred times as long.
    starts = tuple(f"{folder}{os.sep}" for folder in folders)
    return [name for name, module in list(sys.modules.items()) if name not in _handlers and _is_in(module, starts)]


def _is_in(module: ModuleType, starts: tuple[str, ...]) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and file.startswith(starts)
