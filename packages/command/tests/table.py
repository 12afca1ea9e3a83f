"""The table of an endpoint whose extras are removed, in the simulated account."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from packages.command.tests.fake_cloudformation import refusal
from stepwire.aws.storage.items import divided
from stepwire.aws.storage.table import Item, Table
from stepwire.tasks.task import Task
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.pacing import Pacer
from stepwire_cli.deployment.in_use import Contents, InUse, in_use, uses_of
from stepwire_cli.deployment.stack import Stack
from tests.simulated.dynamodb import quick_dynamodb_client
from tests.tables import new_table

AT: Final = datetime.now(UTC).replace(microsecond=0)
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass
class TableOfAnEndpoint:
    """The table, what the stack says, and how often each operation was called."""

    table: Table = field(default_factory=lambda: Table(new_table(), quick_dynamodb_client))
    is_denied: bool = False
    """Whether these credentials may not read it."""
    calls: list[str] = field(default_factory=list[str])

    def put(self, *items: Item) -> None:
        """Write items."""
        for item in items:
            self.table.put(item)

    def hold(self, *tasks: Task) -> None:
        """Write tasks."""
        self.put(*(divided(one).item for one in tasks))

    def contents(self, parameters: Mapping[str, str] = _NOTHING) -> Contents:
        """Return what the command reads."""
        calls = Calls(lambda _service: _Client(self), Pacer(lambda: 0.0, lambda _seconds: None))
        outputs = {"TasksTable": self.table.name}
        return Contents(calls, Stack("stepwire", "CREATE_COMPLETE", "id", outputs, parameters), AT)

    def in_use(self, *extras: str, parameters: Mapping[str, str] = _NOTHING) -> tuple[InUse, ...]:
        """Return what of these extras is in use."""
        return in_use(self.contents(parameters), extras, uses_of)

    def seen(self, *extras: str, parameters: Mapping[str, str] = _NOTHING) -> dict[str, str]:
        """Return how much there is, by what it is."""
        return {one.use.what: one.seen for one in self.in_use(*extras, parameters=parameters)}


@dataclass
class _Client:
    table: TableOfAnEndpoint

    def __getattr__(self, name: str) -> Any:
        self.table.calls.append(name)
        if self.table.is_denied:
            raise refusal("AccessDeniedException")
        return getattr(self.table.table.client, name)


def words_of(found: Iterable[InUse]) -> str:
    """Return what a person is shown."""
    return "\n".join(one.words for one in found)
