"""The erasure of what is held of one caller, done in parts by a function of the endpoint, which has the rules.

The rule: what remains elsewhere is named before the tasks are erased that lead to it, so an interruption loses no name.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from stepwire.principal import Principal
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import obeyed

ERASURES: Final = "ErasuresFunction"
"""Logical id of the function."""


@dataclass(frozen=True)
class Erasure:
    """The erasure of a caller."""

    calls: Calls
    function: str
    owner: Principal

    def survey(self) -> Iterator[dict[str, Any]]:
        """Yield each task: whether it has ended, its executions, and until when Step Functions keeps these."""
        after: dict[str, str] = {}
        while True:
            part = obeyed(self.calls, self.function, {"survey": self.owner, **after}, "tasks", "after")
            yield from part["tasks"]
            if part["after"] is None:
                return
            after = {"after": part["after"]}

    def parts(self) -> Iterator[dict[str, Any]]:
        """Erase a part after another, and yield what each was."""
        while True:
            part = obeyed(self.calls, self.function, {"erase": self.owner}, "items", "objects", "is_done")
            yield part
            if part["is_done"]:
                return


@dataclass
class Remains:
    """What is left of a caller outside of the table and the bucket."""

    executions: int = 0
    until: str = ""

    def note(self, kept_until: str) -> None:
        """Count an execution."""
        self.executions += 1
        self.until = max(self.until, kept_until)

    def rows(self) -> Iterator[str]:
        """Yield what an operator must know."""
        yield "What remains, and for how long:"
        if self.executions:
            yield (
                f"  Step Functions: the histories of the {self.executions:,} executions above, with their input and "
                f"output, until {self.until[:10]} at the latest"
            )
        yield "  logs: the hash and the ids of tasks, as long as the log groups keep their lines (LogRetentionDays)"
        yield "  backups: the table can be restored to any second of the last 35 days"
        yield "  elsewhere: what workflows stored themselves, and what receivers of webhooks were sent"
