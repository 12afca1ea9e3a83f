"""The processes that run one function in Node.js.

The rules: as many as there are invocations at the same time, up to a bound; further invocations wait. They start with
the first invocation that needs them, and are reused while they live.
"""

import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from stepwire_local.errors import FunctionLoadError
from stepwire_local.lambdas.invocations import FunctionSettings, LambdaContext, Outcome, failed, running_as
from stepwire_local.lambdas.node.machine import node_here
from stepwire_local.lambdas.node.process import Environment

MOST: Final = 10  # processes of one function


class NodePool:
    """One instance of a function: processes that share no memory with those of another.

    Raises:
        FunctionLoadError: this machine has no `node`.
    """

    def __init__(
        self, settings: FunctionSettings, _number: int = 1, layers: Sequence[Path] = (), _own: Sequence[Path] = ()
    ) -> None:
        node = node_here()
        if node is None:
            raise FunctionLoadError("there is no node on this machine")
        self._node = node.path
        self._settings = settings
        self._layers = layers
        self._idle: list[Environment] = []
        self._busy: set[Environment] = set()
        self._is_retired = False
        self._is_closed = False
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST)

    def running(self) -> AbstractContextManager[None]:
        """Give the block the function's role and its log."""
        return running_as(self._settings)

    def warm(self) -> None:
        """Do nothing: the first invocation starts a process, as in Lambda."""

    def run(self, event: str, context: LambdaContext, seconds: float) -> Outcome:
        """Run the handler on an event, as JSON text, in a process that has nothing else to do."""
        with self._places:
            try:
                environment = self._take()
            except OSError as error:
                return failed("Runtime.InvalidEntrypoint", f"{self._settings.name}: {self._node}: {error.strerror}")
            if environment is None:
                return failed("Runtime.ExitError", f"{self._settings.name} was not asked: the local stack stops")
            try:
                return environment.run(event, context, seconds)
            finally:
                self._give_back(environment)

    def retire(self) -> None:
        """End the processes that have nothing to do now, and the others when they have answered."""
        with self._turn:
            self._is_retired = True
            idle, self._idle = self._idle, []
        for environment in idle:
            environment.kill()

    def close(self) -> None:
        """End all processes; none starts any more."""
        with self._turn:
            self._is_closed = True
            ending, self._idle = [*self._idle, *self._busy], []
        for environment in ending:
            environment.kill()

    def _take(self) -> Environment | None:
        with self._turn:  # none may start unseen while `close` ends all
            if self._is_closed:
                return None
            self._idle = [one for one in self._idle if one.is_usable]
            found = self._idle.pop() if self._idle else Environment(self._settings, self._node, self._layers)
            self._busy.add(found)
            return found

    def _give_back(self, environment: Environment) -> None:
        with self._turn:
            self._busy.discard(environment)
            is_kept = environment.is_usable and not (self._is_retired or self._is_closed)
            if is_kept:
                self._idle.append(environment)
        if not is_kept:
            environment.kill()
