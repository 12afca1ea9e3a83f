"""A clock that a test moves: the time of a stack's handlers, and of the Wait states of all workflows.

It stands still unless a test moves it, or lets sleeping handlers move it. So long waits, overdue tasks and workflows of
several minutes behave the same on every machine and take no real time.
"""

import threading
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from types import SimpleNamespace
from typing import Any, Final
from unittest.mock import patch

from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

from stepwire_local import LocalStack
from stepwire_local.account.moto_patches import express
from tests.waiting import until

_TURN: Final = 0.02  # seconds; other threads run meanwhile
_LOOK: Final = 0.5  # seconds of this clock between two looks whether an EXPRESS execution has ended


class Clock:
    """The time of handlers and workflows."""

    def __init__(self) -> None:
        # Whole seconds, so that rounding to milliseconds changes nothing.
        self._now = datetime.now(UTC).replace(microsecond=0)
        self._lock = threading.Lock()
        self._to_sleep = timedelta()
        self._asleep: list[str] = []

    def now(self) -> datetime:
        """Return the time."""
        return self._now

    def _now_in(self, _zone: tzinfo) -> datetime:
        return self.now()

    def move(self, *, seconds: float) -> None:
        """Let time pass."""
        with self._lock:
            self._now += timedelta(seconds=seconds)

    def move_on(self, task_id: str, *, seconds: float) -> None:
        """Let time pass as soon as the workflow of a task sleeps; before, it would sleep through that time too."""
        until(lambda: any(execution.endswith(task_id) for execution in self._asleep))
        self.move(seconds=seconds)

    def sleep(self, seconds: float) -> None:
        """Sleep as a handler does; in real time if the clock may not be moved any further."""
        with self._lock:
            asleep = min(timedelta(seconds=seconds), self._to_sleep)
            self._to_sleep -= asleep
            self._now += asleep
        time.sleep(_TURN)

    @contextmanager
    def passing(self, *, seconds: float) -> Generator[None]:
        """Let sleeping handlers move the clock until the block ends, at most this far."""
        self._to_sleep = timedelta(seconds=seconds)
        try:
            yield
        finally:
            self._to_sleep = timedelta()

    @contextmanager
    def drives(self, stack: LocalStack) -> Generator[None]:
        """Replace the machine's clock with this one in every handler of a stack, in Wait states and EXPRESS calls."""
        with ExitStack() as undo:
            undo.enter_context(patch.object(WaitFunction, "_wait_interval", self._wait_state()))
            waiting = SimpleNamespace(monotonic=lambda: self.now().timestamp(), sleep=self.sleep)
            undo.enter_context(patch.multiple(express, time=waiting, _LOOK=_LOOK))
            moved = {
                "datetime": SimpleNamespace(now=self._now_in),
                "time": SimpleNamespace(sleep=self.sleep),
            }
            for module in _modules_with_clocks(stack):
                # What the clock reads, and not its methods: what was built keeps these.
                undo.enter_context(patch.dict(module, moved))
            yield

    def _wait_state(self) -> Any:
        def wait(_: Any, env: Any, wait_seconds: int) -> None:
            end = self.now() + timedelta(seconds=wait_seconds)
            self._asleep.append(env.states.context_object.context_object_data["Execution"]["Id"])
            while self.now() < end and env.is_running():
                time.sleep(_TURN)

        return wait


def _modules_with_clocks(stack: LocalStack) -> list[dict[str, Any]]:
    """Return the module of each handler's clock; instances have copies of it."""
    handlers = [handler for function in stack.functions.values() for handler in function.handlers]
    found = [getattr(type(handler).__call__, "__globals__", {}) for handler in handlers]  # of `builds_once`
    return [module for module in {id(one): one for one in found}.values() if "SystemClock" in module]
