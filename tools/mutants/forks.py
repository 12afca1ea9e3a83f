"""Jobs in processes forked from this one, several at a time.

Nothing of a job reaches the next one: a child has its own memory, temporary folder and process group, and is killed
with all that it started.
"""

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

_FORK = get_context("fork")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Job(Generic[_Result]):
    """Work of a child."""

    work: Callable[[], _Result]
    limit: float
    """Seconds after which it is killed."""


@dataclass(frozen=True)
class Ended(Generic[_Result]):
    """A job that ended."""

    number: int
    """Of the job, from 0."""
    result: _Result | None
    """None if it took too long, or died."""
    seconds: float


class _Child(Generic[_Result]):
    def __init__(self, number: int, job: Job[_Result], config: pytest.Config) -> None:
        self.number = number
        self.told, theirs = _FORK.Pipe(duplex=False)
        self._begun = time.monotonic()
        self.end = self._begun + job.limit
        self._temporary = Path(tempfile.mkdtemp(prefix="mutant-"))
        self._process = _FORK.Process(target=_do, args=(job.work, self._temporary, config, theirs))
        self._process.start()
        theirs.close()

    def ended(self) -> Ended[_Result]:
        """Return its result, and leave nothing of it."""
        result: _Result | None = None
        with suppress(EOFError):
            result = self.told.recv() if self.told.poll() else None
        seconds = time.monotonic() - self._begun
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid or 0, signal.SIGKILL)
        self._process.join()
        shutil.rmtree(self._temporary, ignore_errors=True)
        return Ended(self.number, result, seconds)


def side_by_side(jobs: Iterable[Job[_Result]], config: pytest.Config, count: int) -> Iterator[Ended[_Result]]:
    """Do jobs, this many at a time, and yield each as it ends."""
    waiting = enumerate(jobs)
    running: dict[Connection, _Child[_Result]] = {}
    while True:
        while len(running) < count and (following := next(waiting, None)) is not None:
            child = _Child(*following, config)
            running[child.told] = child
        if not running:
            return
        soonest = min(child.end for child in running.values())
        wait(list(running), timeout=max(0.0, soonest - time.monotonic()))
        for told, child in list(running.items()):
            if told.poll() or time.monotonic() > child.end:
                del running[told]
                yield child.ended()


def _do(work: Callable[[], object], temporary: Path, config: pytest.Config, told: Connection) -> None:
    os.setsid()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    config.pluginmanager.unregister(name="terminalreporter")
    factory: Any = vars(config)["_tmp_path_factory"]
    factory._basetemp = temporary  # noqa: SLF001 - pytest takes it once; the children need one each
    told.send(work())
    told.close()
    os.killpg(0, signal.SIGKILL)
