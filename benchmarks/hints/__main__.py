"""Compare poll hints for recorded durations: `python -m benchmarks.hints`. With --update, write docs/performance.md."""

import argparse
from collections.abc import Mapping, Sequence

from benchmarks.hints.durations import RecordedTool, recorded
from benchmarks.hints.hints import HINTS
from benchmarks.hints.pages import PLOT, plot, table
from benchmarks.hints.simulation import Comparison, compare
from benchmarks.page import write_parts


def main() -> None:
    """Print the tables, or write them too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--update", action="store_true", help="write docs/performance.md and the plot")
    is_updated = parser.parse_args().update
    compared = {name: [compare(hint, some) for hint in HINTS] for name, some in groups().items()}
    print(tables(compared))
    if is_updated:
        write_parts({"poll hints": f"{tables(compared)}\n![poll hints](assets/{PLOT})\n"}, {PLOT: plot(compared)})


def groups() -> Mapping[str, Sequence[RecordedTool]]:
    """Return the recorded tools, as they are compared."""
    found = recorded()
    return {
        f"All {len(found.programs) + len(found.workflows)} tools": [*found.programs, *found.workflows],
        f"The {len(found.programs)} programs": found.programs,
    }


def tables(compared: Mapping[str, Sequence[Comparison]]) -> str:
    """Return a table for each group."""
    return "\n".join(table(name, some) for name, some in compared.items())


if __name__ == "__main__":
    main()
