"""The most expensive inputs of each function: `python -m benchmarks.worst_cases`, on Linux.

Each input has the maximum size that AWS allows, in the most expensive shape (`tests.worst`). The output is the CPU time
and the memory above that of the idle process, measured in a fork of the process.
"""

import logging
from collections import defaultdict
from typing import Final

from stepwire.json_text import write
from stepwire.schemas.validation import compile_ahead, violations_of
from tests.worst.inputs import inputs
from tests.worst.measuring import Taken, taken_by
from tests.worst.shapes import by_chance, known

ESCAPED: Final = 3
CHANCES: Final = 500
SEED: Final = 1


def main() -> None:
    """Print the most expensive input of each function."""
    logging.disable()
    taken = defaultdict[str, list[tuple[Taken, str]]](list)
    for one in (*known(), *by_chance(CHANCES, SEED)):
        schema = write(one.schema)
        compile_ahead(schema)
        cost = taken_by(lambda schema=schema, one=one: violations_of(schema, one.value))
        taken["any, checking a value"].append((cost, one.name))
    for one in inputs():
        taken[one.function].append((taken_by(one.act), one.name))
    print("| function | inputs | time | memory | input |\n|---|---|---|---|---|")  # noqa: T201 - what it is for
    for function, costs in taken.items():
        slowest = sorted(costs, key=lambda cost: -cost[0].seconds)[:ESCAPED]
        largest = sorted(costs, key=lambda cost: -cost[0].megabytes)[:ESCAPED]
        for cost, name in dict.fromkeys((*slowest, *largest)):
            row = (function, str(len(costs)), f"{cost.seconds * 1000:.0f} ms", f"{cost.megabytes:.0f} MB", name[:100])
            print(f"| {' | '.join(row)} |")  # noqa: T201


if __name__ == "__main__":
    main()
