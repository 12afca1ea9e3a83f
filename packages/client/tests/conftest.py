"""Endpoints for the client: ours over the fakes, and task servers made with the released SDKs.

A `Story` is the clock: the client's pauses take no time, and things happen during them.
"""

import subprocess
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from stepwire_client import Callbacks, Pace
from tests.clients.endpoint import serving
from tests.clients.programs import FOLDER
from tests.kits import World
from tests.npm import install, start

ROOT: Final = Path(__file__).parents[3]
LEGACY_PYTHON: Final = ROOT / ".venv-legacy" / "bin" / "python"
MOST_PAUSES: Final = 1_000


@dataclass
class Story:
    """A clock whose pauses take no time. In a pause, the action for its number (from 1) runs, or else `always`."""

    happenings: dict[int, Callable[[], object]] = field(default_factory=dict[int, Callable[[], object]])
    always: Callable[[], object] = lambda: None
    pauses: list[float] = field(default_factory=list[float])

    async def sleep(self, seconds: float, /) -> None:
        """Record the pause, and run its action."""
        self.pauses.append(seconds)
        assert len(self.pauses) < MOST_PAUSES, "the client must not poll forever"
        self.happenings.get(len(self.pauses), self.always)()

    @property
    def pace(self) -> Pace:
        """How a client polls by this clock."""
        return Pace(clock=self)


@pytest.fixture
def world() -> World:
    """Stepwire over the fakes."""
    return World()


@pytest.fixture
def url(world: World) -> Iterator[str]:
    """The URL of that endpoint."""
    with serving(world.server.handle) as url:
        yield url


@pytest.fixture
def story() -> Story:
    """The actions during pauses."""
    return Story()


NOBODY: Final = Callbacks()


@pytest.fixture(scope="session", params=["mcp 1.30", pytest.param("typescript", marks=pytest.mark.long)])
def theirs(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a task server made with a released SDK, without our code."""
    if request.param == "typescript":
        install(FOLDER)
        process = start(FOLDER, ["task_server.mjs"])
    else:
        command = [str(LEGACY_PYTHON), "-W", "ignore", str(Path(__file__).parent / "python_server.py")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with ended(process):
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"


@contextmanager
def ended(process: subprocess.Popen[str]) -> Generator[None]:
    """End a process."""
    try:
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
