"""What an operator commands about a caller, done by a function of the endpoint.

Each kind of command has a function of its own, so that IAM can permit one and not the others.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.follow_ups import operator_of

BLOCKS: Final = "BlocksFunction"
"""Logical id of the function that blocks."""


def obeyed(calls: Calls, function: str, command: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer to a command.

    Raises:
        AccountError: the function may not be invoked, failed, or refuses; its message says what to do.
    """
    payload = json.dumps({"stepwire_command": {**command, **operator_of(calls)}}).encode()
    answer = calls.call("lambda", "Invoke", FunctionName=function, Payload=payload)
    said: Any = json.loads(answer["Payload"].read() or b"null")
    if "FunctionError" in answer:
        raise AccountError(f"the function {function} failed: its log says why; repeat the command afterwards")
    match said:
        case {"refused": str(reason)}:
            raise AccountError(reason)
        case dict():
            return said
        case _:
            raise AccountError("this stack is of a version without this command: deploy the version of the command")
