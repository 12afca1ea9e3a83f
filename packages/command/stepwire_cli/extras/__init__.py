"""What the extras of an endpoint add to the command: a folder or a file for each, with its groups of commands.

The rule: what is here is there. Nothing else of the command names an extra. A command of the core finds an extra's part
of it by the name of a module in the folder.
"""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


def groups() -> "Iterator[tuple[str, typer.Typer]]":
    """Yield the groups of commands, by their names."""
    for found in iter_modules(__path__):
        yield from getattr(import_module(f"{__name__}.{found.name}"), "GROUPS", {}).items()


@cache
def parts(name: str) -> tuple[ModuleType, ...]:
    """Return the modules of this name that the extras' folders have."""
    modules = (f"{__name__}.{found.name}.{name}" for found in iter_modules(__path__) if found.ispkg)
    return tuple(import_module(module) for module in modules if find_spec(module))
