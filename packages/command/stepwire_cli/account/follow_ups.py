"""An operator's redrive or restart of a task that has ended, done by a function of the endpoint.

A repeated command returns the same task, so a lost answer is asked for again.
"""

from dataclasses import dataclass

from stepwire.engine.follow_ups import Means
from stepwire.tasks.ids import TaskKey
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.commanding import obeyed


@dataclass(frozen=True)
class FollowUp:
    """The task that follows the one which has ended."""

    task_id: str
    status: str
    is_new: bool
    """Whether this command made it, and not an earlier one, or a redrive in the console."""
    has_begun: bool
    """Whether Step Functions has been told; if not, the next check of the task begins its work."""


def follow_up(calls: Calls, function: str, means: Means, key: TaskKey) -> FollowUp:
    """Redrive or restart a task.

    Raises:
        AccountError: the function may not be invoked, failed, or refuses; its message says what to do.
    """
    command = {"means": means.value, "owner": key.owner, "task_id": key.task_id}
    said = obeyed(calls, function, command, "task_id", "status", "is_new", "has_begun")
    return FollowUp(said["task_id"], said["status"], said["is_new"], said["has_begun"])
