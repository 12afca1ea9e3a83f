"""Concurrent handlers: each stops before every AWS call and before its answer, until a move lets it continue or die.

Each handler has its own thread, but only one thread runs at a time: control passes from the scheduler to one handler
and
back. So the same moves give the same run.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, Final, TypeAlias

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from moto.core.models import botocore_stubber

from stepwire.aws.clients import dynamodb_client, step_functions_client
from tests.faults.boundary import ProcessDied
from tests.simulated.dynamodb import answer
from tests.simulated.wire import subject_of
from tests.virtual_time import closed_gate

ANSWER: Final = "answer"
"""The last step of a handler: sending its answer."""
_LONGEST_TURN: Final = 60  # seconds without a call; more means a deadlock
_own = threading.local()


@dataclass(frozen=True)
class Done:
    """The handler has answered."""

    value: Any


@dataclass(frozen=True)
class Broken:
    """The handler raised an exception, which Lambda reports to the invoker."""

    fault: Exception


@dataclass(frozen=True)
class Died:
    """The process has died, and nobody gets an answer."""


Outcome: TypeAlias = Done | Broken | Died


class Handler:
    """One invocation. It starts at once and runs up to its first call."""

    def __init__(self, name: str, work: Callable[[], Any], ended: Callable[[Outcome], None]) -> None:
        self.name = name
        self.before = ""
        """The call that it is about to make."""
        self.made: list[str] = []
        """The calls that it has made, and the one that it is about to make."""
        self.outcome: Outcome | None = None
        self._work, self._ended = work, ended
        self._go, self._back = closed_gate(), closed_gate()
        self._is_to_die = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._wait()

    def __str__(self) -> str:
        return f"{self.name}, before {self.before}"

    def go_on(self) -> None:
        """Let it make its call, and run up to the next."""
        self._go.release()
        self._wait()

    def finish(self) -> None:
        """Let it run to its end without interruption."""
        while self.outcome is None:
            self.go_on()

    def die(self) -> None:
        """Let its process die before its call."""
        self._is_to_die = True
        self.go_on()

    def abandon(self) -> None:
        """Let it end, without checking anything."""
        self._ended = _unheard
        self.die()

    def _wait(self) -> None:
        assert self._back.acquire(timeout=_LONGEST_TURN), f"{self} does not pass control back"
        if self.outcome is not None:
            self._thread.join()
            self._ended(self.outcome)

    def pause(self, call: str) -> None:
        """Pass control back to the scheduler. Called by the handler itself."""
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
    """Check nothing."""


def pause(call: str) -> None:
    """Stop, where a handler is what calls."""
    handler: Handler | None = getattr(_own, "handler", None)
    if handler is not None:
        handler.pause(call)


def calls_made() -> list[str]:
    """Return the calls of the handler that is running; empty if none is."""
    handler: Handler | None = getattr(_own, "handler", None)
    return [] if handler is None else handler.made


class Objects:
    """S3 in memory, as its client."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def put_object(self, **given: Any) -> None:
        pause("PutObject result")
        self.contents[given["Key"]] = given["Body"]

    def get_object(self, **given: Any) -> dict[str, Any]:
        pause("GetObject result")
        return {"Body": BytesIO(self.contents[given["Key"]])}


class Boundary:
    """The clients of handlers: DynamoDB is moto's, S3 is in memory, and a test sets what answers for Step Functions."""

    def __init__(self) -> None:
        self.objects: Any = Objects()
        self.dynamodb = self._watched(dynamodb_client())
        self.step_functions = self._watched(step_functions_client())
        self.answer_for_step_functions: Callable[[str, AWSPreparedRequest], AWSResponse] | None = None
        self.calls = 0

    def _watched(self, client: Any) -> Any:
        events = client.meta.events
        events.unregister(
            "before-send", botocore_stubber
        )  # botocore runs all registered handlers; moto's must not run if ours has answered
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
