"""Put a load on the local stack, and check that nothing is lost: `python -m tools.load`.

The exit code is 1 if a check fails; each violation is printed. The tables show times and resources.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import ceil

from tools.load.clients import Request
from tools.load.run import Figures, Phase, Plan, run
from tools.load.site import Call
from tools.load.verdict import faults

_MOST_SHOWN = 20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    plan = _plan(arguments)
    print(f"{plan.tasks} tasks of {plan.clients} clients, {plan.tasks_of_each} each\n", flush=True)
    seen, figures = run(plan)
    print(*_tables(plan, figures), sep="\n")
    found = faults(seen)
    print("", *found[:_MOST_SHOWN], f"{len(found)} faults" if found else "Nothing was lost.", sep="\n")
    return 1 if found else 0


def _plan(arguments: Sequence[str] | None) -> Plan:
    usual = Plan()
    parser = argparse.ArgumentParser(prog="python -m tools.load", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", type=int, default=usual.tasks, help="in flight at the same time (%(default)s)")
    parser.add_argument("--clients", type=int, default=usual.clients, help="that share them evenly (%(default)s)")
    parser.add_argument("--steady", type=float, default=usual.steady, help="seconds of polls alone (%(default)s)")
    parser.add_argument("--patience", type=float, default=usual.patience, help="seconds for a phase (%(default)s)")
    parser.add_argument("--lose", type=int, default=0, help="so many ends are never told of; to see that it is noticed")
    options = parser.parse_args(arguments)
    if options.clients < 1 or options.tasks < options.clients or options.tasks % options.clients:
        parser.error("--tasks must be a multiple of --clients")
    return Plan(options.tasks, options.clients, options.steady, options.patience, options.lose)


def _tables(plan: Plan, figures: Figures) -> Iterator[str]:
    yield "| phase | seconds | requests/s | processors that the stack used | of that Stepwire |"
    yield "|---|---:|---:|---:|---:|"
    for phase in figures.phases:
        rate = len(_within(phase, figures.requests)) / _length(phase)
        used, share = phase.cpu_seconds / _length(phase), phase.own_seconds / phase.cpu_seconds
        yield f"| {phase.name} | {_length(phase):.1f} | {rate:.0f} | {used:.2f} | {share:.1%} |"
    yield "\n| request | number | p50 ms | p95 ms | p99 ms | longest ms |\n|---|---:|---:|---:|---:|---:|"
    for method, some in groupby(sorted(figures.requests, key=_method), _method):
        times = sorted(request.seconds * 1000 for request in some)
        shown = " | ".join(f"{_percentile(times, share):.0f}" for share in (50, 95, 99, 100))
        yield f"| {method} | {len(times)} | {shown} |"
    yield "\n| function | calls of AWS | which |\n|---|---:|---|"
    for function, some in groupby(sorted(figures.calls, key=_function), _function):
        which = Counter(call.operation for call in some)
        shown = ", ".join(f"{operation} {count}" for operation, count in which.most_common())
        yield f"| {function} | {which.total()} | {shown} |"
    yield from ("", *_summary(plan, figures))


def _summary(plan: Plan, figures: Figures) -> Iterator[str]:
    creation, steady, end = figures.phases
    polls = len(_within(steady, figures.requests)) / _length(steady)
    by_requests = sum(call.function == "McpFunction" for call in figures.calls)
    recorded = max(call.at for call in figures.calls if call.function == "ExecutionEventsFunction")
    statuses = Counter(request.status for request in figures.requests)
    told = ", ".join(f"{count} of HTTP {status}" for status, count in sorted(statuses.items()))
    yield f"creations: {plan.tasks / _length(creation):.1f}/s, beside the polls of what is there"
    yield f"polls, with all open: {polls:.1f}/s"
    yield f"calls of AWS: {by_requests / len(figures.requests):.2f} a request"
    yield f"calls of AWS, with those of events and questions: {len(figures.calls) / plan.tasks:.1f} a task"
    yield f"until the last end was recorded: {recorded - end.begun:.1f} s; until all clients knew: {_length(end):.1f} s"
    own, used = (sum(map(seconds, figures.phases)) for seconds in (_own_seconds, _cpu_seconds))
    yield f"Stepwire's own code took {own:.1f} of {used:.1f} s of the stack's CPU time: {own / used:.1%}"
    yield f"memory of the stack, at most: {figures.end.peak_megabytes:.0f} MB"
    yield f"threads of the stack, with all open: {figures.peak.threads}"
    yield f"answers: {told}; 429: {statuses[429]}"


def _within(phase: Phase, requests: Iterable[Request]) -> list[Request]:
    return [request for request in requests if phase.begun <= request.answered_at < phase.ended]


def _length(phase: Phase) -> float:
    return phase.ended - phase.begun


def _method(request: Request) -> str:
    return request.method


def _function(call: Call) -> str:
    return call.function


def _own_seconds(phase: Phase) -> float:
    return phase.own_seconds


def _cpu_seconds(phase: Phase) -> float:
    return phase.cpu_seconds


def _percentile(times: Sequence[float], share: int) -> float:
    return times[ceil(len(times) * share / 100) - 1]


if __name__ == "__main__":
    sys.exit(main())
