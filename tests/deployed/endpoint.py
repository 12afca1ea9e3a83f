"""The endpoint of the scenarios and its callers: on the emulator, or in a real account.

For a real account, set environment variables (`make e2e ENDPOINT=... TOKEN=...` sets them):

    ENDPOINT     the stack's output McpEndpoint
    TOKEN        an access token; none for an endpoint without sign-in
    OTHER_TOKEN  a token of another person
    STACK        the stack's name, to read its dead letters with the usual AWS credentials

The rule: a scenario is skipped, with a printed reason, if something that it needs is missing.
"""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal

import pytest

from stepwire_client import Callbacks, TaskClient, connect
from tests.deployed.stack import Stack
from tests.integration.over_http.legacy import LegacyClient, LegacyProcess

Era = Literal["modern", "legacy"]
Caller = Literal["alice", "bob"]
_NO_CALLBACKS: Final = Callbacks()
TOKENS: Final[Mapping[Caller, str]] = {"alice": "TOKEN", "bob": "OTHER_TOKEN"}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint, the tokens of its callers, and its stack with the environment for AWS's clients, if we may read it.

    `host` is the header Host to send, if it is not that of the URL.
    """

    url: str
    token_of: Callable[[Caller], str | None]
    host: str | None = None
    stack: Stack | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def token(self, caller: Caller) -> str:
        """Return a caller's token.

        Raises:
            Skipped: there is none.
        """
        return self.token_of(caller) or pytest.skip(f"needs sign-in: {TOKENS[caller]} is not set")

    def headers(self, token: str | None) -> dict[str, str]:
        """Return the headers of a request, with this token or without one."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return headers | ({"host": self.host} if self.host else {})

    def looked_at(self) -> Stack:
        """Return the stack.

        Raises:
            Skipped: the stack is not known.
        """
        return self.stack or pytest.skip("needs a look at the stack: STACK is not set")

    @asynccontextmanager
    async def client(
        self, *, caller: Caller = "alice", callbacks: Callbacks = _NO_CALLBACKS
    ) -> AsyncGenerator[TaskClient]:
        """Open a session at 2026-07-28 with a client that supports tasks."""
        token = self.token_of("alice") if caller == "alice" else self.token(caller)
        async with connect(self.url, headers=self.headers(token), callbacks=callbacks) as client:
            yield client

    def legacy(self, caller: Caller = "alice") -> LegacyClient:
        """Run scenarios of tests/integration/over_http/mcp_1.py, at 2025-11-25."""
        token = self.token_of("alice") if caller == "alice" else self.token(caller)
        return partial(_run, self.url, [*_option("--token", token), *_option("--host", self.host)])


def in_an_account(url: str, stack: Stack | None) -> Endpoint:
    """Return an existing endpoint in an account, with the tokens of the environment."""
    return Endpoint(url, lambda caller: os.environ.get(TOKENS[caller]), stack=stack, environment=os.environ)


def _run(url: str, options: Sequence[str], scenario: str, *arguments: str) -> Any:
    with LegacyProcess() as process:
        return process.run(url, scenario, *arguments, *options)


def _option(name: str, value: str | None) -> list[str]:
    return [name, value] if value else []
