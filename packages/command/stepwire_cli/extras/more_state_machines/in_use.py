"""What of state machines without the tag is in use: the tasks that run on one."""

from fnmatch import fnmatchcase
from typing import Final

from stepwire.aws.settings import read_list
from stepwire.tasks.task import Task
from stepwire_cli.deployment.in_use import Contents, Use

_ARNS: Final = "StateMachineArns"
_PARTS: Final = 7  # of a state machine's ARN; a version or an alias follows


def _running(contents: Contents) -> str:
    patterns = read_list(contents.stack.parameters, _ARNS)

    def is_of_it(task: Task) -> bool:
        arns = (":".join(run.state_machine_arn.split(":")[:_PARTS]) for run in task.runs)
        return any(run.role for run in task.runs) or any(fnmatchcase(arn, one) for arn in arns for one in patterns)

    return contents.tasks.count(is_of_it)


USES: Final = (
    Use(
        "tasks that run on state machines without the tag, or of other accounts and Regions",
        "the endpoint may not ask about them or stop them, and such tools cannot be called. An end "
        "that no event brings is recorded when the extra is back, with the same parameters.",
        "Let these tasks end first.",
        _running,
    ),
)
