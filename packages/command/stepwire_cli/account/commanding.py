"""What an operator commands, by function operator of the endpoint (`stepwire.background.commands`).

The function has the permissions and the rules. IAM permits to invoke it by an alias: that of the right to a command.
"""

import json
from dataclasses import dataclass
from typing import Any, Final, cast

from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.errors import AccountError

OPERATOR: Final = "OperatorFunction"
"""Logical id of the function."""


@dataclass(frozen=True)
class Door:
    """The function."""

    calls: Calls
    function: str

    def do(self, right: str, command: str, **fields: Any) -> dict[str, Any]:
        """Give a command, and return what it returns.

        Raises:
            AccountError: the function may not be invoked, failed, or refuses; its message says what to do.
        """
        payload = json.dumps({"command": command, **fields, **self._operator}).encode()
        answer = self.calls.call("lambda", "Invoke", FunctionName=f"{self.function}:{right}", Payload=payload)
        said: Any = json.loads(answer["Payload"].read() or b"null")
        if "FunctionError" in answer:
            raise AccountError(f"the function {self.function} failed: its log says why; repeat the command afterwards")
        match said:
            case {"done": dict()}:
                return cast("dict[str, Any]", said["done"])
            case {"refused": str(reason)}:
                raise AccountError(reason)
            case _:
                raise AccountError("this stack is of another version: deploy the version of the command")

    @property
    def _operator(self) -> dict[str, str]:
        """Who gives the command, for the audit trail; nothing if AWS does not say."""
        try:
            return {"operator": self.calls.call("sts", "GetCallerIdentity")["Arn"]}
        except AccountError:
            return {}


def door_of(endpoint: Endpoint) -> Door:
    """Return the function of an endpoint."""
    return Door(endpoint.calls, endpoint.physical_id(OPERATOR))
