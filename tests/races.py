"""Tools whose state machines race, for tests; a run is called by a letter, as in the name of its execution."""

from datetime import timedelta
from typing import Final

from msgspec.structs import replace

from stepwire.catalog.tools import Additions, Tool
from stepwire.codec import NO_TIME
from stepwire.json_text import write
from stepwire.tasks.ids import LETTERS
from stepwire.tasks.outcomes import ExecutionEnd, ExecutionFailed, Succeeded
from stepwire.tasks.runs import Plan, Retry, Run
from stepwire.tasks.task import Execution, Task
from tests.kits import OPTIONAL, OUTPUT, state_machine_arn

NAMES: Final = ("fast", "slow", "spare", "fourth", "fifth")
WON: Final[ExecutionEnd] = Succeeded(write(OUTPUT))
BROKEN: Final[ExecutionEnd] = ExecutionFailed("Busy", "no seat left")


def arms(count: int = 2, delays: tuple[float, ...] = ()) -> tuple[Run, ...]:
    """Return runs of machines of their own, some of which start some seconds later."""
    seconds = (*delays, *(0.0 for _ in range(count - len(delays))))
    return tuple(
        Run(state_machine_arn(name.title()), name, delay=timedelta(seconds=later) or NO_TIME)
        for name, later in zip(NAMES[:count], seconds, strict=False)
    )


def racing(count: int = 2, *delays: float, quorum: int = 1, retry: Retry | None = None) -> Tool:
    """Return a tool whose state machines race; `delays` are those of its first arms, in seconds."""
    return replace(OPTIONAL, name="racing", plan=Plan(arms(count, delays), quorum), retry=retry)


def with_constants(tool: Tool) -> Tool:
    """Return the tool with a constant for each run, its own name."""
    named = tuple(replace(run, constants=write({"provider": run.name})) for run in tool.plan.runs)
    plan = replace(tool.plan, runs=named)
    return replace(tool, plan=plan, additions=Additions(of_arms=("provider",)))


def execution_of(task: Task, letter: str) -> Execution:
    """Return the execution of the run with this letter."""
    return task.execution_of(LETTERS.index(letter))


def open_executions(task: Task) -> list[Execution]:
    """Return the executions that may run or start."""
    return [task.execution_of(index) for index, run in enumerate(task.runs) if run.is_open]
