"""Lambda functions: what invokes them, whatever runs their code, and the list of those that can be invoked.

The rules: whatever a function's code does, its invocation has an outcome. A stub answers before the code does. A
function can have several instances, which take turns and share no memory of the template's code, layers included.
"""

import itertools
import re
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol

from stepwire_local.lambdas.in_process import InProcess, in_time
from stepwire_local.lambdas.invocations import (
    PAYLOAD_LIMIT,
    FunctionSettings,
    LambdaContext,
    Outcome,
    failed,
    returned_value,
)
from stepwire_local.lambdas.node.pool import NodePool
from stepwire_local.lambdas.not_run import NotRun
from stepwire_local.stubs import owners
from stepwire_local.stubs.names import suggested
from stepwire_local.stubs.replies import Answer

# Factor on each function's Timeout. Tests raise it, so that no invocation fails because the machine is busy.
timeout_scale = 1.0


class Code(Protocol):
    """What runs a function's code: one instance of it, with its own memory."""

    def running(self) -> AbstractContextManager[None]:
        """Give the code of the block the function's role, its variables and its log."""
        ...

    def warm(self) -> None:
        """Prepare the first invocation, so that bad settings stop the start."""
        ...

    def run(self, event: str, context: LambdaContext, seconds: float) -> Outcome:
        """Run the code on an event, as JSON text; it may take so many seconds."""
        ...

    def retire(self) -> None:
        """Run no other invocation; those that run end."""
        ...

    def close(self) -> None:
        """End whatever can be ended."""
        ...


class Function:
    """One function, loaded.

    Args:
        settings: The template's settings.
        instances: The number of copies to load; invocations go to them in turn.
        layers: The folders of layers; each of several instances gets its own copy of their code.

    Raises:
        FunctionLoadError: its code cannot be loaded.
    """

    def __init__(self, settings: FunctionSettings, *, instances: int = 1, layers: Sequence[Path] = ()) -> None:
        self.settings = settings
        self._layers = layers
        self._instances = self._loaded(settings, instances)
        self._turns = itertools.cycle(self._instances)
        self.aliases = set[str]()

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all invocations in this process that have ended, with the calls to AWS they made."""
        return sum(one.cpu_seconds for one in self._instances if isinstance(one, InProcess))

    @property
    def arn(self) -> str:
        """Return its ARN."""
        return self.settings.arn

    @property
    def handlers(self) -> Sequence[Callable[[Any, LambdaContext], Any]]:
        """Return the handler of each instance in this process."""
        return [one.handler for one in self._instances if isinstance(one, InProcess)]

    def replace(self, settings: FunctionSettings) -> None:
        """Load the code anew with other settings; invocations that run end with the old one.

        Raises:
            FunctionLoadError: it cannot be loaded; the old one stays.
        """
        before, instances = self._instances, self._loaded(settings, len(self._instances))
        for instance in instances:
            instance.warm()
        self.settings, self._instances, self._turns = settings, instances, itertools.cycle(instances)
        for instance in before:
            instance.retire()

    def warm(self) -> None:
        """Prepare each instance, so that bad settings stop the start, not the first request."""
        for instance in self._instances:
            instance.warm()

    def close(self) -> None:
        """End what runs: its stack is stopping."""
        for instance in self._instances:
            instance.close()

    def running(self) -> AbstractContextManager[None]:
        """Let the code of a block run as this function's does: with its role, its variables and its log."""
        return self._instances[0].running()

    def start(self, event: str, alias: str = "") -> Future[Outcome]:
        """Start an invocation with an event, as JSON text; the future completes by the function's timeout."""
        done: Future[Outcome] = Future()
        work = threading.Thread(target=lambda: done.set_result(self.invoke(event, alias)), daemon=True)
        work.start()
        return done

    def invoke(self, event: str, alias: str = "") -> Outcome:
        """Run the code on an event, as JSON text, and return its outcome."""
        if len(event.encode()) > PAYLOAD_LIMIT:
            return failed("RequestTooLarge", f"The request is longer than {PAYLOAD_LIMIT} bytes.")
        context, seconds = self._context(alias), self.settings.timeout * timeout_scale
        code = next(self._turns)
        if not owners.has_stub(self.arn):
            return code.run(event, context, seconds)

        def reply() -> Outcome:
            with code.running():
                return _of_stub(self.arn, event)

        return in_time(reply, self.settings, context, seconds)

    def _context(self, alias: str) -> LambdaContext:
        return LambdaContext(
            function_name=self.settings.name,
            invoked_function_arn=f"{self.settings.arn}:{alias}" if alias else self.settings.arn,
            memory_limit_in_mb=str(self.settings.memory),
            aws_request_id=str(uuid.uuid4()),
            log_group_name=self.settings.log_group,
            log_stream_name="local",
            deadline=time.monotonic() + self.settings.timeout,
        )

    def _loaded(self, settings: FunctionSettings, instances: int) -> list[Code]:
        own = self._layers if instances > 1 else ()
        return [_code(settings, number, self._layers, own) for number in range(1, instances + 1)]


_FAMILY: Final = re.compile("[a-z]*")
_KINDS: Final[Mapping[str, Callable[..., Code]]] = {"python": InProcess, "nodejs": NodePool}


LANGUAGES: Final = frozenset(_KINDS)
"""The families of runtimes whose code runs here."""


def family(runtime: str) -> str:
    """Return the language of a runtime such as nodejs22.x, as AWS writes it."""
    found = _FAMILY.match(runtime)
    return found[0] if found else ""


def _code(settings: FunctionSettings, number: int, layers: Sequence[Path], own: Sequence[Path]) -> Code:
    if settings.not_run:
        return NotRun(settings)
    return _KINDS[family(settings.runtime)](settings, number, layers, own)


def _of_stub(arn: str, event: str) -> Outcome:
    stubbed = owners.reply_for(arn, event)
    if stubbed is None:  # it has just gone
        return failed(owners.NOT_SERVED, f"The stub is gone: {suggested(owners.name_of(arn))}")
    return returned_value(stubbed.value) if isinstance(stubbed, Answer) else failed(stubbed.error, stubbed.cause)


_registered: dict[str, Function] = {}


def register(function: Function) -> None:
    """Register a function, so that services can invoke it by its ARN."""
    _registered[function.settings.arn] = function


def unregister(function: Function) -> None:
    """Remove a function, and end what runs of it: its stack is stopping."""
    _registered.pop(function.settings.arn, None)
    function.close()


def registered(arn: str) -> Function:
    """Return the function with this ARN; a version in the ARN is ignored."""
    return _registered[":".join(arn.split(":")[:7])]


def is_registered(function: Function) -> bool:
    """Return whether this function object is registered; its stack may have stopped or been replaced."""
    return _registered.get(function.settings.arn) is function
