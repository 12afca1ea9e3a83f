"""All tasks of one caller: counted and cancelled in parts by a function of the endpoint, which has the rules.

The rule: an interruption loses nothing. Each part is done when the function answers, and a part that is asked for again
passes over what has ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from stepwire.background.commands import TASKS
from stepwire.principal import Principal
from stepwire_cli.account.commanding import Door
from stepwire_cli.account.errors import TooBusy

PAUSE: Final = 5.0
"""Seconds after which a part is asked for again, if AWS throttles or does not answer."""
MOST_PAUSES: Final = 24
"""In a row, which is two minutes."""


@dataclass(frozen=True)
class Counted:
    """How many tasks a caller has."""

    running: int = 0
    ended: int = 0


@dataclass
class Cancelled:
    """What came of the tasks."""

    cancelled: int = 0
    ended: int = 0
    failed: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    """The id of each task that could not be cancelled, and the reason."""


@dataclass(frozen=True)
class CallersTasks:
    """The tasks of a caller."""

    door: Door
    owner: Principal
    sleep: Callable[[float], None]

    def count(self) -> Counted:
        """Return how many tasks have ended, and how many have not."""
        parts = list(self._parts("count_tasks"))
        return Counted(sum(one["running"] for one in parts), sum(one["ended"] for one in parts))

    def cancel(self, watch: Callable[[Cancelled], None]) -> Cancelled:
        """Cancel those that have not ended.

        Raises:
            TooBusy: AWS throttles for minutes. What is done is done, and the same command goes on.
        """
        done, pauses = Cancelled(), 0
        for part in self._parts("cancel_tasks"):
            done.cancelled += part["cancelled"]
            done.ended += part["ended"]
            done.failed += part["failed"]
            watch(done)
            pauses = pauses + 1 if part["is_busy"] and not part["cancelled"] else 0
            if pauses == MOST_PAUSES:
                raise TooBusy(
                    f"AWS throttles, or does not answer: {done.cancelled:,} tasks were cancelled; repeat the command"
                )
            if part["is_busy"]:
                self.sleep(PAUSE)
        return done

    def _parts(self, command: str) -> Iterator[dict[str, Any]]:
        after: dict[str, str] = {}
        while True:
            part = self.door.do(TASKS, command, owner=self.owner, **after)
            yield part
            if part["after"] is None and not part.get("is_busy"):
                return
            after = {"after": part["after"]} if part["after"] is not None else {}
