"""Count what turns cost, and how a flood delays others: `python -m benchmarks.lines [--update] [--calls N]`.

Calls and units are counted on the simulated DynamoDB, by its rules. The waits are of a simulated day of 4,000 calls
(`tests.simulated.day`): 50 callers, and one more who makes a twentieth of all calls within a minute at noon. With
--update, the tables go to docs/performance.md. With --calls N alone, only a day of so many calls passes: 100,000 take
some minutes.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from statistics import median, quantiles
from typing import Final

from msgspec.structs import replace

from benchmarks.cost import prices
from benchmarks.page import write_parts
from stepwire.catalog.tools import Concurrency
from stepwire.tasks.limits import Rules
from stepwire_local.account.engine import shared_account
from tests.kits import ALICE, OPTIONAL, OUTPUT, catalog_of
from tests.server.clients import ModernClient
from tests.server.neighbours import CountedWorld
from tests.simulated.day import MOST, Day, caller, seconds

WAITING: Final = 25
"""Runs that wait while is counted."""
CALLS: Final = 4_000

_LIMITED: Final = replace(OPTIONAL, name="limited", concurrency=Concurrency("limited", Rules(most=2)))
_ON_LINES: Final = ("line", "rank", "turn")


def costs() -> str:
    """Return the table of calls, units and dollars."""
    with shared_account():
        rows = _operations(CountedWorld())
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


def _operations(world: CountedWorld) -> Mapping[str, Iterable[str]]:
    """Do each operation, beside its like without a limit, and return what it has taken."""
    world.server = replace(world.server, services=replace(world.services, catalog=catalog_of(OPTIONAL, _LIMITED)))
    client, tasks = ModernClient(world), list[str]()
    without = _counted(world, lambda: tasks.append(client.start("optional")))
    plain_end = _counted(world, lambda: world.succeed(tasks.pop(), OUTPUT))
    at_once = _counted(world, lambda: tasks.append(client.start("limited")))
    tasks.append(client.start("limited"))
    waiting = client.start("limited")
    for number in range(WAITING - 1):
        ModernClient(world, caller(number)).start("limited")
        world.clock.advance(seconds=1)
    in_line = _counted(world, lambda: tasks.append(client.start("limited")))
    handed = _counted(world, lambda: world.succeed(tasks[0], OUTPUT))
    world.clock.time += world.intervals.repair
    world.operations.get(ALICE, waiting)  # mends the line, once a minute for all
    return {
        "call, without a limit": without,
        "call that begins at once": at_once,
        f"call that waits, behind {WAITING}": in_line,
        "look at a task that waits, once in its interval": _counted(world, lambda: client.task("get", tasks[-1])),
        "end, without a limit": plain_end,
        "end that hands its turn to the next, which begins": handed,
        "cancel in line": _counted(world, lambda: client.task("cancel", tasks[-1])),
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
