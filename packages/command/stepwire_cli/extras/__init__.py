"""What the extras of an endpoint add to the command: a folder or a file for each, with its groups of commands.

The rule: what is here is there. Nothing else of the command names an extra.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import typer


def groups() -> Iterator[tuple[str, typer.Typer]]:
    """Yield the groups of commands, by their names."""
    for found in iter_modules(__path__):
        yield from import_module(f"{__name__}.{found.name}").GROUPS.items()
