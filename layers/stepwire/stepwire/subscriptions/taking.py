"""One invocation takes messages of the queue, and begins their deliveries in the order in which they came.

The rule: no caller has more than `SHARE` deliveries of an invocation, however many messages it has and however slow its
receivers are; the others wait for their turn, and leave room for everybody else. While a delivery goes on, the
invocation takes further messages. It ends at a time of its own, so that not all invocations end at the same moment.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final, Protocol

from msgspec import Struct

from stepwire.principal import Principal

MOST_AT_ONCE: Final = 50
"""Deliveries of one invocation at the same time."""
SHARE: Final = 5
"""Those of one caller."""
IS_SLOW_AFTER: Final = 0.25
"""Seconds after which an invocation that still waits for receivers takes further messages."""
TAKES_MORE_FOR: Final = 45.0
"""Seconds for which it does so at most, and half of that at least. A message that was taken last may need 40 more."""
_AFTER_A_FAULT: Final = 1.0  # seconds


class Job(Struct, frozen=True):
    """What a message asks for."""

    owner: Principal
    deliver: Callable[[], None]
    put_back: Callable[[], None]
    """Lets another invocation have the message."""


class Crew(Protocol):
    """Does jobs at the same time."""

    def begin(self, work: Callable[[], None]) -> None:
        """Begin to work, in a thread of its own."""
        ...

    def wait(self, longest: float, *, until_all: bool = False) -> int:
        """Wait until one that works has ended, or all have, at most so many seconds; return how many go on."""
        ...

    def now(self) -> float:
        """Return a time in seconds."""
        ...


class Turns:
    """The messages that an invocation has taken, by their callers. Safe between threads."""

    def __init__(self) -> None:
        """Nobody has taken one."""
        self._lock = Lock()
        self._at_work = Counter[Principal]()
        self._waiting = dict[Principal, deque[Job]]()

    def may_begin(self, job: Job) -> bool:
        """Tell whether a job may begin now; if its caller has its share, it waits."""
        with self._lock:
            if self._at_work[job.owner] >= SHARE:
                self._waiting.setdefault(job.owner, deque()).append(job)
                return False
            self._at_work[job.owner] += 1
            return True

    def after(self, job: Job) -> Job | None:
        """Return the job of the same caller that begins when one has ended."""
        with self._lock:
            if self._waiting.get(job.owner):
                return self._waiting[job.owner].popleft()
            self._at_work[job.owner] -= 1
            return None

    def left(self) -> list[Job]:
        """Return what has not begun, and never will."""
        with self._lock:
            found = [job for jobs in self._waiting.values() for job in jobs]
            self._waiting.clear()
            return found


class Taking:
    """One invocation."""

    def __init__(self, crew: Crew, receive: Callable[[int], Sequence[Job] | None]) -> None:
        """Take nothing yet.

        Args:
            crew: who delivers.
            receive: returns up to so many further messages; None after a fault.
        """
        self._crew, self._receive, self._turns = crew, receive, Turns()

    def run(self, batch: Sequence[Job], spread: float, is_slow_after: float = IS_SLOW_AFTER) -> None:
        """Do the jobs of a batch, and of what is received meanwhile.

        Args:
            batch: what the invocation was called with.
            spread: a random number from 0 to 1, which says when this invocation ends.
            is_slow_after: seconds.
        """
        until = self._crew.now() + TAKES_MORE_FOR * (1 + spread) / 2
        self._begin(batch)
        at_work = self._crew.wait(is_slow_after, until_all=True)
        while at_work and (left := until - self._crew.now()) > 0:
            at_work = self._crew.wait(self._take_more(MOST_AT_ONCE - at_work, left))
        for job in self._turns.left():
            self._crew.begin(job.put_back)
        self._crew.wait(float("inf"), until_all=True)

    def _take_more(self, room: int, left: float) -> float:
        """Take further messages if there is room; return how long to wait for room, in seconds."""
        if room <= 0:
            return left
        more = self._receive(room)
        if more is None:
            return min(left, _AFTER_A_FAULT)
        self._begin(more)
        return 0

    def _begin(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            if self._turns.may_begin(job):
                self._crew.begin(lambda job=job: self._work(job))

    def _work(self, job: Job) -> None:
        following: Job | None = job
        while following is not None:
            following.deliver()
            following = self._turns.after(following)
