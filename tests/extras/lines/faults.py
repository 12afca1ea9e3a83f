"""Arrange what happens in the line of a tool with a limit, and check that nobody is forgotten in it."""

from typing import Final

from stepwire.aws.step_functions import execution_arn_of
from stepwire.background.execution_events import ExecutionStatusChange
from stepwire.tasks.outcomes import Succeeded
from stepwire.tasks.task import Task
from tests.extras.lines.faulty_tools import LIMITED, MOST_AT_ONCE
from tests.faults.aws_events import ends_are_recorded
from tests.faults.boundary import Fault, Injection, ProcessDied
from tests.faults.operation import QUERIES, Caller, Operation
from tests.faults.seen import Act, modern, note_handle, seen_in, taken
from tests.faults.site import SWEEP, Site
from tests.kits import OUTPUT


def arrange_create_limited(site: Site) -> Act:
    return lambda: note_handle(site, modern(site).call(LIMITED.name))


def arrange_create_in_line(site: Site) -> Act:
    """Another execution holds the only turn."""
    called(site)
    return arrange_create_limited(site)


def arrange_end_of_turn(site: Site) -> Act:
    """Another task waits for the turn."""
    first = called(site)
    called(site)
    site.succeed(OUTPUT)
    change = ExecutionStatusChange(first.execution, Succeeded('{"answer": 42}'))
    return taken(lambda: site.process.events.record(change))


def arrange_cancel_in_line(site: Site) -> Act:
    """Another task waits behind it."""
    called(site)
    waiting = called(site)
    called(site)
    return lambda: seen_in(modern(site).task("cancel", waiting.task_id))


def arrange_expire_in_line(site: Site) -> Act:
    called(site)
    waiting = called(site)
    site.handles.discard(waiting.task_id)
    stored = site.stored(waiting)
    site.remove(waiting)
    return taken(lambda: site.process.expirations.record(stored))


def arrange_look_in_line(site: Site) -> Act:
    called(site)
    waiting = called(site)
    site.clock.time += SWEEP
    return lambda: seen_in(modern(site).task("get", waiting.task_id))


def arrange_sweep_line(site: Site) -> Act:
    """The process that recorded the end of the first task died before it gave the turn back."""
    act = arrange_end_of_turn(site)
    with site.account.boundary.watch(Injection(2, Fault.DEATH_AFTER, lasts=True)):
        try:
            act()
        except ProcessDied:
            site.restart()
    site.clock.time += SWEEP
    return taken(site.process.sweep.run)


def called(site: Site) -> Task:
    """Return the task of a call of the tool with a limit."""
    before = {task.task_id for task in site.all_tasks()}
    site.handles.add(modern(site).start(LIMITED.name))
    return next(task for task in site.all_tasks() if task.task_id not in before)


def in_line(site: Site, prefix: str) -> frozenset[str]:
    """Return the ids of the tasks in the items of lines whose sort keys begin so: turns, or places."""
    keys = (item["sk"]["S"] for item in site.items if item["pk"]["S"].startswith("line#"))
    return frozenset(key.split("#")[2] for key in keys if key.startswith(prefix))


def line_is_right(site: Site) -> list[str]:
    """Return what is wrong with the line: who is forgotten, and whether too many run."""
    now = site.clock.now()
    tasks = [task for task in site.all_tasks() if task.line and not task.has_ended and task.expires_at > now]
    arns = {execution_arn_of(task.execution) for task in site.all_tasks() if task.line}
    assert sum(status == "RUNNING" for arn, status in site.executions().items() if arn in arns) <= MOST_AT_ONCE
    waiting = [task.task_id for task in tasks if task.waiting_runs(now)]
    held, placed = in_line(site, "turn#"), in_line(site, "place#")
    alive, ended = {task.task_id for task in tasks}, {task.task_id for task in site.all_tasks() if task.has_ended}
    return [
        *("a run that waits nowhere" for one in waiting if one not in placed | held),
        *("a run that has its turn and has not begun" for one in waiting if one in held),
        *("a turn that nobody gets" for _ in waiting[:1] if len(held) < MOST_AT_ONCE),
        *("a turn of a task that is over" for one in held if waiting and one not in alive),
        *("a place of a task that has ended" for _ in placed & ended),
    ]


_CREATION: Final = ("UpdateItem usage", "PutItem task")
_SLOT: Final = ("UpdateItem usage", "UpdateItem usage")
_TURN: Final = ("TransactGetItems line", "TransactWriteItems line")
_ENDED: Final = ("GetItem task", "PutItem task", "UpdateItem usage")
_CALLED: Final = ("GetItem task", "PutItem task", "StartExecution", "GetItem task")
_MENDED: Final = ("GetItem line", "Query turn", "Query round", "BatchGetItem tasks", "TransactWriteItems line")

OPERATIONS: Final = (
    Operation(
        "create, limited",
        Caller.CLIENT,
        (*_CREATION, *_TURN, "PutItem task", "StartExecution", "GetItem task"),
        arrange_create_limited,
        line_is_right,
        first=2,
        repeats=True,
    ),
    Operation(
        "create, in line",
        Caller.CLIENT,
        (*_SLOT, "PutItem task", *_TURN, "Query round", "PutItem task"),
        arrange_create_in_line,
        line_is_right,
        first=3,
        repeats=True,
        executions=2,
    ),
    Operation(
        "end, and the next in line begins",
        Caller.EVENTBRIDGE,
        (*_ENDED, "TransactGetItems line", "Query round", "TransactWriteItems line", *_CALLED),
        arrange_end_of_turn,
        lambda site: [*ends_are_recorded(site), *line_is_right(site)],
        first=3,
        executions=2,
    ),
    Operation(
        "cancel in line",
        Caller.CLIENT,
        (*_ENDED, *_TURN),
        arrange_cancel_in_line,
        line_is_right,
        first=3,
        executions=3,
    ),
    Operation(
        "expiry in line",
        Caller.STREAM,
        (*_TURN, "UpdateItem usage"),
        arrange_expire_in_line,
        line_is_right,
        last=1,
    ),
    Operation(
        "get, in line",
        Caller.CLIENT,
        ("GetItem task", "TransactGetItems line", *_MENDED, "GetItem line", "Query round", "PutItem task"),
        arrange_look_in_line,
        line_is_right,
        first=1,
        executions=2,
    ),
    Operation(
        "sweep, turn not given back",
        Caller.SCHEDULE,
        (
            *("Query lines", *_MENDED[:4], "GetItem task", _MENDED[4]),
            *("GetItem line", "Query round", "TransactWriteItems line", "GetItem line"),
            *(*_CALLED, "Query round", *QUERIES[-6:-1]),
        ),
        arrange_sweep_line,
        line_is_right,
        last=14,
        executions=2,
    ),
)
