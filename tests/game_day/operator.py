"""An operator at a terminal: the real command against the simulated account, and what was typed."""

import io
import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

from botocore.exceptions import ClientError

from stepwire_cli.__main__ import in_front
from stepwire_cli.account import connecting
from stepwire_cli.app import run
from stepwire_local import LocalStack


@dataclass
class Operator:
    """Types commands, and reads what they print."""

    stack: LocalStack
    parameters: Mapping[str, str]
    """Those that the stack was deployed with."""
    typed: list[str] = field(default_factory=list[str])

    def types(self, line: str, *, writes: str = "", code: int = 0) -> str:
        """Run a command that ends with a code, and return what it prints.

        Args:
            line: as in a shell, of the command `stepwire`.
            writes: file to which the shell writes what it prints; for what was typed alone.
            code: the exit code.
        """
        self.typed.append(f"{line} > {writes}" if writes else line)
        name, *words = shlex.split(line)
        assert name == "stepwire", line
        stack = () if words[0] == "sign-in" else ("--stack", self.stack.name)
        out, err = io.StringIO(), io.StringIO()
        with self._signed_in(), redirect_stdout(out), redirect_stderr(err):
            ended = run(in_front([*words, *stack]))
        assert ended == code, f"{line}: {ended}\n{err.getvalue()}"
        return out.getvalue()

    def does(self, line: str) -> None:
        """Note what is typed that no command of ours does, such as one of the AWS CLI."""
        self.typed.append(line)

    @contextmanager
    def _signed_in(self) -> Generator[None]:
        def session_of(_profile: str | None, _region: str | None) -> _Session:
            return _Session(self)

        with patch.object(connecting, "session_of", session_of):
            yield


@dataclass(frozen=True)
class _Session:
    """The session of boto3, in the simulated account."""

    operator: Operator
    region_name: str = "us-east-1"

    def client(self, service: str, **_: Any) -> Any:
        """Return a client; CloudFormation is not simulated, so the local stack answers for it."""
        if service == "cloudformation":
            return _CloudFormation(self.operator)
        return self.operator.stack.client(service)


@dataclass(frozen=True)
class _CloudFormation:
    operator: Operator

    def describe_stack_resource(self, StackName: str, LogicalResourceId: str) -> Any:  # noqa: N803 - as boto3 has it
        assert self.operator.stack.name == StackName
        found = self.operator.stack.physical_ids.get(LogicalResourceId)
        if found is None:
            error: Any = {"Code": "ValidationError", "Message": f"Resource {LogicalResourceId} does not exist"}
            raise ClientError({"Error": error}, "DescribeStackResource")
        return _answer({"StackResourceDetail": {"PhysicalResourceId": found}})

    def describe_stacks(self, StackName: str) -> Any:  # noqa: N803
        assert self.operator.stack.name == StackName
        stack = {
            "Outputs": _pairs("Output", self.operator.stack.outputs),
            "Parameters": _pairs("Parameter", self.operator.parameters),
        }
        return _answer({"Stacks": [stack]})


def _pairs(prefix: str, values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{f"{prefix}Key": name, f"{prefix}Value": value} for name, value in values.items()]


def _answer(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "ResponseMetadata": {"HTTPStatusCode": 200}}
