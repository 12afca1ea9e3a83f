"""Finds what the extras' folders add, by the name of a module in them: here, and in the command."""

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Final

_FOLDER: Final = Path(__file__).parent / "extras"


@cache
def parts(name: str) -> tuple[ModuleType, ...]:
    """Return the modules of this name that the extras' folders have, in the order of the extras' names."""
    return modules_in("stepwire_wrap.extras", [str(_FOLDER)], name)


def modules_in(package: str, folders: Iterable[str], name: str) -> tuple[ModuleType, ...]:
    """Return the modules of a name that the packages in a package have; `folders` is where that one is."""
    modules = (f"{package}.{found.name}.{name}" for found in iter_modules(folders) if found.ispkg)
    return tuple(import_module(module) for module in modules if find_spec(module))
