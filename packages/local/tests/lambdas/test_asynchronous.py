"""Asynchronous invocations: how many run at the same time."""

import threading
from typing import cast

from stepwire_local.lambdas.asynchronous import CONCURRENCY, invoke_later
from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import Outcome, Returned
from tests.waiting import HANG_GUARD, until


class Held:
    """A function whose invocations run until the test releases them."""

    arn = "arn:aws:lambda:eu-central-1:123456789012:function:held"

    def __init__(self) -> None:
        self.running = self.most = self.done = 0
        self.let_go = threading.Event()
        self._lock = threading.Lock()

    def invoke(self, event: str) -> Outcome:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.let_go.wait(HANG_GUARD)
        with self._lock:
            self.running -= 1
            self.done += 1
        return Returned("null")


def test_of_many_concurrent_events_some_are_queued_and_none_is_lost() -> None:
    function, count = Held(), 3 * CONCURRENCY

    for _ in range(count):
        invoke_later(cast(Function, function), "{}")
    until(lambda: function.running == CONCURRENCY)
    function.let_go.set()
    until(lambda: function.done == count)

    assert function.most == CONCURRENCY
