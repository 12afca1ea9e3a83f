"""Lambda functions, run in this process: each with its own copy of its modules, its own variables and its role.

The rules: a function sees only its own variables (environment.py). A handler's exception never leaves the invocation.
The caller's wait ends at the function's Timeout; the thread itself cannot be killed and runs on unseen. A function can
have several instances, which take turns: each has its own copy of the template's code, layers included, and of its
variables; all share third-party packages.
"""

import itertools
import json
import logging
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from stepwire_local.iam.actions import UnknownOperation
from stepwire_local.iam.permissions import Role, acting_as
from stepwire_local.lambdas.environment import variables_of
from stepwire_local.lambdas.function_output import output_of
from stepwire_local.lambdas.loading import load_handler
from stepwire_local.stubs import owners
from stepwire_local.stubs.names import suggested
from stepwire_local.stubs.replies import Answer

logger = logging.getLogger(__name__)

# Factor on each function's Timeout. Tests raise it, so that no invocation fails because the machine is busy.
timeout_scale = 1.0

PAYLOAD_LIMIT = 6 * 1024 * 1024  # bytes of a request and of a response


@dataclass(frozen=True)
class FunctionSettings:
    """The template's settings of a function."""

    name: str
    arn: str
    folder: Path
    handler: str
    timeout: float = 3.0  # seconds
    memory: int = 128  # MB
    log_group: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    dead_letters: str | None = None  # ARN of a queue
    role: Role | None = None  # None: every call is allowed
    not_run: str = ""  # why its code cannot run here; then only a stub answers
    error_type: str = owners.NOT_SERVED  # of each invocation then


@dataclass(frozen=True)
class Returned:
    """The handler returned; the payload is its result as JSON text."""

    payload: str


@dataclass(frozen=True)
class Failed:
    """The invocation failed; the payload is the error as JSON text, as Lambda writes it."""

    payload: str


Outcome = Returned | Failed


@dataclass(frozen=True)
class LambdaContext:
    """The second argument of a handler."""

    function_name: str
    invoked_function_arn: str
    memory_limit_in_mb: str
    aws_request_id: str
    log_group_name: str
    log_stream_name: str
    deadline: float  # of time.monotonic()
    function_version: str = "$LATEST"
    identity: None = None
    client_context: None = None

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds until the invocation times out."""
        return max(0, int((self.deadline - time.monotonic()) * 1000))


@dataclass(frozen=True)
class _Instance:
    """A handler with its own memory."""

    handler: Callable[[Any, LambdaContext], Any]
    variables: dict[str, str]
    role: Role | None
    owner: str  # the name of its function

    def warm(self) -> None:
        prepare = getattr(self.handler, "warm", None)
        if prepare is None:
            return
        with self.running():
            prepare()

    @contextmanager
    def running(self) -> Generator[None]:
        """Give the code of the block its role, its variables and its log."""
        with acting_as(self.role), variables_of(self.variables), output_of(self.owner):
            yield


class Function:
    """One function, loaded.

    Args:
        settings: The template's settings.
        instances: The number of copies to load; invocations go to them in turn.
        layers: The folders of layers; each of several instances gets its own copy of their code.
    """

    def __init__(self, settings: FunctionSettings, *, instances: int = 1, layers: Sequence[Path] = ()) -> None:
        self.settings = settings
        self._layers = layers
        self._instances = self._loaded(settings, instances)
        self._turns = itertools.cycle(self._instances)
        self._cpu_seconds = 0.0
        self.aliases = set[str]()

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time of all invocations that have ended, with the calls to AWS that they made."""
        return self._cpu_seconds

    @property
    def arn(self) -> str:
        """Return its ARN."""
        return self.settings.arn

    @property
    def handlers(self) -> Sequence[Callable[[Any, LambdaContext], Any]]:
        """Return the handler of each instance."""
        return [instance.handler for instance in self._instances]

    def replace(self, settings: FunctionSettings) -> None:
        """Load the handler anew with other settings; invocations that run end with the old one.

        Raises:
            FunctionLoadError: it cannot be loaded; the old one stays.
        """
        instances = self._loaded(settings, len(self._instances))
        for instance in instances:
            instance.warm()
        self.settings, self._instances, self._turns = settings, instances, itertools.cycle(instances)

    def warm(self) -> None:
        """Run the handler's preparation, if it has one, so that bad settings stop the start, not the first request."""
        for instance in self._instances:
            instance.warm()

    def running(self) -> AbstractContextManager[None]:
        """Let the code of a block run as this function's does: with its role, its variables and its log."""
        return self._instances[0].running()

    def invoke(self, event: str, alias: str = "") -> Outcome:
        """Run the handler on an event, and return its outcome."""
        return self.start(event, alias).result()

    def start(self, event: str, alias: str = "") -> Future[Outcome]:
        """Start the handler on an event, as JSON text; the future completes by the function's timeout."""
        done: Future[Outcome] = Future()
        if len(event.encode()) > PAYLOAD_LIMIT:
            done.set_result(_failed("RequestTooLarge", f"The request is longer than {PAYLOAD_LIMIT} bytes."))
            return done
        context = self._context(alias)
        timer = threading.Timer(self.settings.timeout * timeout_scale, self._give_up, (done, context))
        timer.daemon = True
        instance = next(self._turns)
        work = threading.Thread(
            target=self._run, args=(instance, done, timer, event, context), name=self.settings.name, daemon=True
        )
        timer.start()
        work.start()
        return done

    def _run(
        self, instance: _Instance, done: Future[Outcome], timer: threading.Timer, event: str, context: LambdaContext
    ) -> None:
        with instance.running():
            outcome = self._call(instance, event, context)
        timer.cancel()
        _settle(done, outcome)

    def _call(self, instance: _Instance, event: str, context: LambdaContext) -> Outcome:
        stubbed = owners.reply_for(self.settings.arn, event)
        if stubbed is not None:
            return _result(stubbed.value) if isinstance(stubbed, Answer) else _failed(stubbed.error, stubbed.cause)
        if self.settings.not_run:
            return self._not_run()
        begun = time.thread_time()
        try:
            result = instance.handler(json.loads(event), context)
        except UnknownOperation as error:
            return _failed(owners.NOT_SERVED, f"{error} {suggested(_own_name(self.settings))}")
        except BaseException as error:  # SystemExit too ends the invocation, not the process
            logger.warning("%s failed.", self.settings.name, exc_info=error)
            return _failed(type(error).__name__, str(error), traceback.format_tb(error.__traceback__)[1:])
        finally:
            with _settling:
                self._cpu_seconds += time.thread_time() - begun
        return _result(result)

    def _not_run(self) -> Outcome:
        name = _own_name(self.settings)
        message = f"the function {name} cannot run here: {self.settings.not_run}: {suggested(name)}"
        logger.warning(message)
        return _failed(self.settings.error_type, message)

    def _give_up(self, done: Future[Outcome], context: LambdaContext) -> None:
        message = f"RequestId: {context.aws_request_id} Error: Task timed out after {self.settings.timeout:.2f} seconds"
        logger.warning("%s: %s", self.settings.name, message)
        _settle(done, _failed("Sandbox.Timedout", message))

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

    def _loaded(self, settings: FunctionSettings, instances: int) -> list[_Instance]:
        own = self._layers if instances > 1 else ()
        return [_load(settings, number, self._layers, own) for number in range(1, instances + 1)]


def _load(settings: FunctionSettings, number: int, layers: Sequence[Path], own: Sequence[Path]) -> _Instance:
    variables, role = dict(settings.variables), settings.role
    owner = settings.name if number == 1 else f"{settings.name}_{number}"
    if settings.not_run:
        return _Instance(_nothing, variables, role, settings.name)
    with acting_as(role), variables_of(variables), output_of(settings.name):
        handler = load_handler(settings.handler, settings.folder, owner, own, layers)
        return _Instance(handler, variables, role, settings.name)


def _nothing(event: object, context: LambdaContext) -> None:
    """Stand for a handler that is never called."""


def _own_name(settings: FunctionSettings) -> str:
    """Return the name that a function has in its template."""
    known = owners.owned(settings.arn)
    return known.name if known else settings.name


def _result(value: object) -> Outcome:
    try:
        payload = json.dumps(value, default=_number)
    except (TypeError, ValueError) as error:
        return _failed("Runtime.MarshalError", f"Unable to marshal response: {error}")
    if len(payload.encode()) > PAYLOAD_LIMIT:
        return _failed("Function.ResponseSizeTooLarge", f"Response payload size exceeded {PAYLOAD_LIMIT} bytes.")
    return Returned(payload)


def _number(value: object) -> float:
    """Return a number of DynamoDB: as Lambda's own client, write it as a number."""
    if isinstance(value, Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _failed(kind: str, message: str, stack_trace: Sequence[str] = ()) -> Failed:
    return Failed(json.dumps({"errorMessage": message, "errorType": kind, "stackTrace": list(stack_trace)}))


def _settle(done: Future[Outcome], outcome: Outcome) -> None:
    with _settling:
        if not done.done():
            done.set_result(outcome)


_settling = threading.Lock()
_registered: dict[str, Function] = {}


def register(function: Function) -> None:
    """Register a function, so that services can invoke it by its ARN."""
    _registered[function.settings.arn] = function


def unregister(function: Function) -> None:
    """Remove a function: its stack is stopping."""
    _registered.pop(function.settings.arn, None)


def registered(arn: str) -> Function:
    """Return the function with this ARN; a version in the ARN is ignored."""
    return _registered[":".join(arn.split(":")[:7])]


def is_registered(function: Function) -> bool:
    """Return whether this function object is registered; its stack may have stopped or been replaced."""
    return _registered.get(function.settings.arn) is function
