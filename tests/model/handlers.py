"""Handlers under way: each stops before every call to AWS and before its answer, until it is told to go on, or dies.

Each has a thread of its own, but no two ever run at once: a baton goes from whoever chooses to one handler and back. So
the same choices make the same run.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.models import botocore_stubber

from stepwire.aws.clients import dynamodb_client, step_functions_client
from tests.faults.boundary import ProcessDied
from tests.simulated.dynamodb import answer
from tests.simulated.wire import subject_of

ANSWER: Final = "answer"
"""What a handler waits to do last: tell whoever asked."""
_LONGEST_TURN: Final = 60  # seconds of computing without a call; longer is a deadlock
_own = threading.local()


@dataclass(frozen=True)
class Done:
    """The handler has answered."""

    value: Any


@dataclass(frozen=True)
class Broken:
    """The handler raised; Lambda says so to whoever invoked it."""

    fault: Exception


@dataclass(frozen=True)
class Died:
    """The process is gone, and nobody gets an answer."""


Outcome: TypeAlias = Done | Broken | Died


class Handler:
    """One invocation. It begins at once, and goes as far as it may."""

    def __init__(self, name: str, work: Callable[[], Any], ended: Callable[[Outcome], None]) -> None:
        self.name = name
        self.before = ""
        """The call that it is about to make."""
        self.made: list[str] = []
        """The calls that it has made, and the one that it is about to make."""
        self.outcome: Outcome | None = None
        self._work, self._ended = work, ended
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._is_to_die = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._wait()

    def __str__(self) -> str:
        return f"{self.name}, before {self.before}"

    def go_on(self) -> None:
        """Let it make its call, and go as far as the next."""
        self._go.release()
        self._wait()

    def finish(self) -> None:
        """Let nobody come between its calls any more."""
        while self.outcome is None:
            self.go_on()

    def die(self) -> None:
        """Let its process end before its call."""
        self._is_to_die = True
        self.go_on()

    def abandon(self) -> None:
        """Let it end, and judge nothing any more."""
        self._ended = _unheard
        self.die()

    def _wait(self) -> None:
        assert self._back.acquire(timeout=_LONGEST_TURN), f"{self} does not give the baton back"
        if self.outcome is not None:
            self._thread.join()
            self._ended(self.outcome)

    def pause(self, call: str) -> None:
        """Give the baton back. Called by the handler itself."""
        self.before = call
        self.made.append(call)
        self._back.release()
        self._go.acquire()
        if self._is_to_die:
            raise ProcessDied

    def _run(self) -> None:
        _own.handler = self
        try:
            value = self._work()
            self.pause(ANSWER)
            self.outcome = Done(value)
        except ProcessDied:
            self.outcome = Died()
        except Exception as fault:  # noqa: BLE001 - whatever it is, whoever chooses judges it
            self.outcome = Broken(fault)
        self._back.release()


def _unheard(_: Outcome) -> None:
    """Judge nothing."""


def pause(call: str) -> None:
    """Stop, where a handler is what calls."""
    handler: Handler | None = getattr(_own, "handler", None)
    if handler is not None:
        handler.pause(call)


def calls_made() -> list[str]:
    """List the calls of the handler that asks; none where no handler asks."""
    handler: Handler | None = getattr(_own, "handler", None)
    return [] if handler is None else handler.made


class Boundary:
    """The clients that handlers use: DynamoDB is moto's, and Step Functions whatever answers for it now."""

    def __init__(self) -> None:
        self.dynamodb = self._watched(dynamodb_client())
        self.step_functions = self._watched(step_functions_client())
        self.answer_for_step_functions: Callable[[str, AWSPreparedRequest], AWSResponse] | None = None
        self.calls = 0

    def _watched(self, client: Any) -> Any:
        events = client.meta.events
        events.unregister("before-send", botocore_stubber)  # all that is registered runs: moto's must not run for ours
        events.register_first("before-send", self._answer)
        return client

    def _answer(self, event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:
        service, operation = event_name.split(".")[1:3]
        pause(f"{operation} {subject_of(request)}".strip())
        self.calls += 1
        if service != "sfn":
            return answer(operation, request) or botocore_stubber(event_name, request)
        assert self.answer_for_step_functions is not None
        return self.answer_for_step_functions(operation, request)
