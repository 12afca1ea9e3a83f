"""Lambda functions, run in this process: each from its own copy of its modules, with its own environment variables.

The rules: a function sees only its own variables (environment.py), a handler's exception never leaves the invocation,
and an invocation ends when its Timeout is over, for the caller at least: a thread cannot be killed, so its work goes
on unseen. Modules beside the handler must be imported when it is loaded, not from inside a function.
"""

import importlib.util
import json
import logging
import sys
import threading
import time
import traceback
import uuid
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from local.environment import variables_of
from local.errors import FunctionLoadError

logger = logging.getLogger(__name__)

PAYLOAD_LIMIT = 6 * 1024 * 1024  # bytes of a request and of a response


@dataclass(frozen=True)
class FunctionSettings:
    """What the template says of a function."""

    name: str
    arn: str
    folder: Path
    handler: str
    timeout: float = 3.0  # seconds
    memory: int = 128  # MB
    log_group: str = ""
    variables: dict[str, str] = field(default_factory=dict[str, str])
    dead_letters: str | None = None  # ARN of a queue


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


class Function:
    """One function, loaded."""

    def __init__(self, settings: FunctionSettings) -> None:
        self.settings = settings
        self._variables = dict(settings.variables)
        self._handler = self._load()

    def warm(self) -> None:
        """Let the handler prepare itself, if it can: what it cannot accept stops the start, not the first request."""
        prepare = getattr(self._handler, "warm", None)
        if prepare is None:
            return
        with variables_of(self._variables):
            prepare()

    def invoke(self, event: str) -> Outcome:
        """Run the handler on an event, and wait for it."""
        return self.start(event).result()

    def start(self, event: str) -> Future[Outcome]:
        """Run the handler on an event, given as JSON text; the future ends at the function's timeout at the latest."""
        done: Future[Outcome] = Future()
        if len(event.encode()) > PAYLOAD_LIMIT:
            done.set_result(_failed("RequestTooLarge", f"The request is longer than {PAYLOAD_LIMIT} bytes."))
            return done
        context = self._context()
        timer = threading.Timer(self.settings.timeout, self._give_up, (done, context))
        timer.daemon = True
        work = threading.Thread(
            target=self._run, args=(done, timer, event, context), name=self.settings.name, daemon=True
        )
        timer.start()
        work.start()
        return done

    def _run(self, done: Future[Outcome], timer: threading.Timer, event: str, context: LambdaContext) -> None:
        with variables_of(self._variables):
            outcome = self._call(event, context)
        timer.cancel()
        _settle(done, outcome)

    def _call(self, event: str, context: LambdaContext) -> Outcome:
        try:
            result = self._handler(json.loads(event), context)
        except BaseException as error:  # SystemExit too ends an invocation and not the process
            logger.warning("%s failed.", self.settings.name, exc_info=error)
            return _failed(type(error).__name__, str(error), traceback.format_tb(error.__traceback__)[1:])
        return _result(result)

    def _give_up(self, done: Future[Outcome], context: LambdaContext) -> None:
        message = f"RequestId: {context.aws_request_id} Error: Task timed out after {self.settings.timeout:.2f} seconds"
        logger.warning("%s: %s", self.settings.name, message)
        _settle(done, _failed("Sandbox.Timedout", message))

    def _context(self) -> LambdaContext:
        return LambdaContext(
            function_name=self.settings.name,
            invoked_function_arn=self.settings.arn,
            memory_limit_in_mb=str(self.settings.memory),
            aws_request_id=str(uuid.uuid4()),
            log_group_name=self.settings.log_group,
            log_stream_name="local",
            deadline=time.monotonic() + self.settings.timeout,
        )

    def _load(self) -> Callable[[Any, LambdaContext], Any]:
        module_name, _, attribute = self.settings.handler.rpartition(".")
        file = self.settings.folder.joinpath(*module_name.split(".")).with_suffix(".py")
        if not file.is_file():
            raise FunctionLoadError(
                f"{self.settings.name}: handler {self.settings.handler} needs {file}, which is not there."
            )
        try:
            module = self._import(module_name, file)
        except Exception as error:
            raise FunctionLoadError(
                f"{self.settings.name}: cannot import {file}: {type(error).__name__}: {error}"
            ) from error
        handler = getattr(module, attribute, None)
        if handler is None:
            raise FunctionLoadError(f"{self.settings.name}: {file} has no {attribute}.")
        return handler

    def _import(self, name: str, file: Path) -> ModuleType:
        with _own_modules(self.settings.folder), variables_of(self._variables):
            # A name of its own, so that two functions may both have an app.py.
            spec = importlib.util.spec_from_file_location(f"{name.replace('.', '_')}_of_{self.settings.name}", file)
            if spec is None or spec.loader is None:
                raise ImportError(f"{file} is not a Python module")
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module  # dataclasses and pickle look their module up there
            spec.loader.exec_module(module)
            return module


_importing = threading.RLock()


@contextmanager
def _own_modules(folder: Path) -> Generator[None]:
    """Let modules of the folder be imported by their plain names, and forget those names after."""
    with _importing:
        sys.path.insert(0, str(folder))
        before = dict(sys.modules)
        try:
            yield
        finally:
            sys.path.remove(str(folder))
            for name, module in list(sys.modules.items()):
                if name not in before and "_of_" not in name and _is_in(module, folder):
                    del sys.modules[name]


def _is_in(module: ModuleType, folder: Path) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and Path(file).is_relative_to(folder)


def _result(value: object) -> Outcome:
    try:
        payload = json.dumps(value)
    except (TypeError, ValueError) as error:
        return _failed("Runtime.MarshalError", f"Unable to marshal response: {error}")
    if len(payload.encode()) > PAYLOAD_LIMIT:
        return _failed("Function.ResponseSizeTooLarge", f"Response payload size exceeded {PAYLOAD_LIMIT} bytes.")
    return Returned(payload)


def _failed(kind: str, message: str, stack_trace: Sequence[str] = ()) -> Failed:
    return Failed(json.dumps({"errorMessage": message, "errorType": kind, "stackTrace": list(stack_trace)}))


def _settle(done: Future[Outcome], outcome: Outcome) -> None:
    with _settling:
        if not done.done():
            done.set_result(outcome)


_settling = threading.Lock()
_registered: dict[str, Function] = {}


def register(function: Function) -> None:
    """Make a function known to the services that invoke it by its ARN."""
    _registered[function.settings.arn] = function


def unregister(function: Function) -> None:
    """Forget a function: its stack is going."""
    _registered.pop(function.settings.arn, None)


def registered(arn: str) -> Function:
    """Return the function with this ARN, whichever version of it the ARN names."""
    return _registered[":".join(arn.split(":")[:7])]


def is_registered(function: Function) -> bool:
    """Tell whether this very function is known; its stack may be gone, or be there anew."""
    return _registered.get(function.settings.arn) is function
