"""What the extras of an endpoint add to the command: a folder or a file for each, with its groups of commands.

The rule: what is here is there. Nothing else of the command names an extra. A command of the core finds an extra's part
of it by the name of a module in the folder.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Annotated, Any

import typer

from stepwire_wrap.options import of_extras
from stepwire_wrap.parts import modules_in


def groups() -> Iterator[tuple[str, Any]]:
    """Yield the groups of commands (`typer.Typer`), by their names."""
    for found in iter_modules(__path__):
        yield from getattr(import_module(f"{__name__}.{found.name}"), "GROUPS", {}).items()


@cache
def parts(name: str) -> tuple[ModuleType, ...]:
    """Return the modules of this name that the extras' folders have."""
    return modules_in(__name__, __path__, name)


def with_options_of_extras(before: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes any more options those of the extras, before one of its own."""

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        found = [one for one in own.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                one.name,
                own[before].kind,
                default=None,
                annotation=Annotated[list[str] | None, typer.Option(metavar=one.metavar, help=one.help)],
            )
            for one in of_extras()
        ]
        at = list(own).index(before)
        signature = inspect.Signature([*found[:at], *more, *found[at:]])
        command.__signature__ = signature  # pyright: ignore[reportFunctionMemberAccess] - typer reads it
        return command

    return extended
