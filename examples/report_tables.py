"""What the examples return, as tables for people. The rule: none of it is markup, for a file may say anything."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

Json = Mapping[str, Any]


def print_report(console: Console, report: Json) -> None:
    """Print a table of all columns, and one of those that have numbers, dates or text in them."""
    columns: list[Json] = report["columns"]
    short = f", {report['short_rows']} of them short" if report["short_rows"] else ""
    console.print(Text(f"{report['rows']} rows{short}, {len(columns)} columns ({report['source']})", style="bold"))
    console.print(_overview(columns))
    for title, section, table in (("Numbers", "numbers", _numbers), ("Dates", "dates", _dates)):
        having = [column for column in columns if section in column]
        if having:
            console.print(table(title, having))


def print_refund(console: Console, refund: Json) -> None:
    """Print what became of a refund."""
    table = Table(title="Refund", title_justify="left", title_style="bold", show_header=False)
    for name, value in refund.items():
        _add(table, name.replace("_", " "), value)
    console.print(table)


def _overview(columns: Iterable[Json]) -> Table:
    table = _table("Columns", "type", "missing", "distinct", "most frequent")
    for column in columns:
        missing = column["missing"]
        count = f"{missing['count']} ({missing['share']:.1%})" if missing["count"] else "-"
        _add(table, column["name"], column["type"], count, column["distinct"], _frequent(column))
    return table


def _frequent(column: Json) -> str:
    if not column["most_frequent"] or column["most_frequent"][0]["count"] == 1:
        return "-"
    return ", ".join(f"{entry['value']} ({entry['count']})" for entry in column["most_frequent"][:3])


def _numbers(title: str, columns: Iterable[Json]) -> Table:
    table = _table(title, "min", "p25", "median", "p75", "max", "mean", "std", "outliers")
    for column in columns:
        numbers = column["numbers"]
        quantiles = numbers["quantiles"]
        shown = (
            *(numbers["minimum"], quantiles["p25"], quantiles["p50"], quantiles["p75"], numbers["maximum"]),
            *(numbers["mean"], numbers.get("standard_deviation")),
        )
        _add(table, column["name"], *map(_short, shown), _outliers(numbers))
    return table


def _outliers(numbers: Json) -> str:
    outliers = numbers.get("outliers")
    if outliers is None:
        return "-"
    examples = ", ".join(map(_short, outliers["examples"]))
    return f"{outliers['count']}: {examples}" if outliers["count"] else "0"


def _dates(title: str, columns: Iterable[Json]) -> Table:
    table = _table(title, "earliest", "latest", "days")
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
