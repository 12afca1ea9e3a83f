"""Text to table: the delimiter, the header, the rows. The rule: a file is read as said here, or refused.

- The first record is the header. A column is known by its position, so names may repeat; one without is `column_<n>`.
- Fields are quoted as RFC 4180 says; blanks around a value are no part of it; blank lines are no rows.
- A row with too few fields lacks the last ones: they are missing values, and the row is counted as short.
- A row with too many is refused, for nobody can say which of its values belongs where.
"""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import StringIO
from itertools import islice
from typing import Final

from . import limits
from .display import printable
from .errors import DatasetInvalid, DatasetTooLarge

DELIMITERS: Final = (",", ";", "\t", "|")
_SAMPLE_CHARACTERS: Final = 64 * 1024
_SAMPLE_RECORDS: Final = 50


@dataclass(frozen=True)
class Shape:
    """What a table is like without its values."""

    names: tuple[str, ...]
    rows: int
    short_rows: int


class Table:
    """A table that is read once, row by row."""

    def __init__(self, text: str, delimiter: str) -> None:
        self._reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
        self.names = self._header()

    def rows(self) -> Iterator[list[str]]:
        """Give the rows under the header, checked; a short one as it is.

        Raises:
            DatasetInvalid: a row is too long, or its quotes do not match.
            DatasetTooLarge: there are too many.
        """
        for number, row in enumerate(self._records(), start=1):
            if number > limits.ROWS:
                raise DatasetTooLarge(
                    f"The dataset has more than {limits.ROWS:,} rows. Profile a part or a sample of it."
                )
            if len(row) > len(self.names):
                raise DatasetInvalid(self._too_long(row))
            yield row

    def _header(self) -> tuple[str, ...]:
        header = next(self._records(), None)
        if header is None:
            raise DatasetInvalid("The dataset is empty. Its first line must name the columns.")
        if len(header) > limits.COLUMNS:
            raise DatasetTooLarge(
                f"The dataset has {len(header):,} columns; at most {limits.COLUMNS} can be profiled at once."
            )
        names = tuple(printable(name) or f"column_{position}" for position, name in enumerate(header, start=1))
        if any(len(name) > limits.NAME_CHARACTERS for name in names):
            raise DatasetInvalid(
                f"A column's name is longer than {limits.NAME_CHARACTERS} characters. "
                "The first line must name the columns."
            )
        return names

    def _records(self) -> Iterator[list[str]]:
        try:
            for record in self._reader:
                if record:
                    yield [value.strip() for value in record]
        except csv.Error as error:
            raise DatasetInvalid(f"Line {self._reader.line_num} is not CSV: {error}.") from error

    def _too_long(self, row: list[str]) -> str:
        return (
            f"The row that ends on line {self._reader.line_num} has {len(row)} fields, the header {len(self.names)}. "
            "Quote values that contain the delimiter, or name another delimiter."
        )


def find_delimiter(text: str) -> str:
    """Give the delimiter that makes the most regular table of the first records; of equals the first in DELIMITERS."""
    sample = text[:_SAMPLE_CHARACTERS]
    return max(DELIMITERS, key=lambda delimiter: _regularity(sample, delimiter))


def _regularity(sample: str, delimiter: str) -> float:
    """Give the share of the records that are as wide as the header; 0 where there is but one column."""
    widths = _widths(sample, delimiter)
    if not widths or widths[0] == 1:
        return 0.0
    return widths.count(widths[0]) / len(widths)


def _widths(sample: str, delimiter: str) -> list[int]:
    try:
        records = islice(
            csv.reader(StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=True), _SAMPLE_RECORDS
        )
        widths = [len(record) for record in records if record]
    except csv.Error:
        return []
    # The sample may end in the middle of a record.
    return widths[:-1] or widths


def read_shape(table: Table) -> Shape:
    """Read the whole table and keep none of it."""
    rows = short_rows = 0
    for row in table.rows():
        rows += 1
        short_rows += len(row) < len(table.names)
    return Shape(table.names, rows, short_rows)


@dataclass(frozen=True)
class Column:
    """The values of a column, as text; rows that end before it have none, so there may be fewer values than rows."""

    values: list[str]
    rows: int


def read_column(table: Table, position: int) -> Column:
    """Read the column at this position, counted from 1."""
    values: list[str] = []
    rows = 0
    for row in table.rows():
        rows += 1
        values.extend(row[position - 1 : position])
    return Column(values, rows)


def values_at(rows: Iterable[list[str]], position: int) -> list[str]:
    """Give the values at a position, counted from 1, of rows that may end before it."""
    return [row[position - 1] for row in rows if len(row) >= position]
