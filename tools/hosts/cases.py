"""The cases, and what became of each: a host, a scripted model and a local stack, together in one run.

A case is as expected if the model has read the tool's own result, one task was started for it, and the host ended by
itself. A question and a cancel end as the host's entry in hosts.py says.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tools.hosts import model, site
from tools.hosts.hosts import PROMPT, Host, Places, variables_of
from tools.hosts.model import Model, Script
from tools.hosts.process import Running, TooLong, home, running
from tools.hosts.site import Site

_RUN_SECONDS: Final = 200
IDLE_SECONDS: Final = 600
MOST_WHEN_IDLE: Final = 10
"""Requests in so many seconds."""
_INTERRUPTS: Final = 3
_REFUND: Final = {"order_id": "A-1002", "amount": "100.00", "currency": "EUR", "reason": "The chair wobbles."}
_SHORT: Final = {"WaitSeconds": "3", "CALL_SECONDS": "10", "PROGRESS_CALL_SECONDS": "10"}
"""The endpoint's own bounds made shorter, so that a call ends unfinished in seconds; the host's bounds are its own."""


@dataclass(frozen=True)
class Case:
    """What a host is led to do."""

    name: str
    script: Script
    read: str
    """What the model reads in the tool's own result."""
    parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    decides: bool = False
    """Whether a second person decides, with a client of their own."""
    shown: str = ""
    """What is added to the endpoint's URL, to say which tools it shows."""


def _waiting(seconds: int, *, stops: bool = False, search: str = "") -> Script:
    return Script("wait_and_echo", {"message": "hello", "seconds": seconds}, stops, search)


FIRST: Final = Case("first call", _waiting(0), '"waited_seconds":0')
MINUTE: Final = Case("a minute", _waiting(60), '"waited_seconds":60')
PART: Final = Case("35 s", _waiting(35), '"waited_seconds":35')
QUESTION: Final = Case("question", Script("approve_refund", _REFUND), '"status":"{refund}"')
CANCEL: Final = Case("cancel", _waiting(600, stops=True), "")
FETCH: Final = Case("fetch", _waiting(25), '"waited_seconds":25', _SHORT)
OPEN: Final = "It waits for an answer that a person gives"
"""What a model reads of a question that nobody can answer with its host."""
GROUP: Final = Case("a group", _waiting(0), '"waited_seconds":0', shown="?tools=wait_and_echo,approve_refund")
PATH: Final = Case("a group by path", _waiting(0), '"waited_seconds":0', shown="/tools/wait_and_echo,approve_refund")
FOUND: Final = Case("found", _waiting(0, search="wait and echo"), '"waited_seconds":0', shown="?discover=1")
DECIDED: Final = Case(
    "a second person",
    Script("approve_refund", {**_REFUND, "order_id": "A-1003", "amount": "890.00"}),
    '"decided_by":"finance"',
    decides=True,
)
IDLE: Final = Case(
    "idle", Script("wait_and_echo", {"message": "hello", "seconds": 0}, rests=True), '"waited_seconds":0'
)
"""The call has ended, and the host stays connected: its model says nothing for ten minutes, or nobody types."""
CASES: Final = (FIRST, PART, MINUTE, QUESTION, CANCEL, FETCH, GROUP, PATH, FOUND, DECIDED)
"""All but IDLE, which takes ten minutes a host and is run if it is named."""


@dataclass(frozen=True)
class Report:
    """What became of a case."""

    host: Host
    case: Case
    happened: str = ""
    exit_code: int | None = None
    faults: Sequence[str] = ()
    client: str = ""
    """Name, version, User-Agent and protocol version, as the server saw them."""
    asked_for: Sequence[str] = ()
    """Names on the internet that the host asked for, and did not get."""
    last_words: str = ""
    """What the host wrote last, for a case with faults."""


@dataclass
class Rest:
    """What a host that had nothing to do sent in the meantime."""

    seconds: float = 0.0
    sent: Counter[str] = field(default_factory=Counter[str])

    def __str__(self) -> str:
        methods = ", ".join(f"{method} {number}x" for method, number in self.sent.items())
        return f"{self.sent.total()} requests in {self.seconds:.0f} idle seconds{methods and f': {methods}'}"


def applies(host: Host, case: Case) -> bool:
    """Tell whether a host can be led to a case: tools that fetch are hidden from one with tasks; few are signed in."""
    cannot = (case is FETCH and host.has_tasks) or (case is FOUND and not host.searches)
    return not cannot and bool(host.header or not case.decides)


def run(host: Host, case: Case) -> Report:
    """Run a case, and tell what became of it."""
    with (
        site.serving(case.parameters, signs_in=case.decides) as endpoint,
        model.serving(case.script) as scripted,
        home() as folder,
    ):
        authorization = endpoint.people.header_of("alice") if endpoint.people else ""
        places = Places(folder, endpoint.url + case.shown, scripted.url, authorization)
        command = host.prepare(places)
        variables = {**variables_of(places), **command.variables}
        faults, rest = _connect(host, places, variables), Rest()
        with running(host.words(command.arguments), folder, variables, on_terminal=host.on_terminal) as process:
            try:
                _lead(_Run(host, case, endpoint, scripted, process, rest))
            except TooLong as error:
                faults.append(str(error))
            code = process.process.poll()
        faults += [*_faults(host, case, endpoint, scripted, code), *(faults_of(rest) if case is IDLE else ())]
        return Report(
            host=host,
            case=case,
            happened=str(rest) if case is IDLE else ", ".join(_happened(endpoint, scripted, read_by(case, host))),
            exit_code=code,
            faults=faults,
            client=f"{endpoint.client}; {endpoint.user_agent}; {endpoint.version}",
            asked_for=sorted(scripted.refused),
            last_words=process.text()[-400:] if faults else "",
        )


def _connect(host: Host, places: Places, variables: Mapping[str, str]) -> list[str]:
    """Run the command that connects a host, if it has one, and return what is wrong with its end."""
    words = host.connection(places)
    if words is None:
        return []
    with running(words, places.home, variables, on_terminal=False) as process:
        code = process.exit_code()
    return [] if code == 0 else [f"{host.connect}: exit code {code}: {process.text()[-400:]}"]


@dataclass(frozen=True)
class _Run:
    host: Host
    case: Case
    site: Site
    model: Model
    process: Running
    rest: Rest

    def until(self, what: str, is_so: Any, seconds: float = _RUN_SECONDS) -> None:
        self.process.until(what, is_so, seconds)


def _lead(run: _Run) -> None:
    """Do what a person at the terminal does, until the host has ended by itself.

    Raises:
        TooLong: the host did not get so far.
    """
    if run.host.on_terminal:
        run.until("the list of tools", lambda: "tools/list" in run.site.methods)
        run.process.press(PROMPT, "\r")
    if run.case is QUESTION and run.host.answer:
        run.until("a form", lambda: "requestsyourinput" in run.process.text())
        run.process.press(*run.host.answer)
    if run.site.people is not None:
        run.until("a question to others", lambda: bool(run.site.questions))
        run.site.people.decide(run.site.url)
    _end(run)
    if run.host.on_terminal:
        run.process.press("/exit", "\r")
    run.until("the host's end", lambda: False)


def _end(run: _Run) -> None:
    """Wait for what ends the case, or bring it about."""
    if run.case is CANCEL:
        run.until("a task", run.site.is_busy)
        _cancel(run)
    elif _stays_open(run.case, run.host):
        run.until("the open question", lambda: run.model.has_read(OPEN))
        _interrupt(run)
    elif run.case is IDLE:
        _rest(run)
    elif run.host.on_terminal:
        run.until("the result", lambda: run.model.has_read(read_by(run.case, run.host)))


def _rest(run: _Run) -> None:
    """Wait until the host's model has read the result, then for ten minutes, and note what the host sends in these.

    On a terminal, the model gives its last turn, so that the host waits for its user.
    """
    run.until("the result", run.model.rests.is_set)
    if run.host.on_terminal:
        run.model.released.set()
        run.process.until("a still screen", run.process.is_still, _RUN_SECONDS)
    before, began = run.site.methods.copy(), time.monotonic()
    run.until("the end of a rest", lambda: time.monotonic() - began >= IDLE_SECONDS, IDLE_SECONDS + _RUN_SECONDS)
    run.rest.seconds, run.rest.sent = time.monotonic() - began, run.site.methods - before
    run.model.released.set()


def _cancel(run: _Run) -> None:
    """Give up the call, or wait until the model has stopped the task, or press Ctrl-C until the host ends."""
    run.process.press(*run.host.give_up, at_once=True)
    if run.host.cancels:
        run.until("a cancelled task", run.site.is_done)
        return
    _interrupt(run)


def _interrupt(run: _Run) -> None:
    """Press Ctrl-C until the host ends."""
    for _ in range(_INTERRUPTS):
        if run.process.process.poll() is None:
            run.process.interrupt()
            try:
                run.process.until("the host's end", lambda: False, 5)
            except TooLong:
                continue


def read_by(case: Case, host: Host) -> str:
    """Return what the model is to read."""
    if _stays_open(case, host):
        return OPEN
    return case.read.replace("{refund}", host.refund)


def _stays_open(case: Case, host: Host) -> bool:
    """Tell whether the case's question stays open, because nobody can answer it with this host."""
    return case is QUESTION and not host.refund


def _happened(endpoint: Site, scripted: Model, read: str) -> Iterator[str]:
    methods = endpoint.methods
    calls = sum(methods[f"tools/call {name}"] for name in ("wait_and_echo", "approve_refund", "call_tool"))
    counted = {
        "searched": methods["tools/call find_tools"],
        "rounds": calls if calls > 1 else 0,
        "came back": methods["resumed"],
        "polls": methods["tasks/get"],
        "answers": methods["tasks/update"],
        "task_result": methods["tools/call task_result"],
        "cancelled": methods["notifications/cancelled"] + methods["tasks/cancel"],
    }
    yield from (f"{name} {number}x" for name, number in counted.items() if number)
    yield "; ".join(" > ".join(statuses) for statuses in endpoint.tasks.values()) or "no task"
    if read:
        yield f"read {read}" if scripted.has_read(read) else "the result was not read"


def faults_of(rest: Rest) -> Iterator[str]:
    """Yield what is wrong with a rest."""
    if rest.seconds < IDLE_SECONDS:
        yield f"the host ended after {rest.seconds:.0f} seconds"
    if rest.sent.total() > MOST_WHEN_IDLE:
        yield f"more than {MOST_WHEN_IDLE} requests while it had nothing to do"


def _faults(host: Host, case: Case, endpoint: Site, scripted: Model, code: int | None) -> Iterator[str]:
    if len(endpoint.tasks) != 1:
        yield f"{len(endpoint.tasks)} tasks were started"
    if case is CANCEL:
        cancels = host.cancels or host.cancels_at_its_end
        if endpoint.is_busy() == cancels:
            yield "the task goes on" if cancels else "the task was cancelled: say so in hosts.py"
        return
    if case.decides and endpoint.questions != ["asked", "decided"]:
        yield f"of the question to others: {endpoint.questions}"
    if endpoint.people and endpoint.methods["tasks/update"]:
        yield "the caller was asked"
    if not scripted.has_read(read_by(case, host)):
        yield f"the model read: {scripted.last_read()[-300:]}"
    if code != 0 and not _stays_open(case, host):
        yield f"exit code {code}"
