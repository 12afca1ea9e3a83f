"""The endpoint that the scenarios run against, and the callers who do: on the emulator, or in a real account.

In a real account the environment says which (`make e2e ENDPOINT=... TOKEN=...` puts it there):

    ENDPOINT     the stack's output McpEndpoint
    TOKEN        an access token; none for an endpoint without sign-in
    OTHER_TOKEN  one of another person
    STACK        the stack's name, to look at its dead letters with the usual AWS credentials

The rule: what a scenario needs and is not there makes it skip with a reason that is printed.
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
from tests.e2e.conftest import LegacyClient, command_for, run_scenario

Era = Literal["modern", "legacy"]
Caller = Literal["alice", "bob"]
_NO_CALLBACKS: Final = Callbacks()
TOKENS: Final[Mapping[Caller, str]] = {"alice": "TOKEN", "bob": "OTHER_TOKEN"}


@dataclass(frozen=True)
class Endpoint:
    """An endpoint, the tokens of its callers, and its stack if we may look at that, with what AWS's clients then need.

    `host` is the header Host to send, where that is not the URL's.
    """

    url: str
    token_of: Callable[[Caller], str | None]
    host: str | None = None
    stack: Stack | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def token(self, caller: Caller) -> str:
        """Give a caller's token.

        Raises:
            Skipped: there is none.
        """
        return self.token_of(caller) or pytest.skip(f"needs sign-in: {TOKENS[caller]} is not set")

    def headers(self, token: str | None) -> dict[str, str]:
        """Give the headers of a request with this token, or with none."""
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return headers | ({"host": self.host} if self.host else {})

    def looked_at(self) -> Stack:
        """Give the stack.

        Raises:
            Skipped: nobody says which it is.
        """
        return self.stack or pytest.skip("needs a look at the stack: STACK is not set")

    @asynccontextmanager
    async def client(
        self, *, caller: Caller = "alice", callbacks: Callbacks = _NO_CALLBACKS
    ) -> AsyncGenerator[TaskClient]:
        """Open a session at 2026-07-28 with a client that knows tasks."""
        token = self.token_of("alice") if caller == "alice" else self.token(caller)
        async with connect(self.url, headers=self.headers(token), callbacks=callbacks) as client:
            yield client

    def legacy(self, caller: Caller = "alice") -> LegacyClient:
        """Run scenarios of tests/e2e/legacy_driver.py, at 2025-11-25."""
        token = self.token_of("alice") if caller == "alice" else self.token(caller)
        return partial(_run, self.url, [*_option("--token", token), *_option("--host", self.host)])


def in_an_account(url: str, stack: Stack | None) -> Endpoint:
    """Return an endpoint that already exists in an account, with the tokens of the environment."""
    return Endpoint(url, lambda caller: os.environ.get(TOKENS[caller]), stack=stack, environment=os.environ)


def _run(url: str, options: Sequence[str], scenario: str, *arguments: str) -> Any:
    return run_scenario(command_for(url), scenario, *arguments, *options)


def _option(name: str, value: str | None) -> list[str]:
    return [name, value] if value else []
