"""Prints the examples' results as tables. The rule: their text is never interpreted as markup; it comes from a file."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

Json = Mapping[str, Any]

_WIDE: Final = 110  # columns of a terminal, which all of a report needs
_BORDER: Final = 3  # characters: a line, and a space on both sides of a cell
_MIN_FREQUENT: Final = 20  # characters of the most frequent values, however narrow the terminal
_FEW_QUANTILES: Final = {"min": "minimum", "median": "p50", "max": "maximum"}
_QUANTILES: Final = {
    "min": "minimum",
    "p25": "p25",
    "median": "p50",
    "p75": "p75",
    "max": "maximum",
    "mean": "mean",
    "std": "standard_deviation",
}


def print_report(console: Console, report: Json) -> None:
    """Print a table of all columns, and one of those that have numbers, dates or text in them."""
    columns: list[Json] = report["columns"]
    short = f", {report['short_rows']} of them short" if report["short_rows"] else ""
    console.print(Text(f"{report['rows']} rows{short}, {len(columns)} columns ({report['source']})", style="bold"))
    is_wide = console.width >= _WIDE
    console.print(_overview(columns, console.width))
    if numbers := [column for column in columns if "numbers" in column]:
        console.print(_numbers(numbers, _QUANTILES if is_wide else _FEW_QUANTILES))
    if dates := [column for column in columns if "dates" in column]:
        console.print(_dates(dates))


def print_refund(console: Console, refund: Json) -> None:
    """Print the result of a refund."""
    table = Table(title="Refund", title_justify="left", title_style="bold", show_header=False)
    for name, value in refund.items():
        _add(table, name.replace("_", " "), value)
    console.print(table)


def _overview(columns: Sequence[Json], width: int) -> Table:
    """Lay out the table of all columns in so many characters; the most frequent values get what the rest leaves."""
    table = _table("Columns", "type", "missing", "distinct")
    facts = [(column["name"], column["type"], _missing(column), column["distinct"]) for column in columns]
    headings = [str(column.header) for column in table.columns]
    widest = [max(map(len, map(str, cells))) for cells in zip(headings, *facts, strict=True)]
    left = max(width - sum(cells + _BORDER for cells in widest) - _BORDER - 1, _MIN_FREQUENT)
    table.add_column("most frequent", overflow="ellipsis", no_wrap=True, max_width=left)
    for column, cells in zip(columns, facts, strict=True):
        _add(table, *cells, _frequent(column, 3 if width >= _WIDE else 1))
    return table


def _missing(column: Json) -> str:
    missing = column["missing"]
    return f"{missing['count']} ({missing['share']:.1%})" if missing["count"] else "-"


def _frequent(column: Json, most: int) -> str:
    if not column["most_frequent"] or column["most_frequent"][0]["count"] == 1:
        return "-"
    return ", ".join(f"{entry['value']} ({entry['count']})" for entry in column["most_frequent"][:most])


def _numbers(columns: Iterable[Json], names: Mapping[str, str]) -> Table:
    table = _table("Numbers", *names, "outliers")
    for column in columns:
        numbers = column["numbers"]
        known = {**numbers["quantiles"], **{name: value for name, value in numbers.items() if name != "quantiles"}}
        _add(table, column["name"], *(_short(known.get(key)) for key in names.values()), _outliers(numbers))
    return table


def _outliers(numbers: Json) -> str:
    outliers = numbers.get("outliers")
    if outliers is None:
        return "-"
    examples = ", ".join(map(_short, outliers["examples"]))
    return f"{outliers['count']}: {examples}" if outliers["count"] else "0"


def _dates(columns: Iterable[Json]) -> Table:
    table = _table("Dates", "earliest", "latest", "days")
    for column in columns:
        dates = column["dates"]
        _add(table, column["name"], dates["earliest"], dates["latest"], _short(dates["days"]))
    return table


def _short(number: float | None) -> str:
    return "-" if number is None else f"{number:.6g}"


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("column", *headings):
        table.add_column(heading, overflow="fold")
    return table


def _add(table: Table, *cells: object) -> None:
    table.add_row(*(Text(str(cell)) for cell in cells))
