"""Tools whose state machines race, for tests."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.catalog.tools import Additions, Tool
from stepwire.json_text import write
from stepwire.tasks.ids import LETTERS
from stepwire.tasks.outcomes import ExecutionEnd, ExecutionFailed, Succeeded
from stepwire.tasks.races import Arm, Race
from stepwire.tasks.retries import Attempt, Retry
from tests.kits import OPTIONAL, OUTPUT, state_machine_arn

NAMES: Final = ("fast", "slow", "spare", "fourth", "fifth")
WON: Final[ExecutionEnd] = Succeeded(write(OUTPUT))
BROKEN: Final[ExecutionEnd] = ExecutionFailed("Busy", "no seat left")


def arms(count: int = 2, delays: tuple[float, ...] = ()) -> tuple[Arm, ...]:
    """Return arms of machines of their own, some of which start some seconds later."""
    seconds = (*delays, *(0.0 for _ in range(count - len(delays))))
    return tuple(
        Arm(name, letter, state_machine_arn(name.title()), delay=timedelta(seconds=later))
        for name, letter, later in zip(NAMES[:count], LETTERS, seconds, strict=False)
    )


def racing(
    count: int = 2, *delays: float, quorum: int = 1, retry: Retry | None = None, has_slot_each: bool = False
) -> Tool:
    """Return a tool whose state machines race; `delays` are those of its first arms, in seconds."""
    run = arms(count, delays)
    if retry is not None:
        run = tuple(replace(arm, attempt=Attempt(retry)) for arm in run)
    race = Race(run, quorum, count if has_slot_each else 1)
    return replace(OPTIONAL, name="racing", state_machine_arn=run[0].state_machine_arn, retry=retry, race=race)


def with_constants(tool: Tool) -> Tool:
    """Return the tool with a constant for each arm, its own name."""
    assert tool.race is not None
    named = tuple(replace(arm, constants=write({"provider": arm.name})) for arm in tool.race.arms)
    return replace(tool, race=replace(tool.race, arms=named), additions=Additions(of_arms=("provider",)))
