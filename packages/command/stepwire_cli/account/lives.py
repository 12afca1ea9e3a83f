"""The timeline of a task: what the table, Step Functions and, if asked for, the functions' logs say, by time.

The rule: each source is read by itself, so one that may not be read leaves a problem and the others are still told. No
argument, question, answer or result is in the words of a moment; its cause may quote one, and is shown on request.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from stepwire.audit import AuditAction
from stepwire.tasks.task import Execution, Task
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.endpoint import Endpoint
from stepwire_cli.account.histories import PLAIN
from stepwire_cli.account.logs import LogLine, Logs
from stepwire_cli.account.operating import status_of
from stepwire_cli.account.tasks import Executions, Run
from stepwire_cli.extras import parts

TABLE: Final = "table"
EXECUTION: Final = "execution"
LOG: Final = "log"
_BEGAN: Final = PLAIN["ExecutionStarted"]
_AUDITED: Final[Mapping[str, str]] = {
    AuditAction.CREATED.word: "called: the tool {tool}",
    AuditAction.ENDED.word: "ended: {outcome}{learned}{won}",
    AuditAction.RETRIED.word: "an attempt failed: {outcome} follows",
    AuditAction.FOLLOWED_UP.word: "continued by task {follow_up_task_id} ({outcome})",
    AuditAction.EXPIRED.word: "expired while it ran",
    AuditAction.RETRIEVED.word: "its result was fetched",
    AuditAction.CANCELLED.word: "its caller cancelled it",
    AuditAction.UNSHAPED.word: "its output did not fit the manifest: {outcome}",
}
_LEARNED: Final = {"event": ", as an event of Step Functions said", "look": ", as a check of Step Functions found"}


@dataclass(frozen=True)
class Moment:
    """Something that happened to a task."""

    at: datetime
    source: str
    """Where it was read."""
    words: str
    cause: str = ""
    """Why something failed or who decided it, in words that may quote what a caller sent."""


@dataclass(frozen=True)
class Life:
    """All moments of a task that could be read, oldest first."""

    moments: tuple[Moment, ...] = ()
    run: Run | None = None
    """The execution that the result comes from; None: there is none, because the task was never confirmed."""
    is_cut: bool = False
    """Whether an execution has older events that were not read."""
    problems: tuple[str, ...] = ()
    """What could not be read, a line each."""


@dataclass(frozen=True)
class Lives:
    """Reads the lives of an endpoint's tasks."""

    calls: Calls
    endpoint: Endpoint
    table: str
    lines: int
    """How many events of each execution to read at least, if there are as many."""
    with_logs: bool = False
    """Whether to query the functions' logs, which AWS charges by the bytes that it scans."""
    with_output: bool = False
    """Whether to read the output of the execution that the result comes from."""

    def read(self, task: Task, at: datetime) -> Life:
        """Return the life of a task until now."""
        problems: list[str] = []
        moments = [*_in_table(task, at)]
        for part in parts("life"):
            moments += part.moments(self.calls, self.table, task, problems)
        runs = self._runs(task)
        for (name, _), run in runs.items():
            problems += run.problems
            moments += _of_run(name, run)
        if self.with_logs:
            moments += map(_logged, Logs(self.calls, self.endpoint).about(task, at, problems))
        own = next((run for (_, execution), run in runs.items() if execution == task.execution), None)
        is_cut = any(run.history.is_cut for run in runs.values())
        return Life(tuple(sorted(moments, key=lambda one: one.at)), own, is_cut, tuple(dict.fromkeys(problems)))

    def _runs(self, task: Task) -> dict[tuple[str, Execution], Run]:
        if task.awaits_confirmation:
            return {}
        executions = Executions(self.calls, self.lines)
        return {
            (name, execution): executions.read(execution, with_output=self.with_output and execution == task.execution)
            for name, execution in executions_of(task)
        }


def executions_of(task: Task) -> Iterator[tuple[str, Execution]]:
    """Yield each execution of a task, with what tells it from its others: of each run, the attempts in their order."""
    for index, run in enumerate(task.runs):
        for number, execution in enumerate(task.executions_of(index), 1):
            names = (f"run {run.name}" if run.name else "", f"execution {number}" if number > 1 else "")
            yield ", ".join(filter(None, names)), execution


def _in_table(task: Task, at: datetime) -> Iterator[Moment]:
    yield Moment(task.created_at, TABLE, f"stored: a task of {task.work.tool}")
    if task.last_updated_at > task.created_at:
        yield Moment(task.last_updated_at, TABLE, f"changed last: {status_of(task, at)}")
    if task.follow_up is not None:
        yield Moment(task.last_updated_at, TABLE, f"followed by task {task.follow_up} (redrive)")
    if at >= task.expires_at:
        yield Moment(task.expires_at, TABLE, "expired")


def _of_run(name: str, run: Run) -> Iterator[Moment]:
    prefix = f"{name}: " if name else ""
    has_begun = any(line.words == _BEGAN for line in run.history.lines)
    if run.began is not None and not has_begun:
        yield Moment(run.began, EXECUTION, f"{prefix}{_BEGAN}")
    for line in run.history.lines:
        yield Moment(line.at, EXECUTION, f"{prefix}{line.words}", line.cause)
    if run.ended is not None and not run.history.lines:
        yield Moment(run.ended, EXECUTION, f"{prefix}the execution ended: {run.fate.value}")


def _logged(line: LogLine) -> Moment:
    return Moment(line.at, f"{LOG} {line.function}", _words_of(line.members))


class _Blank(dict[str, str]):
    """The members of a line; one that it lacks is a question mark."""

    def __missing__(self, _name: str) -> str:
        return "?"


def _words_of(members: Mapping[str, str]) -> str:
    """Return what a line of a log tells."""
    learned = _LEARNED.get(members.get("source", ""), "")
    won = f", run {members['winner']} won" if "winner" in members else ""
    known = _Blank({"learned": learned, "won": won, **members})
    if (form := _AUDITED.get(members.get("audit", ""))) is not None:
        return form.format_map(known)
    for part in parts("life"):
        for name, forms in part.WORDS.items():
            if (form := forms.get(members.get(name, ""))) is not None:
                return form.format_map(known)
    fault = f" ({members['fault']})" if "fault" in members else ""
    audited = ": ".join(members[name] for name in ("audit", "outcome") if name in members)
    return f"{members.get('message') or audited or 'a line of the log'}{fault}"
