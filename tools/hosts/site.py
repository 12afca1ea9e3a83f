"""The local stack that hosts connect to, and what it sees of them."""

import json
from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from stepwire_local import LocalStack
from stepwire_local.gateway.exchanges import Exchange, Reader, RequestLine
from stepwire_local.issuer import SHAPES, LocalIssuer
from stepwire_local.streams.task_changes import TaskChange, Told
from tests.integration.stacks import chosen
from tools.hosts.people import People

_ROOT: Final = Path(__file__).parents[2]
_ENDED: Final = frozenset({"completed", "failed", "cancelled"})


@dataclass
class Site:
    """An endpoint, and what it sees of one host."""

    url: str = ""
    client: str = ""
    """The host's name and version, as it gives them to servers."""
    user_agent: str = ""
    version: str = ""
    """Version of the protocol."""
    methods: Counter[str] = field(default_factory=Counter[str])
    """How often each method was called; `tools/call` with the tool, and `resumed` for a GET that resumes a response."""
    tasks: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The statuses that each task went through, by its id."""
    questions: list[str] = field(default_factory=list[str])
    """What happened to the questions to others than the caller, in order."""
    people: People | None = None
    """Who signs in; None: nobody need."""
    _reader: Reader = field(default_factory=Reader)

    def answered(self, exchange: Exchange) -> None:
        """Receive a request to the API and its response."""
        line = self._reader.line_of(exchange)
        if not isinstance(line, RequestLine):
            self.methods[f"{line.method} {line.path}"] += 1
            return
        headers = {name.lower(): value for name, value in exchange.request.headers}
        tool = "" if line.tool == "-" else f" {line.tool}"
        self.methods["resumed" if "last-event-id" in headers else f"{line.method}{tool}"] += 1
        self.version, self.user_agent = line.era, headers.get("user-agent", "")
        self.client = _client_in(exchange.request.body) or self.client

    def task_changed(self, change: TaskChange) -> None:
        """Receive a change of a task's status."""
        self.tasks.setdefault(change.task_id, []).append(change.status)

    def told(self, told: Told) -> None:
        """Receive what happened to a question to others."""
        self.questions.append(told.facts["happened"])

    def is_busy(self) -> bool:
        """Tell whether a task has started and not ended."""
        return any(statuses[-1] not in _ENDED for statuses in self.tasks.values())

    def is_done(self) -> bool:
        """Tell whether all tasks that have started have ended."""
        return bool(self.tasks) and not self.is_busy()


@contextmanager
def serving(parameters: Mapping[str, str], *, signs_in: bool = False) -> Generator[Site]:
    """Serve the endpoint and the examples, as `make run` does, with these parameters on a free port."""
    issuer = LocalIssuer(SHAPES["strict"]) if signs_in else None
    site = Site(people=People(issuer) if issuer else None)
    known = {**parameters, **(site.people.parameters if site.people else {})}
    stack = LocalStack(_ROOT / "stack.yaml", others=[_ROOT / "examples/template.yaml"], **chosen(known))
    stack.watcher, stack.tell = site, site.told
    with issuer or nullcontext(), stack:
        site.url = stack.url
        yield site


def _client_in(body: bytes) -> str:
    """Return the client's name and version from the body of a request; empty where it has none."""
    try:
        params: Any = json.loads(body)["params"]
        info = params.get("clientInfo") or params["_meta"]["io.modelcontextprotocol/clientInfo"]
        return f"{info['name']} {info['version']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return ""
