"""The tables of docs/cost.md, computed from simulations."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from benchmarks.cost import idle, prices
from benchmarks.cost.prices import HOURS, Quota
from benchmarks.cost.simulation import TASKS, Assumptions, Client, Usage, as_hinted, as_streamed, every, simulate
from benchmarks.scale.counting import counted_tasks
from stepwire.aws.storage.items import LARGEST_PART

DURATIONS: Final = {"10 s": 10.0, "1 min": 60.0, "10 min": 600.0, "1 h": 3_600.0, "1 day": 86_400.0}
HINTED: Final = Client("as hinted", as_hinted)
CLIENTS: Final = (
    Client("0.2 s", every(0.2)),
    Client("1 s", every(1)),
    Client("5 s", every(5)),
    HINTED,
    Client("30 s", every(30)),
    Client("as hinted, 2025-11-25 (and tasks/result)", as_hinted, fetches=True),
    Client("plain call by SSE polling, 2025-11-25", as_streamed, streams=True),
)
RATES: Final = (10, 1_000, 100_000)  # tasks an hour
PEAK: Final = 3  # times the average
METRICS_IN_USE: Final = 1  # FoundByChecks, which has data in each hour in which a task ends
WITH_MORE: Final[Mapping[str, Mapping[str, Any]]] = {
    "the defaults": {},
    "`POLLS_PER_LOG_LINE=1`": {"polls_per_line": 1},
    "`MetricsDashboard=on`, Lambda's lines": {"platform_lines": 600},
    "`MetricsDashboard=tools`, the bytes of its lines": {"audit_line": 400, "platform_lines": 600},
    "`McpMemory=256`": {"memory": 256},
    "`McpMemory=1024`": {"memory": 1024},
    "`STATE_AFTER_SECONDS=0`": {"state_after": 0},
}
"""What a parameter changes of the assumptions."""
IDLE_HOSTS: Final = {
    "sends nothing, as most do": 0,
    "ten requests in ten minutes, the most that a hint asks for": 1_440,
    "listens again and again, as Agent Framework does where `listChanged` is claimed": 62_352,
}
"""Requests a day."""
RESULTS: Final = {"10 KB": 10_000, "100 KB": 100_000, "400 KB": LARGEST_PART, "500 KB": 500_000, "2 MB": 2_000_000}
"""Bytes of a result, as it is stored: with the value as text and structured."""
GB: Final = 1e9
DAYS_OF_AN_ITEM: Final = 7  # the `ttl` that a tool has by default
DAYS_OF_AN_OBJECT: Final = 31  # whatever the `ttl`
OPEN_TASKS: Final = ((100, 100), (250, 250), (1_000, 1_000), (5_000, 10_000), (10_000, 10_000))
"""Of one caller, and its `MostActiveTasks`."""
WRITES_OF_A_PARTITION: Final = 1_000  # a second


@cache
def used(seconds: float, client: Client) -> Usage:
    """Return the usage of a thousand tasks; each simulation runs once."""
    return simulate(seconds, client)


def costs() -> str:
    """Return the cost of a thousand tasks by duration and kind of polling, without the workflow itself."""
    rows = [
        [client.name, *(f"{_without_workflow(used(seconds, client)):.2f}" for seconds in DURATIONS.values())]
        for client in CLIENTS
    ]
    return table(["polled", *DURATIONS], rows)


def parts() -> str:
    """Return the cost of a thousand tasks by service, for clients that follow the poll hint."""
    found = {name: used(seconds, HINTED) for name, seconds in DURATIONS.items()}
    services = list(found["10 s"].dollars())
    rows = [[service, *(f"{usage.dollars()[service]:.3f}" for usage in found.values())] for service in services]
    rows.append(["polls of a task", *(f"{_polls(usage):.0f}" for usage in found.values())])
    return table(["US dollars", *DURATIONS], rows)


def peers() -> str:
    """Compare ten-minute tasks, polled as hinted, with always-on designs, without the work itself."""
    each = _without_workflow(used(600, HINTED)) / TASKS
    rows = [
        [
            f"{rate:,}",
            f"{fixed_a_month() + each * rate * HOURS:,.2f}",
            *(f"{cost:,.2f}" for cost in always_on().values()),
        ]
        for rate in RATES
    ]
    rows.append(["0", f"{idle.total():,.2f}", *(f"{cost:,.2f}" for cost in always_on().values())])
    break_even = [f"{(cost - fixed_a_month()) / (each * HOURS):,.0f}" for cost in always_on().values()]
    rows.append(["as much as Stepwire at", "", *break_even])
    return table(["tasks an hour", "Stepwire", *always_on()], rows)


def fixed_a_month() -> float:
    """Return the monthly cost of a stack in use, without its tasks; a metric is billed for the hours with data."""
    return idle.total() + prices.METRIC.of(METRICS_IN_USE)


def when_idle() -> str:
    """Return the monthly cost when nobody calls, by part, with the defaults and with everything on."""
    least, most = idle.parts(), idle.parts(**idle.MOST)
    rows = [[part, f"{least[part]:.2f}", f"{most[part]:.2f}"] for part in least]
    rows.append(["in all", f"{sum(least.values()):.2f}", f"{sum(most.values()):.2f}"])
    return table(["US dollars a month", "the defaults", "everything on"], rows)


def idle_hosts() -> str:
    """Return the monthly cost of one connected host that has nothing to do, by how often it comes back."""
    rows = [[name, f"{a_day:,}", f"{idle.of_requests(a_day):,.2f}"] for name, a_day in IDLE_HOSTS.items()]
    return table(["a connected host that does nothing", "requests a day", "US dollars a month"], rows)


def choices() -> str:
    """Return the cost of a thousand ten-minute tasks, polled as hinted, by parameter."""
    rows = [[name, f"{_of_ten_minutes(Assumptions(**changed)):.3f}"] for name, changed in WITH_MORE.items()]
    return table(["a thousand tasks of ten minutes, polled as hinted", "US dollars"], rows)


def _of_ten_minutes(assumed: Assumptions) -> float:
    return _without_workflow(simulate(600, HINTED, assumed))


def always_on() -> Mapping[str, float]:
    """Return the monthly cost of always-on designs at their smallest size, without the work of tasks."""
    container = prices.FARGATE_CPU.of(0.5 * HOURS) + prices.FARGATE_MEMORY.of(1 * HOURS)
    balancer = prices.BALANCER.of(HOURS)
    return {
        "one process, tasks in its memory": container + balancer,
        "two servers, a worker, Redis": 3 * container + balancer + prices.REDIS.of(HOURS),
    }


def results() -> str:
    """Return the cost of a thousand results by size: in an item of the table, or in the bucket of the stack."""
    rows = [[name, *_of_results(size)] for name, size in RESULTS.items()]
    return table(["a result of", "kept in", "written", "read once", "kept: 7 days, in S3 31"], rows)


def _of_results(size: int) -> Sequence[str]:
    days_of_gigabytes = TASKS * size / GB / 30
    if size > LARGEST_PART:
        kept = prices.OBJECTS.of(DAYS_OF_AN_OBJECT * days_of_gigabytes)
        dollars = (prices.PUT_OBJECT.of(TASKS), prices.GET_OBJECT.of(TASKS), kept)
    else:
        written, read = TASKS * math.ceil(size / 1_024), TASKS * math.ceil(size / 4_096)
        kept = prices.ITEMS.of(DAYS_OF_AN_ITEM * days_of_gigabytes)
        dollars = (prices.WRITE.of(written), prices.READ.of(read), kept)
    return ("S3" if size > LARGEST_PART else "DynamoDB", *(f"{one:.4f}" for one in dollars))


def one_caller() -> str:
    """Return what it takes to count the open tasks of one caller, and what its partition allows."""
    counted = [(f"{count:,} of {most:,}", counted_tasks(count, most)) for count, most in OPEN_TASKS]
    rows = [
        [name, f"{one.written:.0f}", f"{one.read:.0f}", f"{WRITES_OF_A_PARTITION / one.written:.0f}"]
        for name, one in counted
    ]
    titles = ["open tasks, of `MostActiveTasks`", "write units a task", "read units", "tasks a second, at most"]
    return table(titles, rows)


@dataclass(frozen=True)
class Load:
    """The peak demand of a load on one quota."""

    quota: Quota
    needed: float

    @property
    def share(self) -> float:
        """Return the demand as a share of the quota."""
        return self.needed / self.quota.most


def loads(rate: float, seconds: float = 600, client: Client = HINTED) -> list[Load]:
    """Return the demand on each quota at an hourly rate of tasks, the scarcest quota first."""
    return demand(used(seconds, client), PEAK * rate / 3_600 / TASKS, seconds)


def demand(usage: Usage, a_second: float, seconds: float) -> list[Load]:
    """Return the demand on each quota of so many thousands of tasks a second, the scarcest quota first."""
    needed = {
        prices.REQUESTS: usage.requests * a_second,
        prices.CONCURRENCY: usage.seconds * a_second,
        prices.STARTS: usage.calls("StartExecution") * a_second,
        prices.HISTORIES: usage.calls("GetExecutionHistory") * a_second,
        prices.DESCRIPTIONS: usage.calls("DescribeExecution") * a_second,
        prices.TRANSITIONS: usage.transitions * a_second,
        prices.OPEN: TASKS * seconds * a_second,
        prices.WRITES: usage.written * a_second,
        prices.READS: usage.read * a_second,
    }
    return sorted((Load(quota, amount) for quota, amount in needed.items()), key=lambda load: -load.share)


def quotas() -> str:
    """Return the quotas that bind first for ten-minute tasks, polled as hinted, at three times the average rate."""
    order = [load.quota for load in loads(RATES[-1])]
    needed = {rate: {load.quota: load for load in loads(rate)} for rate in RATES}
    rows = [
        [
            quota.name,
            f"{quota.most:,.0f} {quota.unit}",
            *(shown(needed[rate][quota]) for rate in RATES),
            quota.raise_it,
        ]
        for quota in order
    ]
    return table(["quota", "default", *(f"{rate:,} tasks an hour" for rate in RATES), "what helps"], rows)


def snapstart() -> str:
    """Return the monthly cost of SnapStart by the number of instance starts."""
    assumed = Assumptions()
    gigabytes = assumed.memory / 1024
    kept = prices.SNAPSHOT_KEPT.of(gigabytes * HOURS * 3_600)
    rows = [
        [f"{starts:,}", f"{kept + prices.SNAPSHOT_RESTORED.of(gigabytes * starts):,.2f}"]
        for starts in (0, 1_000, 100_000)
    ]
    return table(["starts of instances a month", "US dollars for one version"], rows)


def listed() -> str:
    """Return the table of prices."""
    rows = [
        [name, f"{price.dollars:.10g}", f"{price.per:,.0f} {price.unit}", price.source]
        for name, price in prices.PRICES.items()
    ]
    return table([f"price, {prices.AS_OF}", "US dollars", "for", "source"], rows)


def shown(load: Load) -> str:
    """Return a demand and its share of the quota, in bold if it is more."""
    text = f"{load.needed:,.1f} ({load.share:.0%})"
    return f"**{text}**" if load.share > 1 else text


def _without_workflow(usage: Usage) -> float:
    return sum(cost for service, cost in usage.dollars().items() if service != "Step Functions")


def _polls(usage: Usage) -> float:
    return (usage.requests - usage.tasks) / usage.tasks


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "costs": costs,
    "choices": choices,
    "idle": when_idle,
    "idle hosts": idle_hosts,
    "parts": parts,
    "peers": peers,
    "quotas": quotas,
    "snapstart": snapstart,
    "results": results,
    "one caller": one_caller,
    "prices": listed,
}
