"""What the extras of an endpoint add to the local stack and its console: a folder for each.

The rule: what is here is there. Nothing else of the local stack names an extra. A folder's `EXTRA` says what it adds;
its script, if it has one, is loaded by the console's page, whose `extras.js` says what a script gives.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Final, Protocol

from stepwire.aws.storage.table import Table
from stepwire_local.issuer import LocalIssuer
from stepwire_local.lambdas.functions import Function
from stepwire_local.streams.task_changes import Record, Told

_TABLE: Final = "TasksTable"

Query = Mapping[str, str]
Shown = Mapping[str, Any]
"""JSON that the console's page reads."""


class Stack(Protocol):
    """A local stack, as extras see it."""

    @property
    def functions(self) -> Mapping[str, Function]:
        """Return the functions by their logical ids."""
        ...

    @property
    def physical_ids(self) -> Mapping[str, str]:
        """Map logical ids to physical ids."""
        ...

    def client(self, service: str) -> Any:
        """Return a boto3 client of the simulated account."""
        ...


class Refused(Exception):
    """A request of the console's page cannot be served; the message says why."""

    status = 400


@dataclass(frozen=True, kw_only=True)
class Part:
    """What an extra adds to one stack and its console."""

    routes: Mapping[tuple[str, str], Callable[[str, Query, bytes], Any]] = field(default_factory=dict[Any, Any])
    """What the console's API serves, by method and first part of the path, from the rest of the path, the query and the
    body. May raise `Refused`."""
    about: Shown = field(default_factory=dict[str, Any])
    """What the page knows from the start."""
    of_tasks: tuple[str, Callable[[Sequence[Shown]], Mapping[str, Any]]] | None = None
    """A field of the tasks that the page lists, and a function that returns it by their ids."""
    written: Callable[[Record], Iterable[Told]] = lambda _: ()
    """Receives each write of a task's item; returns what the terminal shows of it."""
    held: object = None
    """What it is made of, for a program that starts the stack and knows the extra."""


@dataclass(frozen=True, kw_only=True)
class Extra:
    """What an extra adds to the local stack."""

    part: Callable[[Stack], Part]
    script: Path | None = None
    """A module of the page."""
    parameters: Callable[[tuple[LocalIssuer, str] | None], Mapping[str, str]] = lambda _: {}
    """Returns parameters for a template that declares all of them and is served here, from the issuer at which people
    sign in and the URL of the endpoint; None: nobody signs in."""


@cache
def extras() -> Sequence[Extra]:
    """Return what the extras add, in the order of their names."""
    return tuple(import_module(f"{__name__}.{found.name}").EXTRA for found in iter_modules(__path__))


def table_of(stack: Stack) -> Table | None:
    """Return the endpoint's table, read as it is now; None: the stack is somebody else's."""
    name = stack.physical_ids.get(_TABLE)
    return None if name is None else Table(name, lambda: stack.client("dynamodb"))
