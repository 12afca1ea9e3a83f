"""Print the tables of docs/cost.md: `python -m benchmarks.cost`. With --update, write them to that file.

With names of tables, only these: `python -m benchmarks.cost --update idle peers`.
"""

import sys
from pathlib import Path

from benchmarks.cost.tables import TABLES

DOCUMENT = Path(__file__).parents[2] / "docs" / "cost.md"


def main() -> None:
    """Print tables, or write each between its markers."""
    wanted = [name for name in sys.argv[1:] if name != "--update"] or TABLES
    tables = {name: TABLES[name]() for name in wanted}
    if "--update" not in sys.argv[1:]:
        sys.stdout.write("\n".join(tables.values()))
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    for name, table in tables.items():
        before, _, rest = text.partition(f"<!-- {name} -->\n")
        _, _, after = rest.partition("<!-- end -->")
        text = f"{before}<!-- {name} -->\n{table}<!-- end -->{after}"
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
