"""What an operator commands, done by a function of the endpoint: about its tasks, its lines and its callers.

The function has the permissions and the rules; whoever may invoke it may command it. So IAM can permit to command tasks
and lines, and not to block callers: that is another function's.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, cast

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError

TASKS: Final = "ExecutionEventsFunction"
"""Logical id of the function that continues tasks and changes lines."""
BLOCKS: Final = "BlocksFunction"
"""Logical id of the function that blocks."""


def obeyed(calls: Calls, function: str, command: Mapping[str, Any], *members: str) -> dict[str, Any]:
    """Return the answer to a command.

    A version of the function that does not know the command answers without the members.

    Raises:
        AccountError: the function may not be invoked, failed, or refuses; its message says what to do.
    """
    payload = json.dumps({"stepwire_command": {**command, **_operator_of(calls)}}).encode()
    answer = calls.call("lambda", "Invoke", FunctionName=function, Payload=payload)
    said: Any = json.loads(answer["Payload"].read() or b"null")
    if "FunctionError" in answer:
        raise AccountError(f"the function {function} failed: its log says why; repeat the command afterwards")
    match said:
        case {"refused": str(reason)}:
            raise AccountError(reason)
        case dict() if all(name in said for name in members):
            return cast("dict[str, Any]", said)
        case _:
            raise AccountError("this stack is of a version without this command: deploy the version of the command")


def _operator_of(calls: Calls) -> dict[str, str]:
    """Return who gives the command, for the audit trail; nothing if AWS does not say."""
    try:
        return {"operator": calls.call("sts", "GetCallerIdentity")["Arn"]}
    except AccountError:
        return {}
