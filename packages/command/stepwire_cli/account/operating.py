"""What a task waits for, and what its operator may do next.

Pure. Each next step is words, with a command that can be pasted into a shell. The rule: no argument, question, answer
or result of the caller is in what these functions return.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

from stepwire.tasks.inputs import InputRequest, Mode, mode_of
from stepwire.tasks.lifecycle import as_of
from stepwire.tasks.task import Cancelled, Completed, Failed, InputRequired, Task
from stepwire_cli.account.histories import OpenState
from stepwire_cli.account.tasks import Fate, Items, Run
from stepwire_cli.extras import parts

_REGION: Final = 3  # part of an ARN
_KINDS: Final[Mapping[Mode, str]] = {
    Mode.FORM: "a form",
    Mode.URL: "a page to open",
    Mode.SAMPLING: "a question to the client's model",
    Mode.ROOTS: "the client's roots",
}
_CONSOLES: Final[Mapping[str, str]] = {
    "aws-cn": "console.amazonaws.cn",
    "aws-us-gov": "console.amazonaws-us-gov.com",
}


@dataclass(frozen=True)
class Where:
    """The endpoint, as commands name it."""

    stack: str
    profile: str | None = None
    region: str | None = None
    """None: the usual one."""
    url: str = ""
    """Of the endpoint, where it is known."""
    sweep: str = ""
    """Name of the function, where it is known."""

    @property
    def of_stack(self) -> tuple[str, ...]:
        """The option that names the stack."""
        return ("--stack", self.stack)

    def aws(self, *words: str, region: str | None = None) -> str:
        """Return a command of the AWS CLI, by default in the endpoint's Region."""
        return shlex.join(("aws", *words, *_options(profile=self.profile, region=region or self.region)))

    def stepwire(self, *words: str) -> str:
        """Return a command of ours."""
        return shlex.join(("stepwire", *words, *_options(profile=self.profile, region=self.region)))


def _options(**given: str | None) -> list[str]:
    return [word for name, value in given.items() if value for word in (f"--{name}", value)]


@dataclass(frozen=True)
class Step:
    """Something that may be done."""

    words: str
    command: str = ""


def console_url(execution_arn: str) -> str:
    """Return the page of an execution in the AWS console."""
    _, partition, _, region, *_ = execution_arn.split(":")
    host = _CONSOLES.get(partition, "console.aws.amazon.com")
    return f"https://{region}.{host}/states/home?region={region}#/v2/executions/details/{execution_arn}"


def status_of(task: Task, at: datetime) -> str:
    """Return a task's status as clients read it, and what they do not see."""
    if at >= task.expires_at:
        return "expired"
    match as_of(task, at).shown_status:
        case InputRequired():
            return "input_required"
        case Completed(result):
            return "completed, with an error" if result.is_error else "completed"
        case Failed(error):
            return f"failed ({error.code})"
        case Cancelled():
            return "cancelled"
        case _:
            return "working"


def waits_for(task: Task, run: Run | None, at: datetime) -> list[str]:
    """Return what a task waits for, one line each; nothing once it has ended."""
    task = as_of(task, at)
    if task.has_ended or at >= task.expires_at:
        return []
    if task.awaits_confirmation:
        return [f"its caller's confirmation{_until(task.input_requests[0])}: nothing has been started"]
    found = [_question(one) for one in task.questions]
    if task.inputs.undelivered:
        found.append("the workflow to take an answer that was given: the next poll, or the sweep, delivers it")
    return [*found, *_of_the_beginning(task, at), *_of_the_run(task, run, at)]


def _of_the_beginning(task: Task, at: datetime) -> Iterator[str]:
    """Yield what keeps runs from beginning: a turn of a line, or the time of an attempt."""
    if task.line is not None and task.waiting_runs(at):
        place = "" if task.in_line is None else f": {task.in_line.text(at).rstrip('.').lower()}, as of the last look"
        yield f"its turn in the line {task.line.pool}{place}"
    later = [run.attempt.begins_at for run in task.runs if run.is_open and run.attempt.time_left(at)]
    for begins_at in sorted(one for one in later if one is not None):
        yield f"an attempt that begins at {begins_at:%Y-%m-%d %H:%M:%S}Z"


def attempts_of(task: Task) -> Iterator[str]:
    """Yield which attempt each run is at that was retried, and after which error."""
    for run in task.runs:
        if run.attempt.number > 1:
            name, error = f"{run.name}: " if run.name else "", run.attempt.after or "an unnamed error"
            yield f"{name}{run.attempt.number} of {task.retry.attempts}, after {error}"


def _has_yet_to_begin(task: Task, at: datetime) -> bool:
    """Tell whether the run whose execution is shown begins later, so that it is right that there is none."""
    return task.runs[0].is_open and not task.runs[0].is_due(at)


def _question(request: InputRequest) -> str:
    again = ", asked again, because the last answer did not fit" if request.refusal else ""
    facts = f"question {request.number}: {_KINDS[mode_of(request.asked)]}, key {request.key}{_until(request)}{again}"
    if request.audience.is_caller:
        return f"its caller's answer to {facts}"
    audience = request.audience
    return f"{audience.name} to decide {facts}, {len(request.answers)} of {audience.needed} have approved"


def _until(request: InputRequest) -> str:
    return "" if request.expires_at is None else f", until {request.expires_at:%Y-%m-%d %H:%M:%S}Z"


def _of_the_run(task: Task, run: Run | None, at: datetime) -> list[str]:
    if run is None or run.fate is Fate.UNKNOWN or _has_yet_to_begin(task, at):
        return []
    if run.fate is Fate.MISSING:
        return ["its start: there is no execution yet; the next poll, or the sweep, starts it"]
    if run.fate.has_ended:
        ended = "" if run.ended is None else f" at {run.ended:%Y-%m-%d %H:%M:%S}Z"
        return [f"the news of its end: the execution ended{ended}; the next poll, or the sweep, finds that out"]
    if run.fate is Fate.PENDING_REDRIVE:
        return ["the execution to be redriven"]
    open_states = [_doing(one, run.maps) for one in run.history.open_states]
    return open_states or ["the execution, which runs"]


def _doing(state: OpenState, maps: Mapping[str, Items]) -> str:
    since = f"since {state.since:%Y-%m-%d %H:%M:%S}Z"
    if state.map_run is not None and (items := maps.get(state.map_run)) is not None:
        failed = f", {items.failed:,} of them failed" if items.failed else ""
        return (
            f"state {state.name} (Distributed Map), {since}: {items.done:,} of {items.total:,} items are done{failed}"
        )
    if state.awaits_callback:
        return (
            f"state {state.name}, {since}: whoever {state.doing.partition('.')[0]} was called for, to return the token"
        )
    call = f": {state.doing}" if state.doing else ""
    return f"state {state.name} ({state.kind}), {since}{call}"


def next_steps(task: Task, run: Run | None, where: Where, at: datetime, *, with_logs: bool) -> list[Step]:
    """Return what may be done next, the most useful first.

    `with_logs`: the functions' logs are shown already.
    """
    task = as_of(task, at)
    is_over = task.has_ended or at >= task.expires_at
    steps = [] if is_over else [*_of_an_open_task(task, run, where, at)]
    if run is not None and run.fate is Fate.RUNNING:
        steps.append(_stop(task, run, where, is_over=is_over))
    if is_over:
        steps += _of_an_ended_task(task, run, where, at)
    if run is not None and run.fate not in (Fate.MISSING, Fate.UNKNOWN):
        steps.append(_events(run, where))
    if not with_logs:
        steps.append(Step("See also what the functions logged of it:", _again(task, where, "--logs")))
    steps.append(Step("See the caller's arguments, questions and result:", _again(task, where, "--data")))
    return steps


def _of_an_open_task(task: Task, run: Run | None, where: Where, at: datetime) -> Iterator[Step]:
    if task.awaits_confirmation:
        yield Step("Nothing: without a confirmation, the task ends by itself.")
        return
    if task.input_requests:
        server = ("--url", where.url) if where.url else ()
        yield Step("Only its caller can answer, signed in as before:",
                   shlex.join(("stepwire", "tasks", "answer", task.task_id, *server)))  # fmt: skip
    yield from chain.from_iterable(part.next_steps(task, where, at) for part in parts("next_steps"))
    is_late = run is not None and (run.fate is Fate.MISSING or run.fate.has_ended) and not _has_yet_to_begin(task, at)
    if is_late:
        yield Step("Look for its event in the dead-letter queue:", where.stepwire("replay", where.stack, "--dry-run"))
    if (is_late or task.inputs.undelivered) and where.sweep:
        yield Step(
            "Run the sweep now, which repairs what has not been checked for some minutes:",
            where.aws("lambda", "invoke", "--function-name", where.sweep, "/dev/null"),
        )
    if run is not None and run.fate is Fate.UNKNOWN:
        yield Step("Look at its execution with credentials that may read it:", _again(task, where))


def _of_an_ended_task(task: Task, run: Run | None, where: Where, at: datetime) -> Iterator[Step]:
    yield Step("Nothing changes this task any more: its caller calls the tool again.")
    if at >= task.expires_at or run is None or not run.fate.has_ended:
        return
    options = (*where.of_stack, "--principal", task.owner)
    if run.fate is not Fate.SUCCEEDED:
        yield Step("Or let its workflow go on where it failed, as a new task of its caller (within 14 days):",
                   where.stepwire("redrive", task.task_id, *options))  # fmt: skip


def _again(task: Task, where: Where, *flags: str) -> str:
    return where.stepwire("task", task.task_id, *where.of_stack, "--principal", task.owner, *flags)


def _stop(task: Task, run: Run, where: Where, *, is_over: bool) -> Step:
    effect = "nobody waits for it any more" if is_over else "the task becomes cancelled, as its caller sees at a poll"
    who = ", with credentials of its account" if task.runs[0].role else ""
    command = ("stepfunctions", "stop-execution", "--execution-arn", run.arn, "--error", "Operator")
    cause = ("--cause", "Stopped by an operator.")
    return Step(f"Stop its execution{who}; {effect}:", where.aws(*command, *cause, region=run.arn.split(":")[_REGION]))


def _events(run: Run, where: Where) -> Step:
    region = run.arn.split(":")[_REGION]
    command = ("stepfunctions", "get-execution-history", "--execution-arn", run.arn, "--no-include-execution-data")
    return Step("List all events of its execution:", where.aws(*command, "--output", "table", region=region))
