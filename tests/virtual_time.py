"""Threads in virtual time: they run one after another, in an order that is always the same, and no time passes.

A thread goes on until it sleeps, parks or ends; then the one goes on whose time comes next.
"""

import heapq
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import count
from typing import Final, Self

from tests.fakes import START_OF_TIME, FixedClock

_STACK: Final = 512 * 1024  # bytes of each thread


def closed_gate() -> threading.Lock:
    """Return a gate that is closed: `release` lets the next `acquire` pass, and closes it again.

    A semaphore, for two threads that take turns, at half of its cost.
    """
    gate = threading.Lock()
    gate.acquire()
    return gate


class _OverError(BaseException):
    """The simulation has ended."""


class _Worker:
    """A thread of the machine, which runs one virtual thread after another."""

    def __init__(self, time: "VirtualTime") -> None:
        self.time, self.act, self.turn = time, None, 0
        self.go = closed_gate()
        self.thread = threading.Thread(target=self._run, daemon=True)

    act: Callable[[], None] | None
    turn: int
    """Counts its pauses: what was to end an earlier one is void."""

    def _run(self) -> None:
        self.go.acquire()
        try:
            while self.act is not None:
                self.act()
                self.time.free(self)
        except _OverError:
            pass
        except BaseException as fault:  # noqa: BLE001 - the test must see it
            self.time.fault = fault
            self.time.back.release()


class VirtualTime:
    """A clock and its threads. Use it as a context, which ends all threads."""

    def __init__(self) -> None:
        self.now = 0.0
        """Seconds since the beginning."""
        self.fault: BaseException | None = None
        self.back = closed_gate()
        self._due: list[tuple[float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._workers = list[_Worker]()
        self._free = list[_Worker]()
        self._running: _Worker | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        for worker in self._workers:
            worker.act = None
            worker.go.release()
            worker.thread.join(60)

    def at(self, moment: float, act: Callable[[], object]) -> None:
        """Let something happen at a time: it must neither sleep nor park."""
        heapq.heappush(self._due, (moment, next(self._numbers), act))

    def spawn(self, act: Callable[[], None]) -> None:
        """Begin a thread, now."""
        self.at(self.now, lambda: self._start(act))

    def sleep(self, seconds: float) -> None:
        """Let the running thread sleep."""
        self.park(self.now + seconds)

    def park(self, until: float) -> None:
        """Let the running thread pause until a time, or until it is woken by what `waker` gave before."""
        worker = self._current()
        self.at(until, self._resumption(worker))
        self.back.release()
        worker.go.acquire()
        if self._is_over:
            raise _OverError
        worker.turn += 1

    def waker(self) -> Callable[[], None]:
        """Return what ends the next pause of the running thread; it does nothing later."""
        resume = self._resumption(self._current())
        return lambda: self.at(self.now, resume)

    def _current(self) -> _Worker:
        assert self._running is not None, "only a thread can pause"
        return self._running

    def _resumption(self, worker: _Worker) -> Callable[[], None]:
        turn = worker.turn

        def resume() -> None:
            if worker.turn == turn:
                self._resume(worker)

        return resume

    def run(self, until: float) -> None:
        """Let everything happen before a time."""
        while self._due and self._due[0][0] < until:
            self.now, _, act = heapq.heappop(self._due)
            act()
            if self.fault is not None:
                raise self.fault
        self.now = until

    def free(self, worker: _Worker) -> None:
        """Take back a thread whose work is done."""
        worker.turn += 1
        self._free.append(worker)
        self.back.release()
        worker.go.acquire()

    def _start(self, act: Callable[[], None]) -> None:
        if self._free:
            worker = self._free.pop()
        else:
            usual = threading.stack_size(_STACK)
            worker = _Worker(self)
            worker.thread.start()
            threading.stack_size(usual)
            self._workers.append(worker)
        worker.act = act
        self._resume(worker)

    def _resume(self, worker: _Worker) -> None:
        self._running = worker
        worker.go.release()
        self.back.acquire()
        self._running = None


class VirtualClock(FixedClock):
    """A server's clock, in virtual time."""

    def __init__(self, virtual: VirtualTime) -> None:
        super().__init__()
        self._virtual = virtual

    def now(self) -> datetime:
        """Return the time."""
        self.time = START_OF_TIME + timedelta(seconds=self._virtual.now)
        return super().now()

    def sleep(self, seconds: float) -> None:
        """Let other threads run; called by one."""
        self._virtual.sleep(seconds)
