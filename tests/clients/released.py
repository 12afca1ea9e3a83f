"""The table of the released clients that can be installed: each with its version, and what it is tried with.

The rule: what a trial is made with is a row here, so a client that lacks a trial can be seen. A client that cannot be
installed is replayed, with all trials there are (`replayed/behaviours.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from tests.clients import mcp_2
from tests.clients.programs import FASTMCP_PYTHON, LEGACY_PYTHON, in_node, in_python, needs_fastmcp
from tests.clients.way import LEGACY, MODERN

Json = dict[str, Any]
_HERE: Final = Path(__file__).parent
COMES_BACK: Final = "mcp"
"""A name by which the server knows that the client comes back for its responses."""
UNKNOWN: Final = "an app"
VS_CODE: Final = "Visual Studio Code"
"""A name of which the server knows that it does not come back."""


class Trial(Enum):
    """What a client is tried with."""

    REFUSALS = "every refusal that it can get, each followed by one more call in the session"
    QUESTIONS = "questions that its user answers wrongly at first"
    LONG_WORK = "work that outlasts its call, by the tools that the results name"


@dataclass(frozen=True)
class Library:
    """A released library at the version that is installed."""

    name: str
    version: str
    seen: Callable[[str, Json], Json] = field(repr=False, compare=False)
    """Run it with a URL and a plan; return what it has seen."""


MCP_1: Final = Library("mcp", "1.30.0", partial(in_python, LEGACY_PYTHON, _HERE / "mcp_1.py"))
MCP_2: Final = Library("mcp", "2.3.0", lambda url, plan: anyio.run(mcp_2.seen_by_mcp_2, url, plan))
FASTMCP_4: Final = Library("fastmcp", "4.1.2", partial(in_python, FASTMCP_PYTHON, _HERE / "fastmcp_4.py"))


def _typescript(name: str, version: str) -> Library:
    return Library(name, version, lambda url, plan: in_node("driver.mjs", url, plan={"library": name, **plan}))


SDK: Final = _typescript("sdk", "1.32.2")
CLIENT: Final = _typescript("client", "2.4.0")
EXT_TASKS: Final = _typescript("ext-tasks", "0.2.2")
"""Over `client`."""


@dataclass(frozen=True)
class Client:
    """A library in one of its modes, under a name."""

    library: Library
    quick: tuple[Trial, ...] = ()
    """The trials that every run of the tests makes."""
    long: tuple[Trial, ...] = ()
    name: str = COMES_BACK
    mode: str = "legacy"
    """`legacy` is 2025-11-25; `auto` agrees on 2026-07-28."""
    as_task: bool = False
    """Whether it makes its calls as tasks of 2025-11-25."""
    with_tasks: bool = False
    """Whether it declares the extension for tasks."""

    @property
    def version(self) -> str:
        """Return the version of the protocol that it speaks."""
        return MODERN if self.mode == "auto" else LEGACY

    @property
    def has_tasks(self) -> bool:
        """Tell whether it can send the requests of tasks: all but `mcp` 2, which has those of 2026-07-28 only."""
        return self.library is not MCP_2 or self.mode == "auto"

    @property
    def label(self) -> str:
        """Return how a test is named."""
        more = [word for word, holds in (("as task", self.as_task), ("with tasks", self.with_tasks)) if holds]
        return ", ".join([f"{self.library.name} {self.library.version}", self.mode, self.name, *more])

    def sees(self, url: str, **plan: Any) -> Json:
        """Let the client do what a plan says, all in one session; return what it has seen.

        Args:
            url: the endpoint's.
            plan: `ways` and `talks`, each followed by the call `then`; `tools` to call and fetch, with `arguments`;
                `can_ask`, whether it has a user.
        """
        own = {"name": self.name, "mode": self.mode, "as_task": self.as_task, "with_tasks": self.with_tasks}
        nothing: Json = {"ways": {}, "talks": {}, "then": [], "tools": [], "arguments": {}, "can_ask": False}
        return self.library.seen(url, {**nothing, **own, **plan})


RELEASED: Final = (
    Client(MCP_1, long=(Trial.REFUSALS, Trial.QUESTIONS, Trial.LONG_WORK)),
    Client(MCP_1, long=(Trial.QUESTIONS,), as_task=True),
    Client(MCP_1, long=(Trial.REFUSALS,), name=VS_CODE),
    Client(MCP_1, quick=(Trial.LONG_WORK,), name=UNKNOWN),
    Client(MCP_2, long=(Trial.QUESTIONS, Trial.LONG_WORK)),
    Client(MCP_2, quick=(Trial.REFUSALS, Trial.LONG_WORK), name=UNKNOWN),
    Client(MCP_2, quick=(Trial.QUESTIONS,), mode="auto"),
    Client(MCP_2, quick=(Trial.REFUSALS, Trial.QUESTIONS), mode="auto", with_tasks=True),
    Client(MCP_2, quick=(Trial.LONG_WORK,), mode="auto", name=UNKNOWN),
    # Under a name that does not come back: it sends a progressToken, with which a call is polled for an hour.
    Client(FASTMCP_4, long=(Trial.LONG_WORK,), name=UNKNOWN),
    Client(FASTMCP_4, long=(Trial.LONG_WORK,), mode="auto", name=UNKNOWN),
    Client(SDK, long=(Trial.REFUSALS, Trial.QUESTIONS, Trial.LONG_WORK)),
    Client(SDK, long=(Trial.LONG_WORK,), name=UNKNOWN),
    Client(CLIENT, long=(Trial.REFUSALS, Trial.QUESTIONS, Trial.LONG_WORK)),
    Client(CLIENT, long=(Trial.LONG_WORK,), name=UNKNOWN),
    Client(CLIENT, long=(Trial.QUESTIONS,), mode="auto"),
    Client(CLIENT, long=(Trial.REFUSALS,), mode="auto", with_tasks=True),
    Client(CLIENT, long=(Trial.LONG_WORK,), mode="auto", name=UNKNOWN),
    Client(EXT_TASKS, long=(Trial.QUESTIONS,)),
    Client(EXT_TASKS, long=(Trial.QUESTIONS,), mode="auto"),
)


def tried_with(trial: Trial) -> pytest.MarkDecorator:
    """Run a test with each client that has this trial, as its parameter `client`."""
    return pytest.mark.parametrize("client", [*_rows(trial)])


def _rows(trial: Trial) -> Iterator[Any]:
    for client in RELEASED:
        if trial in (*client.quick, *client.long):
            marks = [pytest.mark.long] if trial in client.long else []
            if client.library is FASTMCP_4:
                marks.append(needs_fastmcp)
            yield pytest.param(client, id=client.label, marks=marks)
