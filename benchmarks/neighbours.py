"""Measure how a caller at every limit slows down a normal caller: `python -m benchmarks.neighbours`.

Each round runs three stacks in sequence in one process: the normal caller alone; beside a noisy caller, which exceeds
every limit before each request of the normal one (`tests.server.neighbours`); and with the noisy caller in another
stack. Requests run one at a time. So the measurement shows the cost of shared state (the table, the memory of an
instance, the slots for waiting), not contention for the CPU of this process: in AWS, each concurrent request has
its own instance. The ratio compares noise in the same stack with noise in another one, which cools the CPU caches
equally and shares nothing. The time is that of the server and of the simulated DynamoDB, which scans its whole table
for a query (tasks/list); the calls and units are those that DynamoDB would charge.
"""

import gc
import logging
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from stepwire_local.account.engine import shared_account
from tests.server.neighbours import Noise, Stack, Taken

ROUNDS: Final = 20
ALL: Final = "all"


def main() -> None:
    """Print the tables."""
    logging.disable()
    taken: dict[Noise, list[Taken]] = {noise: [] for noise in Noise}
    with shared_account():
        stacks = {noise: Stack(noise) for noise in Noise}
        gc.disable()  # a collection would fall on the same requests in each round
        for _ in range(ROUNDS):
            gc.collect()
            for noise, stack in stacks.items():
                taken[noise] += stack.run_round()
    found = {noise: _by_request(each) for noise, each in taken.items()}
    _print("milliseconds, median", [noise.value for noise in Noise] + ["ratio"], _times(found))
    _print("calls, items read, read units, write units", [noise.value for noise in Noise], _costs(found))


def _times(found: Mapping[Noise, Mapping[str, Sequence[Taken]]]) -> Mapping[str, Sequence[str]]:
    rows: dict[str, Sequence[str]] = {}
    for name in found[Noise.NONE]:
        times = {noise: _milliseconds(each[name]) for noise, each in found.items()}
        ratio = times[Noise.HERE] / times[Noise.ELSEWHERE]
        rows[name] = [f"{one:.2f}" for one in (*times.values(), ratio)]
    return rows


def _costs(found: Mapping[Noise, Mapping[str, Sequence[Taken]]]) -> Mapping[str, Sequence[str]]:
    return {name: [_cost(each[name]) for each in found.values()] for name in found[Noise.NONE]}


def _print(title: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> None:
    lines = [f"{name:<44}" + "".join(f"{one:>22}" for one in row) for name, row in {title: columns, **rows}.items()]
    sys.stdout.write("\n".join((*lines, "", "")))


def _by_request(taken: Sequence[Taken]) -> Mapping[str, Sequence[Taken]]:
    found = defaultdict[str, list[Taken]](list)
    for one in taken:
        found[one.request].append(one)
        found[ALL].append(one)
    return found


def _milliseconds(taken: Sequence[Taken]) -> float:
    return median(one.seconds for one in taken) * 1000


def _cost(taken: Sequence[Taken]) -> str:
    calls = [call for one in taken for call in one.calls]
    sums = (len(calls), *(sum(getattr(call, name) for call in calls) for name in ("items", "read", "written")))
    return ", ".join(str(one) for one in sums)


if __name__ == "__main__":
    main()
