"""Measure the local stack from a workflow's end to the client's knowing it: `python -m benchmarks.end_to_end`."""

import argparse

from benchmarks.end_to_end.measure import measure
from benchmarks.end_to_end.pages import PLOT, bars, table
from benchmarks.page import machine, write_parts

ROUNDS = 3


def main() -> None:
    """Print the table, or write it too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"16 tasks in each way (default: {ROUNDS})")
    parser.add_argument("--update", action="store_true", help="write docs/performance.md and the plot")
    options = parser.parse_args()
    delays = measure(options.rounds)
    print(table(delays))
    if options.update:
        shown = f"{machine()}; {options.rounds} rounds.\n\n{table(delays)}\n![end to end](assets/{PLOT})\n"
        write_parts({"end to end": shown}, {PLOT: bars(delays)})


if __name__ == "__main__":
    main()
