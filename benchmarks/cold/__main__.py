"""Measure cold starts: `python -m benchmarks.cold`. With --update, write docs/performance.md and its plots."""

import argparse

from benchmarks.cold.pages import table, update
from benchmarks.cold.rounds import measure

ROUNDS = 15


def main() -> None:
    """Print the tables, or write them too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds that count (default: {ROUNDS})")
    parser.add_argument("--only", default="", help="measure only requests whose name contains this")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    parser.add_argument("--update", action="store_true", help="write docs/performance.md and its plots")
    options = parser.parse_args()
    found = measure(options.rounds, lambda request: options.only in request.name, has_peers=not options.ours)
    print("\n".join(table(request, results) for request, results in found.values()))
    if options.update:
        update(found, options.rounds)


if __name__ == "__main__":
    main()
