"""What a caller at every limit costs another who works: `python -m benchmarks.neighbours`.

Each round runs three stacks one after another in one process: the worker alone; beside a caller who goes beyond every
limit before each request of the worker (`tests.server.neighbours`); and with the same caller in another stack. The
requests come one after another, so that what is measured is what shared state costs (the table, the memory of an
instance, the places to wait), and not how threads contend for the processor of this one process: in AWS, each request
has an instance of its own at that moment. The ratio is that of the noise here to the noise elsewhere, which leaves the
processor's caches as cold and shares nothing. The time is that of the server and of the simulated DynamoDB, which goes
through its whole table for a query (tasks/list); the calls and units are those that DynamoDB would charge.
"""

import gc
import logging
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from local.engine import shared_account
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
