"""The tables of docs/performance.md, section Scale."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from benchmarks.cost import prices
from benchmarks.cost.prices import Quota
from benchmarks.cost.simulation import TASKS
from benchmarks.cost.tables import DURATIONS, HINTED, Load, demand, shown, table, used
from benchmarks.scale.counting import counted_tasks
from benchmarks.scale.sweeping import swept
from stepwire.aws.storage.items import SHARDS
from tests.template.chosen import stack

RATES: Final = (10, 100, 1_000)  # tasks a second
SECONDS: Final = 600  # of a task
MANY: Final = 100_000
LOST: Final = (0, 100, 1_000, 7_000)
OPEN_OF_ONE: Final = ((100, 100), (1_000, 1_000), (5_000, 10_000), (9_000, 10_000), (10_000, 10_000))
WRITES_OF_A_PARTITION: Final = 1_000  # units a second
READS_OF_A_PARTITION: Final = 3_000
_ASKED: Final = 2  # write units of a task in `usage`, for its count


def what_binds() -> str:
    """Return the demand on each quota by tasks a second, the scarcest quota first."""
    found = {rate: {one.quota: one for one in _loads(rate)} for rate in RATES}
    order = sorted(found[RATES[-1]].values(), key=lambda load: -load.share)
    rows = [
        [
            load.quota.name,
            f"{load.quota.most:,.0f} {load.quota.unit}",
            *(shown(found[rate][load.quota]) for rate in RATES),
            load.quota.raise_it,
        ]
        for load in order
    ]
    return table(["quota", "default", *(f"{rate:,} tasks a second" for rate in RATES), "what helps"], rows)


def _loads(rate: int) -> list[Load]:
    own = Quota(
        "RequestsPerSecond, a parameter",
        float(str(stack("iam").parameters["RequestsPerSecond"])),
        "a second",
        "the parameter, with RequestBurst",
        "template.yaml",
    )
    usual = demand(used(SECONDS, HINTED), rate / TASKS, SECONDS)
    return [*usual, Load(own, next(one.needed for one in usual if one.quota is prices.REQUESTS))]


def the_sweep(tasks: int = MANY) -> str:
    """Return what the sweep does for very many open tasks that nobody polls."""
    rows = [_swept(tasks, lost) for lost in LOST]
    return table(["ends lost", "all checked", "runs", *_CALLS, "throttled", "DescribeExecution a second"], rows)


_CALLS: Final = ("Query", "BatchGetItem", "ListExecutions", "DescribeExecution")


def _swept(tasks: int, lost: int) -> list[str]:
    found = swept(tasks, lost)
    minutes, asked = found.elapsed.total_seconds() / 60, found.calls["DescribeExecution"]
    counts = [f"{found.calls[name]:,}" for name in _CALLS]
    rate = asked / found.elapsed.total_seconds()
    return [f"{lost:,}", f"after {minutes:.1f} min", str(found.runs), *counts, str(found.throttled), f"{rate:.1f}"]


def polled() -> str:
    """Return what very many open tasks that are polled as hinted ask of the table and of its index."""
    index = len(SHARDS) * WRITES_OF_A_PARTITION
    titles = ["each runs for", "tasks a second", "reads, of 12,000", "writes, of 4,000", f"in the index, of {index:,}"]
    return table(titles, [_polled(name, index) for name in ("10 min", "1 h", "1 day")])


def _polled(name: str, index: int) -> list[str]:
    usage, rate = used(DURATIONS[name], HINTED), MANY / DURATIONS[name]
    each = rate / TASKS
    return [
        name,
        f"{rate:,.1f}",
        _bold(usage.read * each, prices.READS.most),
        _bold(usage.written * each, prices.WRITES.most),
        _bold(usage.index_written * each, index),
    ]


def one_principal() -> str:
    """Return what the open tasks of one principal ask of its partition, for tasks of ten minutes."""
    rows = [_of_one(count, most) for count, most in OPEN_OF_ONE]
    titles = [
        *("open tasks, of `MostActiveTasks`", "tasks a second", "reads, of 3,000", "writes, of 1,000"),
        *("to count a task: write units", "read units", "calls"),
    ]
    return table(titles, rows)


def _of_one(count: int, most: int) -> list[str]:
    usage, rate, counted = used(SECONDS, HINTED), count / SECONDS, counted_tasks(count, most)
    reads = rate * (usage.read / TASKS + counted.read)
    writes = rate * (usage.written / TASKS - _ASKED + counted.written)
    return [
        f"{count:,} of {most:,}",
        f"{rate:.1f}",
        _bold(reads, READS_OF_A_PARTITION),
        _bold(writes, WRITES_OF_A_PARTITION),
        f"{counted.written:.1f}",
        f"{counted.read:.1f}",
        f"{counted.calls:.2f}",
    ]


def _bold(needed: float, most: float) -> str:
    return f"**{needed:,.0f}**" if needed > most else f"{needed:,.0f}"


def catalogs(rows: Sequence[Sequence[str]]) -> str:
    """Return the table of what many tools add."""
    return table(["cold request", "floor", "3 tools", "500 tools", "added", "added, of the floor"], rows)


COUNTED: Final[Mapping[str, Callable[[], str]]] = {
    "what binds": what_binds,
    "the sweep": the_sweep,
    "polled": polled,
    "one principal": one_principal,
}
"""What is counted, and so the same everywhere."""
