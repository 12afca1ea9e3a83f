"""An operator at a terminal: the real command against the account that `make run` serves, and what was typed."""

import io
import shlex
from collections.abc import Generator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import boto3

from stepwire_cli.__main__ import in_front
from stepwire_cli.account import connecting
from stepwire_cli.app import run
from stepwire_local import LocalStack


@dataclass
class Operator:
    """Types commands, and reads what they print."""

    stack: LocalStack
    account: str
    """The URL of its account."""
    typed: list[str] = field(default_factory=list[str])
    not_run: list[str] = field(default_factory=list[str])

    def types(self, line: str, *, writes: str = "", code: int = 0) -> str:
        """Run a command that ends with a code, and return what it prints, once no function prints of its own accord.

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
        self.stack.drain()
        with self._signed_in(), redirect_stdout(out), redirect_stderr(err):
            ended = run(in_front([*words, *stack]))
        assert ended == code, f"{line}: {ended}\n{err.getvalue()}"
        return out.getvalue()

    def reads(self, line: str) -> None:
        """Note what an operator does on AWS, and nothing does here."""
        self.not_run.append(line)

    @contextmanager
    def _signed_in(self) -> Generator[None]:
        session = _Session(boto3.Session("local", "local", region_name="us-east-1"), self.account)

        def session_of(_profile: str | None, _region: str | None) -> _Session:
            return session

        with patch.object(connecting, "session_of", session_of):
            yield


@dataclass(frozen=True)
class _Session:
    """A session of boto3 under AWS_ENDPOINT_URL, which this process cannot set: its own functions would call there."""

    session: Any
    account: str
    region_name: str = "us-east-1"

    def client(self, service: str, **more: Any) -> Any:
        """Return a client, as a session of boto3 does."""
        return self.session.client(service, endpoint_url=self.account, **more)
