"""Functions in Python, run in this process: each with its own copy of its modules, its own variables and its role.

The rules: a function sees only its own variables (environment.py). A handler's exception never leaves the invocation.
The caller's wait ends at the function's Timeout; the thread itself cannot be killed and runs on unseen.
"""

import json
import logging
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

from stepwire_local.iam.actions import UnknownOperation
from stepwire_local.lambdas.environment import variables_of
from stepwire_local.lambdas.invocations import (
    FunctionSettings,
    LambdaContext,
    Outcome,
    failed,
    returned_value,
    running_as,
    timed_out,
)
from stepwire_local.lambdas.loading import load_handler
from stepwire_local.stubs import owners
from stepwire_local.stubs.names import suggested

logger = logging.getLogger(__name__)


class InProcess:
    """One instance of a function: a handler with its own memory.

    Args:
        number: From 1; with `own`, this instance has its own copies of the code in these folders.

    Raises:
        FunctionLoadError: the handler cannot be loaded.
    """

    def __init__(
        self, settings: FunctionSettings, number: int = 1, layers: Sequence[Path] = (), own: Sequence[Path] = ()
    ) -> None:
        self.cpu_seconds = 0.0  # of the invocations that have ended
        self._settings = settings
        self._variables = dict(settings.variables)
        owner = settings.name if number == 1 else f"{settings.name}_{number}"
        with self.running():
            self.handler = load_handler(settings.handler, settings.folder, owner, own, layers)

    @contextmanager
    def running(self) -> Generator[None]:
        """Give the code of the block the function's role, its variables and its log."""
        with running_as(self._settings), variables_of(self._variables):
            yield

    def warm(self) -> None:
        """Run the handler's preparation, if it has one."""
        prepare = getattr(self.handler, "warm", None)
        if prepare is not None:
            with self.running():
                prepare()

    def run(self, event: str, context: LambdaContext, seconds: float) -> Outcome:
        """Run the handler on an event, as JSON text."""

        def work() -> Outcome:
            with self.running():
                return self._call(event, context)

        return in_time(work, self._settings, context, seconds)

    def retire(self) -> None:
        """Do nothing: invocations that run keep the handler alive."""

    def close(self) -> None:
        """Do nothing: no thread can be ended."""

    def _call(self, event: str, context: LambdaContext) -> Outcome:
        begun = time.thread_time()
        try:
            result = self.handler(json.loads(event), context)
        except UnknownOperation as error:
            return failed(owners.NOT_SERVED, f"{error} {suggested(owners.name_of(self._settings.arn))}")
        except BaseException as error:  # SystemExit too ends the invocation, not the process
            logger.warning("%s failed.", self._settings.name, exc_info=error)
            return failed(type(error).__name__, str(error), traceback.format_tb(error.__traceback__)[1:])
        finally:
            with _counting:
                self.cpu_seconds += time.thread_time() - begun
        return returned_value(result)


_counting = threading.Lock()


def in_time(work: Callable[[], Outcome], settings: FunctionSettings, context: LambdaContext, seconds: float) -> Outcome:
    """Return the outcome of work in a thread of its own, or that it has timed out."""
    done: Future[Outcome] = Future()
    threading.Thread(target=lambda: done.set_result(work()), name=settings.name, daemon=True).start()
    try:
        return done.result(timeout=seconds)
    except TimeoutError:
        return timed_out(settings, context.aws_request_id)
