"""An operator's redrive or restart of a task that has ended, done by a function of the endpoint.

The function has the permissions and the rules; whoever may invoke it may command it. A repeated command returns the
same task, so a lost answer is asked for again.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

from stepwire.engine.follow_ups import Means
from stepwire.tasks.ids import TaskKey
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError

FUNCTION: Final = "ExecutionEventsFunction"
"""Logical id of the function."""


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

    Args:
        calls: the endpoint's AWS.
        function: name of the function.
        means: redrive or restart.
        key: the task that has ended.

    Raises:
        AccountError: the function may not be invoked, failed, or refuses; its message says what to do.
    """
    command = {"means": means.value, "owner": key.owner, "task_id": key.task_id, **operator_of(calls)}
    payload = json.dumps({"stepwire_command": command}).encode()
    answer = calls.call("lambda", "Invoke", FunctionName=function, Payload=payload)
    said: Any = json.loads(answer["Payload"].read() or b"null")
    if "FunctionError" in answer:
        raise AccountError(f"the function {function} failed: its log says why; repeat the command afterwards")
    match said:
        case {"refused": str(reason)}:
            raise AccountError(reason)
        case {"task_id": str(task_id), "status": str(status), "is_new": bool(is_new), "has_begun": bool(has_begun)}:
            return FollowUp(task_id, status, is_new, has_begun)
        case _:
            raise AccountError("this stack is of a version without this command: deploy the version of the command")


def operator_of(calls: Calls) -> dict[str, str]:
    """Return who gives the command, for the audit trail; nothing if AWS does not say."""
    try:
        return {"operator": calls.call("sts", "GetCallerIdentity")["Arn"]}
    except AccountError:
        return {}
