"""Everything that Stepwire does with AWS, each with the calls that it makes where nothing goes wrong, in their order.

An operation is arranged on a fresh site; what is given back does it, and does it again whenever it is called again: a
client that repeats its request, or an event that is delivered once more.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import Any, Final

from stepwire.aws.storage.items import item_of
from stepwire.background.execution_events import ExecutionProgress, ExecutionStatusChange
from stepwire.background.input_requests import Question
from stepwire.tasks.ids import RANDOM_BYTES, TaskKey, new_task_id
from stepwire.tasks.inputs import Action
from stepwire.tasks.outcomes import Succeeded
from stepwire.tasks.task import Progress, Task
from stepwire.tasks.usage import Limits
from tests.faults.boundary import Fault, Injection, ProcessDied
from tests.faults.site import INTERVALS, SWEEP, Site
from tests.kits import ALICE, ARGUMENTS, FORM, OUTPUT
from tests.server.clients import ASKING_CAPABILITY, TASKS_CAPABILITY, Answer, Json, LegacyClient, ModernClient

ANSWER: Final[Json] = {"action": Action.ACCEPT.value, "content": {"amount": 7}}
LARGE: Final[Json] = {"text": "x" * 120_000}
"""An output that no task's item has room for."""
CONFIRMED_ANSWER: Final[Json] = {"action": "accept", "content": {}}
_RETRYABLE: Final = -32603
_NOT_STARTED: Final = "The workflow of "


class Seen(Enum):
    """What whoever asked for an operation saw of it."""

    RESULT = "result"
    UNFINISHED = "stream to go on with"
    ERROR = "retryable error"
    REFUSAL = "refusal"
    NOTHING = "no answer"


class Caller(Enum):
    """Who asks for an operation; the value says what it is called when he asks again."""

    CLIENT = "retry"
    RESUMING = "next GET"
    EVENTBRIDGE = "redelivery"
    STREAM = "redelivery by the stream"
    WORKFLOW = "retry of the state"
    SCHEDULE = "next sweep"

    @property
    def always_comes_again(self) -> bool:
        """Tell whether he asks again until he is heard; the others may not."""
        return self not in {Caller.CLIENT, Caller.RESUMING, Caller.EVENTBRIDGE}


Act = Callable[[], Seen]


def nothing_more(site: Site) -> list[str]:
    """Say that an operation has no aim but that all is well."""
    return []


@dataclass(frozen=True)
class Operation:
    """One operation."""

    name: str
    caller: Caller
    steps: tuple[str, ...]
    """The calls to AWS."""
    arrange: Callable[[Site], Act]
    wrongs: Callable[[Site], list[str]] = nothing_more
    """Says what is still missing afterwards, beside what must never be."""
    limits: Limits = field(default_factory=Limits)
    first: int = 0
    """The first call that is this operation's own; those before are tried with another."""
    last: int | None = None
    """The last that is; None: all are."""
    repeats: bool = False
    """Whether asking again is asking for another task."""

    @property
    def own_steps(self) -> range:
        """The numbers of the calls that are tried with this operation."""
        return range(self.first, len(self.steps) if self.last is None else self.last + 1)


def seen_in(answer: Answer) -> Seen:
    """Say what a client makes of an answer."""
    if answer.status == 202 or "result" in answer.body:
        return Seen.RESULT
    if answer.status == 503:
        return Seen.ERROR
    retryable = answer.code == _RETRYABLE and not answer.error["message"].startswith(_NOT_STARTED)
    return Seen.ERROR if retryable else Seen.REFUSAL


def seen_of_stream(answer: Answer) -> Seen:
    """Say what a client makes of a body of events: any but 200 with an id would end its stream."""
    assert answer.status == 200
    assert answer.last_event_id
    return seen_in(answer) if answer.is_answered else Seen.UNFINISHED


def taken(do: Callable[[], Any]) -> Act:
    """Make an act of bringing an event."""

    def act() -> Seen:
        try:
            do()
        except Exception:  # noqa: BLE001 - whatever it is, Lambda has it delivered again
            return Seen.ERROR
        return Seen.RESULT

    return act


def modern(site: Site) -> ModernClient:
    """Give a client of 2026-07-28 that can all."""
    return ModernClient(site, capabilities={**TASKS_CAPABILITY, **ASKING_CAPABILITY})


def legacy(site: Site) -> LegacyClient:
    """Give a client of 2025-11-25 that can all."""
    return LegacyClient.opened(site, capabilities=ASKING_CAPABILITY)


# ------------------------------------------------------------------------------------------------------------- create


def _noted(site: Site, answer: Answer, *path: str) -> Seen:
    """Remember the handle that a client was given."""
    seen = seen_in(answer)
    if seen is Seen.RESULT:
        site.handles.add(answer.id_in(*path))
    return seen


def _create(site: Site) -> Act:
    return lambda: _noted(site, modern(site).call("optional"))


def _create_legacy(site: Site) -> Act:
    client = legacy(site)
    return lambda: _noted(site, client.call("optional", task={}), "task")


def _create_plain(site: Site) -> Act:
    return lambda: seen_in(ModernClient(site, capabilities={}).call("optional"))


def _create_plain_legacy(site: Site) -> Act:
    client = legacy(site)

    def act() -> Seen:
        answer = client.call("optional")
        return Seen.RESULT if answer.is_stream else seen_in(answer)

    return act


def _create_with_key(site: Site) -> Act:
    params: Json = {"name": "optional", "arguments": ARGUMENTS}
    key = {"idempotency-key": "order-7"}
    return lambda: _noted(site, modern(site).ask("tools/call", params, headers=key))


def _create_refused(site: Site) -> Act:
    site.account.boundary.refused_starts = 1
    return _create(site)


def _create_refused_with_key(site: Site) -> Act:
    site.account.boundary.refused_starts = 1
    return _create_with_key(site)


def _create_at_the_limit(site: Site) -> Act:
    """The one slot is held by what never became a task."""
    ghost = new_task_id(site.clock.now(), bytes(RANDOM_BYTES))
    site.process.recorder.store.reserve(TaskKey(ALICE, ghost), site.limits, site.clock.now())
    site.clock.advance(minutes=2)
    return _create(site)


def _create_confirmed(site: Site) -> Act:
    asked = modern(site).call("confirmed").result
    more = {"requestState": asked["requestState"], "inputResponses": {"confirm": CONFIRMED_ANSWER}}
    site.restart()
    return lambda: _noted(site, modern(site).call("confirmed", more=more))


def _confirm_legacy(site: Site) -> Act:
    task_id = legacy(site).start("confirmed")
    site.handles.add(task_id)
    return lambda: seen_in(modern(site).update(task_id, {"confirm": CONFIRMED_ANSWER}))


# --------------------------------------------------------------------------------------------------------------- read


def created(site: Site) -> Task:
    """Have a task that runs, and whose client has its handle."""
    site.handles.add(modern(site).start())
    return site.task()


def _get(site: Site) -> Act:
    task = created(site)
    return lambda: seen_in(modern(site).task("get", task.task_id))


def never_begun(site: Site) -> Task:
    """Have a task whose process died before it started the execution; the next look at it is due."""
    with site.account.boundary.watch(Injection(2, Fault.DEATH_BEFORE, lasts=True)):
        try:
            modern(site).call("optional")
        except ProcessDied:
            site.restart()
    site.clock.time += INTERVALS.repair
    return site.task()


def _get_never_begun(site: Site) -> Act:
    task = never_begun(site)
    return lambda: seen_in(modern(site).task("get", task.task_id))


def _get_end_untold(site: Site) -> Act:
    task = created(site)
    site.succeed(OUTPUT)
    site.clock.time += INTERVALS.repair
    return lambda: seen_in(modern(site).task("get", task.task_id))


def _result(site: Site, output: Json) -> Act:
    client, task = LegacyClient(site), created(site)
    site.succeed(output)
    site.deliver()
    return lambda: seen_in(client.task("result", task.task_id))


def _result_kept(site: Site) -> Act:
    return _result(site, OUTPUT)


def _result_fetched(site: Site) -> Act:
    return _result(site, LARGE)


def _listen(site: Site) -> Act:
    task = created(site)
    return lambda: seen_in(modern(site).listen({"taskIds": [task.task_id]}))


def _stream(site: Site) -> Act:
    """A plain call is under way; its client comes back for the response, each time with the last id that it has."""
    client = legacy(site)
    latest = first = client.call("optional")
    site.handles.add(site.task().task_id)

    def act() -> Seen:
        nonlocal latest
        answer = client.resume(latest.last_event_id, opened_by=first.request)
        seen = seen_of_stream(answer)
        latest = answer
        return seen

    return act


def _resume(site: Site) -> Act:
    act = _stream(site)
    site.succeed(OUTPUT)
    site.deliver()
    return act


def _resume_large(site: Site) -> Act:
    act = _stream(site)
    site.succeed(LARGE)
    site.deliver()
    return act


def _resume_end_untold(site: Site) -> Act:
    act = _stream(site)
    site.succeed(OUTPUT)
    site.clock.time += INTERVALS.repair
    return act


def _list(site: Site) -> Act:
    client, _task = LegacyClient(site), created(site)
    return lambda: seen_in(client.ask("tasks/list"))


# ----------------------------------------------------------------------------------------------------- cancel, answer


def _cancel(site: Site) -> Act:
    task = created(site)
    return lambda: seen_in(modern(site).task("cancel", task.task_id))


def _give_up(site: Site) -> Act:
    client = legacy(site)
    client.call("optional", message_id=5)
    return lambda: seen_in(client.notify("notifications/cancelled", {"requestId": 5}))


def asked(site: Site) -> Task:
    """Have a task whose workflow asks its user."""
    task = _asking(site)
    site.process.requests.record(_question(site, task))
    return site.task()


def _asking(site: Site) -> Task:
    client = legacy(site)
    site.handles.add(client.call("optional", task={}).id_in("task"))
    return site.task()


def _question(site: Site, task: Task, elicitation: Json = FORM) -> Question:
    return Question(task.execution, site.token(), "approval", elicitation)


def _answer(site: Site) -> Act:
    task = asked(site)

    def act() -> Seen:
        seen = seen_in(modern(site).update(task.task_id, {"approval": ANSWER}))
        site.outputs[task.execution] = ANSWER if seen is Seen.RESULT else site.outputs.get(task.execution)
        return seen

    return act


def _answer_posted(site: Site) -> Act:
    client, task = legacy(site), asked(site)

    def act() -> Seen:
        seen = seen_in(client.respond({"id": f"{task.task_id}.1"}, result=ANSWER))
        site.outputs[task.execution] = ANSWER if seen is Seen.RESULT else site.outputs.get(task.execution)
        return seen

    return act


# ------------------------------------------------------------------------------------------------- what workflows say


def _ask(site: Site) -> Act:
    question = _question(site, _asking(site))
    return taken(lambda: site.process.requests.record(question))


def _question_is_asked(site: Site) -> list[str]:
    return [] if site.task().input_requests or site.task().has_ended else ["a question that nobody is asked"]


def _ask_nobody(site: Site) -> Act:
    """The client has not said that it can be asked."""
    site.handles.add(ModernClient(site).start())
    question = _question(site, site.task())
    return taken(lambda: site.process.requests.record(question))


def _state_has_failed(site: Site) -> list[str]:
    return [] if site.is_quiet() else ["a state that waits for an answer which cannot come"]


def _progress(site: Site) -> Act:
    made = ExecutionProgress(created(site).execution, Progress(1, 2), "Half")
    return taken(lambda: site.process.events.record_progress(made))


def _end(site: Site) -> Act:
    task = created(site)
    site.succeed(OUTPUT)
    change = ExecutionStatusChange(task.execution, Succeeded('{"answer": 42}'))
    return taken(lambda: site.process.events.record(change))


def _end_without_output(site: Site) -> Act:
    task = created(site)
    site.succeed(LARGE)
    return taken(lambda: site.process.events.record(ExecutionStatusChange(task.execution, Succeeded(None))))


def ends_are_recorded(site: Site) -> list[str]:
    """Say which ends of executions their tasks do not know of."""
    states, tasks = site.executions(), site.tasks()
    return [
        "an end that its task does not know of"
        for arn, task in tasks.items()
        if states.get(arn, "RUNNING") != "RUNNING" and not task.has_ended
    ]


# --------------------------------------------------------------------------------------------------- what nobody reads


def expired(site: Site) -> Task:
    """Have a task that expired while it ran."""
    task = created(site)
    site.clock.time = task.expires_at + timedelta(seconds=1)
    site.handles.clear()
    return task


def _expire(site: Site) -> Act:
    task = expired(site)
    site.remove(task)
    return taken(lambda: site.process.expirations.record(task))


def _sweep(site: Site) -> Act:
    def do() -> None:
        before = len(site.troubles)
        site.process.sweep.run()
        if len(site.troubles) > before:
            raise site.troubles[-1]

    return taken(do)


def _sweep_end(site: Site) -> Act:
    created(site)
    site.succeed(OUTPUT)
    site.clock.time += SWEEP
    return _sweep(site)


def _sweep_never_begun(site: Site) -> Act:
    never_begun(site)
    site.clock.time += SWEEP
    return _sweep(site)


def _sweep_expired(site: Site) -> Act:
    expired(site)
    return _sweep(site)


# ----------------------------------------------------------------------------------------------------- what others hear


def _status_change(site: Site) -> Act:
    task = created(site)
    images = {"NewImage": item_of(task), "ApproximateCreationDateTime": site.clock.now().timestamp()}
    record = {"eventName": "INSERT", "dynamodb": {"SequenceNumber": "1", **images}}

    def act() -> Seen:
        told: list[Json] = []
        seen = taken(lambda: told.extend(site.process.outbox({"Records": [record]}, None)["batchItemFailures"]))()
        return Seen.ERROR if told else seen

    return act


def _is_heard_of(site: Site) -> list[str]:
    return [] if site.task().task_id in site.heard else ["a change of status that nobody hears of"]


_CREATION: Final = ("UpdateItem usage", "PutItem task", "StartExecution")
_QUERIES: Final = ("GetItem bookmark", *("Query neglected",) * 4)
_BEGUN_AGAIN: Final = ("GetItem task", "PutItem task", "DescribeExecution", "StartExecution", "GetItem task")
_FOUND: Final = ("GetItem task", "PutItem task", "DescribeExecution", "PutItem task", "UpdateItem usage")
_ANSWERED: Final = ("GetItem task", "PutItem task", "SendTaskSuccess", "PutItem task")

OPERATIONS: Final = (
    Operation("create", Caller.CLIENT, _CREATION, _create, repeats=True),
    Operation("create, 2025-11-25", Caller.CLIENT, _CREATION, _create_legacy, first=2, repeats=True),
    Operation("plain call", Caller.CLIENT, (*_CREATION, "GetSecretValue"), _create_plain, first=3, repeats=True),
    Operation(
        "plain call, 2025-11-25",
        Caller.CLIENT,
        (*_CREATION[:2], "PutItem request", _CREATION[2]),
        _create_plain_legacy,
        first=2,
        repeats=True,
    ),
    Operation(
        "create with a key",
        Caller.CLIENT,
        ("PutItem key", *_CREATION),
        _create_with_key,
    ),
    Operation(
        "create at the limit",
        Caller.CLIENT,
        ("UpdateItem usage", "UpdateItem usage", "BatchGetItem tasks", "UpdateItem usage", *_CREATION),
        _create_at_the_limit,
        limits=Limits(active=1),
        last=4,
        repeats=True,
    ),
    Operation(
        "create, refused",
        Caller.CLIENT,
        (*_CREATION, "DeleteItem task", "UpdateItem usage"),
        _create_refused,
        first=3,
        repeats=True,
    ),
    Operation(
        "create with a key, refused",
        Caller.CLIENT,
        ("PutItem key", *_CREATION, "DeleteItem task", "UpdateItem usage"),
        _create_refused_with_key,
        first=4,
    ),
    Operation("confirmed call", Caller.CLIENT, ("GetSecretValue", "GetItem task", *_CREATION), _create_confirmed),
    Operation(
        "confirm a task",
        Caller.CLIENT,
        ("GetItem task", "PutItem task", "StartExecution", "GetItem task"),
        _confirm_legacy,
    ),
    Operation("get", Caller.CLIENT, ("GetItem task",), _get),
    Operation("get, never begun", Caller.CLIENT, _BEGUN_AGAIN, _get_never_begun),
    Operation("get, end untold", Caller.CLIENT, _FOUND, _get_end_untold, ends_are_recorded),
    Operation("tasks/result", Caller.CLIENT, ("GetItem task",), _result_kept),
    Operation("tasks/result, large", Caller.CLIENT, ("GetItem task", "DescribeExecution"), _result_fetched),
    Operation("resume", Caller.RESUMING, ("BatchGetItem tasks",), _resume),
    Operation("resume, large", Caller.RESUMING, ("BatchGetItem tasks", "DescribeExecution"), _resume_large),
    Operation(
        "resume, end untold",
        Caller.RESUMING,
        ("BatchGetItem tasks", *_FOUND[1:]),
        _resume_end_untold,
        ends_are_recorded,
    ),
    Operation("listen", Caller.CLIENT, ("GetItem task",), _listen),
    Operation("tasks/list", Caller.CLIENT, ("Query tasks",), _list),
    Operation(
        "cancel",
        Caller.CLIENT,
        ("GetItem task", "StopExecution", "PutItem task", "UpdateItem usage"),
        _cancel,
        ends_are_recorded,
    ),
    Operation(
        "notifications/cancelled",
        Caller.CLIENT,
        ("UpdateItem request", "GetItem task", "StopExecution", "PutItem task", "UpdateItem usage"),
        _give_up,
        ends_are_recorded,
    ),
    Operation("answer", Caller.CLIENT, _ANSWERED, _answer),
    Operation("answer, 2025-11-25", Caller.CLIENT, ("GetItem task", *_ANSWERED), _answer_posted),
    Operation("question", Caller.WORKFLOW, ("GetItem task", "PutItem task"), _ask, _question_is_asked),
    Operation(
        "question to nobody", Caller.WORKFLOW, ("GetItem task", "SendTaskFailure"), _ask_nobody, _state_has_failed
    ),
    Operation("progress", Caller.EVENTBRIDGE, ("GetItem task", "PutItem task"), _progress),
    Operation("end", Caller.EVENTBRIDGE, ("GetItem task", "PutItem task", "UpdateItem usage"), _end, ends_are_recorded),
    Operation(
        "end, large",
        Caller.EVENTBRIDGE,
        ("GetItem task", "DescribeExecution", "PutItem task", "UpdateItem usage"),
        _end_without_output,
        ends_are_recorded,
    ),
    Operation("expiry", Caller.STREAM, ("StopExecution", "UpdateItem usage"), _expire),
    Operation("sweep, end untold", Caller.SCHEDULE, (*_QUERIES, *_FOUND), _sweep_end, ends_are_recorded),
    Operation("sweep, never begun", Caller.SCHEDULE, (*_QUERIES, *_BEGUN_AGAIN), _sweep_never_begun, first=5),
    Operation(
        "sweep, expired",
        Caller.SCHEDULE,
        (*_QUERIES, "GetItem task", "StopExecution", "UpdateItem usage", "DeleteItem task"),
        _sweep_expired,
        first=5,
    ),
    Operation("status change told", Caller.STREAM, ("PutEvents",), _status_change, _is_heard_of),
)
