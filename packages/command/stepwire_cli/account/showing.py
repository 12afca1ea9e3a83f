"""A task as its operator reads it: lines for a terminal, and JSON for programs.

Pure. The rule: what its caller sent or received is under `data`, and is left out unless it was asked for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from stepwire.json_text import Json, load_json
from stepwire.tasks.inputs import UndeliveredAnswer, mode_of, params_of
from stepwire.tasks.runs import RunState
from stepwire.tasks.task import Completed, Failed, Task, Terms, ToolResult
from stepwire_cli.account.lives import Life, Moment
from stepwire_cli.account.operating import (
    Step,
    Where,
    attempts_of,
    console_url,
    next_steps,
    status_of,
    waits_for,
)
from stepwire_cli.account.tasks import Fate, Run
from stepwire_cli.screen import moment

_WIDTH: Final = 11  # of the names in front of values
_FATES: Final = {
    Fate.MISSING: "not there: not started yet, or gone after 90 days",
    Fate.UNKNOWN: "not readable with these credentials",
}


@dataclass(frozen=True)
class Shown:
    """What is known of a task."""

    task: Task
    life: Life
    where: Where
    at: datetime
    """The time now."""
    lines: int = 50
    """How many moments of its timeline to show."""
    with_logs: bool = False
    with_data: bool = False

    @property
    def run(self) -> Run | None:
        """The execution that the result comes from, if there is one."""
        return self.life.run

    @property
    def status(self) -> str:
        """Its status, as clients read it."""
        return status_of(self.task, self.at)

    @property
    def waits(self) -> list[str]:
        """What it waits for."""
        return waits_for(self.task, self.run, self.at)

    @property
    def steps(self) -> list[Step]:
        """What may be done next."""
        return next_steps(self.task, self.run, self.where, self.at, with_logs=self.with_logs)

    def data(self) -> dict[str, Json]:
        """Return what the caller sent and received."""
        status = self.task.status
        terms = self.task.work.terms
        arguments = load_json(terms.input) if isinstance(terms, Terms) and terms.input else None
        found: dict[str, Json] = {"arguments": arguments, "message": status.message}
        if self.task.questions:
            found["questions"] = [
                {"key": one.key, "kind": mode_of(one.asked).value, "params": params_of(one.asked)}
                for one in self.task.questions
            ]
        if self.task.inputs.undelivered:
            found["answers"] = [_answer(one) for one in self.task.inputs.undelivered]
        if isinstance(status, Completed):
            found["result"] = status.result.value() if isinstance(status.result, ToolResult) else None
        if isinstance(status, Failed):
            found["error"] = {"code": status.error.code, "message": status.error.message, "data": status.error.data}
        if self.run is not None and self.run.output is not None:
            found["output"] = _read(self.run.output)
        return {name: value for name, value in found.items() if value is not None}


def _answer(one: UndeliveredAnswer) -> Json:
    text = one.text()
    return None if text is None else load_json(text)


def _read(text: str) -> Json:
    try:
        return load_json(text)
    except ValueError:
        return text


def rows_of(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield a name and a value for each fact of the task."""
    task = shown.task
    yield "task", task.task_id
    yield "tool", task.work.tool
    yield "caller", f"principal {task.owner}"
    yield "status", shown.status
    if task.origin.trace is not None:
        yield "trace", task.origin.trace.id
    yield "created", moment(task.created_at)
    yield "changed", moment(task.last_updated_at)
    yield "expires", moment(task.expires_at)
    if task.follows is not None:
        yield "follows", f"task {task.follows.task_id}"
    if task.follow_up is not None:
        yield "followed", f"by task {task.follow_up} (redrive)"
    yield from (("attempt", one) for one in attempts_of(task))
    if task.needs_checks:
        yield "checked", f"{moment(task.checked_at)}, against Step Functions"
    if shown.run is not None:
        yield "execution", _standing(task, shown.run)
        yield "", shown.run.arn
        yield "", console_url(shown.run.arn)


def text_rows(shown: Shown) -> list[str]:
    """Return the facts as lines with their names in front."""
    return [f"{name:<{_WIDTH}}{value}" for name, value in rows_of(shown)]


def timeline_rows(shown: Shown) -> list[str]:
    """Return the newest moments of the timeline, each with its source; with causes if data are shown."""
    moments = shown.life.moments[-shown.lines :]
    is_cut = shown.life.is_cut or len(moments) < len(shown.life.moments)
    rows, width = ["..."] if is_cut else [], max((len(one.source) for one in moments), default=0)
    for one in moments:
        at = f"{one.at:%Y-%m-%d %H:%M:%S}.{one.at.microsecond // 1000:03d}Z"
        rows.append(f"{at}  {one.source:<{width}}  {one.words}")
        if shown.with_data and one.cause:
            rows.append(f"{'':<{len(at) + width + 4}}{' '.join(one.cause.split())}")
    return rows


def as_json(shown: Shown) -> dict[str, Any]:
    """Return all of it as JSON."""
    task, run = shown.task, shown.run
    found: dict[str, Any] = {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "principal": task.owner,
        "status": shown.status,
        "traceId": None if task.origin.trace is None else task.origin.trace.id,
        "createdAt": task.created_at.isoformat(),
        "lastUpdatedAt": task.last_updated_at.isoformat(),
        "expiresAt": task.expires_at.isoformat(),
        "follows": None if task.follows is None else task.follows.task_id,
        "attempts": list(attempts_of(task)),
        "followUps": {} if task.follow_up is None else {"redrive": task.follow_up},
        "execution": None if run is None else _run_json(run),
        "waitsFor": shown.waits,
        "timelineIsCut": shown.life.is_cut,
        "timeline": [_moment_json(one, with_cause=shown.with_data) for one in shown.life.moments],
        "next": [{"what": step.words, "command": step.command or None} for step in shown.steps],
        "problems": list(shown.life.problems),
    }
    return {**found, "data": shown.data()} if shown.with_data else found


def _run_json(run: Run) -> dict[str, Any]:
    return {
        "arn": run.arn,
        "console": console_url(run.arn),
        "status": run.fate.value,
        "startedAt": None if run.began is None else run.began.isoformat(),
        "stoppedAt": None if run.ended is None else run.ended.isoformat(),
        "redrives": run.redrives,
    }


def _moment_json(one: Moment, *, with_cause: bool) -> dict[str, str]:
    cause = {"cause": one.cause} if with_cause and one.cause else {}
    return {"at": one.at.isoformat(timespec="milliseconds"), "source": one.source, "what": one.words, **cause}


def _standing(task: Task, run: Run) -> str:
    if run.fate is Fate.MISSING and task.runs[0].state is RunState.REFUSED:
        return "not there: it could not be started"
    if run.fate in _FATES:
        return _FATES[run.fate]
    began = "" if run.began is None else f" since {moment(run.began)}"
    ended = "" if run.ended is None else f", ended {moment(run.ended)}"
    redrives = f", redriven {run.redrives} times" if run.redrives else ""
    return f"{run.fate.value}{began if not run.fate.has_ended else ''}{ended}{redrives}"
