"""The endpoint and the examples on the local stack, in a process of its own."""

import logging
import os
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, redirect_stdout
from multiprocessing import get_context
from multiprocessing.managers import BaseManager
from pathlib import Path
from typing import Any, Final, cast

from stepwire_local import LocalStack
from tests.cold_start import ROOT

TEMPLATES: Final = (ROOT / "stack.yaml", ROOT / "examples/template.yaml")
# Without sign-in all clients are one caller, who may by default wait in three requests at once.
_PARAMETERS: Final = {"MostWaiting": "100"}
_VARIABLES: Final = {"MOST_WAITING_PER_CALLER": "100"}


def ends_of(states: Any, machine: str) -> dict[str, float]:
    """Return when the executions of a state machine ended, in seconds since 1970, by the ids of their tasks."""
    pages = states.get_paginator("list_executions").paginate(stateMachineArn=machine)
    found = (one for page in pages for one in page["executions"] if "stopDate" in one)
    return {one["name"].rpartition("-")[2]: one["stopDate"].timestamp() for one in found}


class Stack:
    """The stack; each method runs in its process."""

    def __init__(self) -> None:
        logging.basicConfig(level=logging.ERROR)
        self._exit = ExitStack()
        nowhere = self._exit.enter_context(Path(os.devnull).open("w"))  # noqa: SIM115  # closed with the rest
        self._exit.enter_context(redirect_stdout(nowhere))  # the audit of the functions
        endpoint, *others = TEMPLATES
        self._stack = self._exit.enter_context(
            LocalStack(endpoint, others=others, parameters=_PARAMETERS, variables=_VARIABLES)
        )

    def url(self) -> str:
        """Return the URL of the endpoint."""
        return self._stack.url

    def ends(self) -> dict[str, float]:
        """Return when the executions ended, as Step Functions says, by the ids of their tasks."""
        return ends_of(self._stack.client("stepfunctions"), self._stack.physical_ids["WaitAndEcho"])

    def close(self) -> None:
        """Stop the stack."""
        self._exit.close()


class _Process(BaseManager):
    """The process of the stack."""


_Process.register("Stack", Stack)


@contextmanager
def serving() -> Generator[Stack]:
    """Serve until the block ends."""
    with _Process(ctx=get_context("spawn")) as process:
        stack = cast(Stack, cast(Any, process).Stack())
        try:
            yield stack
        finally:
            stack.close()
