"""What an operator asks of the lines of tools with a limit, done by a function of the endpoint."""

import json
from typing import Any

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.errors import AccountError
from stepwire_cli.account.follow_ups import operator_of


def ask(calls: Calls, function: str, command: dict[str, str]) -> dict[str, Any]:
    """Return the answer of a command about lines.

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
        case {"lines": list()} | {"line": str()}:
            return said
        case _:
            raise AccountError("this stack is of a version without this command: deploy the version of the command")
