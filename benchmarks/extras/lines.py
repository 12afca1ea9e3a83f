"""Count what turns cost, and how a flood delays others: `python -m benchmarks.extras.lines [--update] [--calls N]`.

Calls and units are counted on the simulated DynamoDB, by its rules, in a short line and in one of 10,000, which takes
two minutes because moto copies a table for each part of a transaction. The waits are of a simulated day of 4,000 calls
(`tests.extras.lines.day`): 50 callers, and one more who makes a twentieth of all calls within a minute at noon. With
--update, the tables go to docs/performance.md. With --calls N alone, only a day of so many calls passes: 100,000 take
some minutes.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from statistics import median, quantiles
from typing import Any, Final, TypeAlias, cast

from msgspec.structs import replace

from benchmarks.cost import prices
from benchmarks.page import write_parts
from stepwire.aws.storage.table import Table
from stepwire.codec import MILLISECOND
from stepwire.extras.lines.limits import Concurrency, Rules, line_key
from stepwire.extras.lines.rules import MEND_PAUSE, Asking, Change, Line, Place, Share, Ticket, joined
from stepwire.extras.lines.storage import DynamoDbLines
from stepwire.tasks.ids import TaskId
from stepwire.tasks.task import Execution
from stepwire_local.account.engine import shared_account
from tests.extras.lines.day import MOST, Day, caller, seconds
from tests.kits import EXECUTION_PREFIX, OPTIONAL, OUTPUT, catalog_of, keeping, state_machine_arn
from tests.server.clients import ModernClient
from tests.server.neighbours import CountedWorld

WAITING: Final = 25
"""Runs that wait while is counted."""
CROWD: Final = 10_000
"""Runs that wait in the longest line for which the table is made."""
_CALLERS: Final = 500
"""Whose runs wait in the longest line."""
CALLS: Final = 4_000

_RULES: Final = Rules(most=2, waiting=2 * CROWD)
_LIMITED: Final = keeping(replace(OPTIONAL, name="limited"), lines=Concurrency("limited", _RULES))
_ON_LINES: Final = ("line", "round", "turn")
Rows: TypeAlias = Mapping[str, Iterable[str]]
"""What operations have taken, by what they are called."""


def costs() -> str:
    """Return the table of calls, units and dollars."""
    with shared_account():
        crowded = CountedWorld()
        rows = {
            **_operations(CountedWorld()),
            **_in_line(crowded, _client(crowded), CROWD, lambda: _crowd(crowded)),
        }
    return _table(
        (
            "operation",
            "calls of DynamoDB",
            "read units",
            "write units",
            "of these, of the line",
            "US dollars a thousand",
        ),
        ((name, *counted) for name, counted in rows.items()),
    )


def _client(world: CountedWorld) -> ModernClient:
    """Return a client of a server with one tool with a limit and one without."""
    world.server = replace(world.server, services=replace(world.services, catalog=catalog_of(OPTIONAL, _LIMITED)))
    return ModernClient(world)


def _operations(world: CountedWorld) -> Rows:
    """Do each operation, beside its like without a limit, and return what it has taken."""
    client = _client(world)
    tasks = list[str]()
    without = _counted(world, lambda: tasks.append(client.start("optional")))
    plain_end = _counted(world, lambda: world.succeed(tasks.pop(), OUTPUT))
    at_once = _counted(world, lambda: tasks.append(client.start("limited")))
    world.succeed(tasks[0], OUTPUT)
    return {
        "call, without a limit": without,
        "call that begins at once": at_once,
        "end, without a limit": plain_end,
        **_in_line(world, client, WAITING, lambda: _wait(world)),
    }


def _wait(world: CountedWorld) -> None:
    """Let callers wait, each with one call."""
    for number in range(WAITING - 2):
        ModernClient(world, caller(number)).start("limited")
        world.clock.advance(seconds=1)


def _crowd(world: CountedWorld) -> None:
    """Let thousands of runs wait. Only their places are written: nobody asks for their tasks."""
    key, at, table = line_key(_LIMITED.name), world.clock.now(), cast(DynamoDbLines, world.lines).table
    lines = DynamoDbLines(Table(table.name, lambda: cast(Any, _Parts(table.client))))
    for number in range(_CALLERS):
        line, owner = lines.line(key) or Line("", _RULES), caller(number)
        after, share, places = line, Share(), list[Place]()
        for call in range(number, CROWD - 3, _CALLERS):
            task_id = TaskId(f"{call:035}")
            execution = Execution(state_machine_arn("Optional"), f"{EXECUTION_PREFIX}{owner[:26]}-{task_id}")
            asking = Asking(Ticket(owner, task_id), execution, at + timedelta(days=1))
            change = joined(after, asking, share, at + (call + 1) * MILLISECOND)
            after, share, places = change.line, change.share or share, [*places, *change.joins]
        lines.change(key, line, Change(after, joins=tuple(places), share=share), at)
    world.clock.time += CROWD * MILLISECOND + timedelta(seconds=1)


class _Parts:
    """Writes each part of a transaction by itself: moto copies the whole table for each."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.get_item = client.get_item

    def transact_write_items(self, **given: Any) -> None:
        """Put each item."""
        for part in given["TransactItems"]:
            self._client.put_item(TableName=part["Put"]["TableName"], Item=part["Put"]["Item"])


def _in_line(world: CountedWorld, client: ModernClient, waiting: int, wait: Callable[[], None]) -> Rows:
    """Do each operation of a line in which so many wait, and return what it has taken."""
    running, _, _, other = (client.start("limited") for _ in range(4))
    wait()
    last = list[str]()
    called = _counted(world, lambda: last.append(client.start("limited")))
    handed = _counted(world, lambda: world.succeed(running, OUTPUT))
    world.clock.time += max(world.intervals.repair, MEND_PAUSE)
    mended = _counted(world, lambda: client.task("get", other))
    return {
        f"call that waits, behind {waiting:,}": called,
        f"end that hands its turn to the next of {waiting:,}, which begins": handed,
        f"poll of one of {waiting:,}, which also repairs their line, once a minute for all of them": mended,
        f"poll of the last of {waiting:,}, once in its interval": _counted(world, lambda: client.task("get", last[0])),
        f"cancel of the last of {waiting:,}": _counted(world, lambda: client.task("cancel", last[0])),
    }


def _counted(world: CountedWorld, act: Callable[[], object]) -> tuple[str, ...]:
    """Return the calls and units of an act, and what a thousand of it cost."""
    world.counted.clear()
    act()
    calls = [one for one in world.counted if one.operation != "StartExecution"]
    read, written = sum(one.read for one in calls), sum(one.written for one in calls)
    of_line = [one for one in calls if one.subject in _ON_LINES]
    dollars = 1_000 * (prices.READ.of(read) + prices.WRITE.of(written))
    on_line = f"{sum(one.read for one in of_line)} and {sum(one.written for one in of_line)}"
    return str(len(calls)), str(read), str(written), on_line, f"{dollars:.4f}"


def waits(calls: int = CALLS) -> str:
    """Return what happened on a day, and how long calls waited, while nobody and while one caller floods the line.

    Raises:
        AssertionError: somebody still waits after the day, or a turn has not come back.
    """
    day = Day(calls, seed=1)
    day.run()
    if day.line.waiting or day.turns_left() < MOST:
        raise AssertionError(f"somebody or a turn is forgotten: {day.line}")
    said = (
        f"{calls:,} calls; of the events of their ends {day.lost:,} were lost and {day.doubled:,} came twice; "
        f"{day.died:,} processes died; {day.cancelled:,} calls were cancelled in line. At most {day.most_running} "
        f"executions ran at once, of {MOST} that may.\n\n"
    )
    return said + _waits_of(day)


def _waits_of(day: Day) -> str:
    unit = day.lasts.total_seconds()
    found = {
        "the others, all day": seconds(day.waits.others),
        "the others, in the half hour after the flood began": seconds(day.waits.in_flood),
        "the flood": seconds(day.waits.flooding),
    }
    return _table(
        ("whose calls", "calls", "median wait", "95 of 100 wait at most", "longest wait"),
        (
            (
                name,
                f"{len(some):,}",
                *(f"{wait / unit:.1f}" for wait in (median(some), quantiles(some, n=20)[-1], max(some))),
            )
            for name, some in found.items()
        ),
    )


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *(list(row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> None:
    """Print what was found, and write it into the page if that is asked for."""
    if "--calls" in sys.argv:
        parts = {"a long day": waits(int(sys.argv[sys.argv.index("--calls") + 1]))}
    else:
        parts = {"turns": costs(), "a flood": waits()}
    for part in parts.values():
        sys.stdout.write(f"{part}\n")
    if "--update" in sys.argv:
        write_parts(parts, {})


if __name__ == "__main__":
    main()
