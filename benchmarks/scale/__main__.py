"""Print the tables of docs/performance.md, section Scale. With --update, write them; --measure adds cold starts."""

import argparse

from benchmarks.page import write_parts
from benchmarks.scale.catalogs import measured
from benchmarks.scale.pages import COUNTED, catalogs


def main() -> None:
    """Print the tables, or write them too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--measure", action="store_true", help="measure what 500 tools add, for half a minute")
    parser.add_argument("--update", action="store_true", help="write docs/performance.md")
    options = parser.parse_args()
    tables = {name: table() for name, table in COUNTED.items()}
    if options.measure:
        tables["500 tools"] = catalogs(measured())
    print("\n".join(tables.values()))
    if options.update:
        write_parts(tables, {})


if __name__ == "__main__":
    main()
