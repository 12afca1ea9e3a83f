"""The profile of one column, computed by DuckDB. The rule: the same values give the same profile, on every machine.

So one thread, exact aggregates, a total order wherever some of many values are shown, and computed numbers cut to the
12 digits that do not depend on the processor. Every value is JSON as RFC 8259 knows it: no NaN, no infinity.

Each present value has a kind of its own, and the column's type follows from the kinds (`_type`). What a number is:

- An integer that begins with 0 or has more than 15 digits is text: such are codes and identifiers, and a double would
  spoil them.
- 1e300 is the largest magnitude, so that sums and fences stay finite; what is beyond is text.
- Dates are ISO 8601: 2026-11-21, or 2026-11-21T18:30 with seconds, fractions and offset optional; a time without an
  offset is taken as UTC. 03/04/2026 is text, for it is March to some and April to others.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import duckdb

from .display import shortened

Json = dict[str, Any]

KINDS: Final = ("boolean", "integer", "number", "date", "datetime", "text")
QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)
SHOWN_VALUES: Final = 5
FENCE: Final = 1.5
"""Tukey's factor: an outlier is further than this many interquartile ranges from its quartile."""
_DIGITS: Final = 12
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# Regular expressions first: casts alone accept more than they should ('1_000', '24:00').
_CELLS: Final = r"""
CREATE TEMP TABLE cells AS
SELECT value, CASE
    WHEN regexp_full_match(value, '(?i)true|false') THEN 'boolean'
    WHEN regexp_full_match(value, '[+-]?(0|[1-9]\d{0,14})') THEN 'integer'
    WHEN regexp_full_match(value, '[+-]?\d+') THEN 'text'
    WHEN regexp_full_match(value, '[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)(e[+-]?\d{1,3})?', 'i')
        AND abs(TRY_CAST(value AS DOUBLE)) <= 1e300 THEN 'number'
    WHEN regexp_full_match(value, '[1-9]\d{3}-\d\d-\d\d')
        AND TRY_CAST(value AS DATE) IS NOT NULL THEN 'date'
    WHEN regexp_full_match(value,
            '[1-9]\d{3}-\d\d-\d\d[T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,6})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)?')
        AND TRY_CAST(value AS TIMESTAMPTZ) < TIMESTAMPTZ '10000-01-01 00:00:00Z' THEN 'datetime'
    ELSE 'text' END AS kind
FROM (SELECT unnest($values::VARCHAR[]) AS value)
WHERE NOT list_contains($missing_values::VARCHAR[], value)
"""
_FREQUENT: Final = (
    "SELECT value, count(*) AS occurrences FROM cells GROUP BY value ORDER BY occurrences DESC, value LIMIT $limit"
)
# Sorted, for sums of doubles depend on the order; scaled before it is squared, for the square of 1e200 is no double.
_NUMBERS: Final = """
WITH numbers AS (SELECT value::DOUBLE AS x FROM cells WHERE kind IN ('integer', 'number')),
     largest AS (SELECT greatest(max(abs(x)), 1e-300) AS magnitude FROM numbers)
SELECT min(x), max(x), favg(x ORDER BY x), stddev_samp(x / magnitude ORDER BY x) * any_value(magnitude),
       quantile_cont(x, $quantiles::DOUBLE[])
FROM numbers, largest
"""
_OUTLIERS: Final = """
WITH outliers AS (
    SELECT value::DOUBLE AS x FROM cells
    WHERE kind IN ('integer', 'number') AND NOT value::DOUBLE BETWEEN $lower AND $upper)
SELECT count(*), (SELECT list(x) FROM (
    SELECT DISTINCT x FROM outliers ORDER BY greatest($lower - x, x - $upper) DESC, x LIMIT $limit))
FROM outliers
"""
_DATES: Final = """
SELECT min(moment), max(moment)
FROM (SELECT epoch_us(value::TIMESTAMPTZ) AS moment FROM cells WHERE kind IN ('date', 'datetime'))
"""
_LENGTHS: Final = "SELECT min(length(value)), max(length(value)), avg(length(value)) FROM cells WHERE kind = 'text'"


def profile(values: Sequence[str], rows: int, missing_values: Sequence[str]) -> Json:
    """Profile a column of `rows` cells, of which `values` are there; the sections depend on the kinds of its values."""
    with _database(values, missing_values) as database:
        kinds = _kinds(database)
        present = sum(kinds.values())
        return {
            "type": _type(kinds),
            "kinds": kinds,
            "missing": {"count": rows - present, "share": _share(rows - present, rows)},
            "distinct": _row(database, "SELECT count(DISTINCT value) FROM cells")[0],
            "most_frequent": _most_frequent(database, present),
            **({"numbers": _numbers(database)} if kinds.keys() & {"integer", "number"} else {}),
            **({"dates": _dates(database, kinds)} if kinds.keys() & {"date", "datetime"} else {}),
            **({"text_lengths": _text_lengths(database)} if "text" in kinds else {}),
        }


def _database(values: Sequence[str], missing_values: Sequence[str]) -> duckdb.DuckDBPyConnection:
    """Open a session with a table of the present values, which ends with it."""
    database = _engine().cursor()
    database.execute(_CELLS, {"values": list(values), "missing_values": list(missing_values)})
    return database


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    """Start the engine, in memory, where it can reach nothing else; once a process, for it takes 40 ms."""
    engine = duckdb.connect(":memory:", config={"threads": 1, "enable_external_access": False})
    engine.execute("SET GLOBAL TimeZone = 'UTC'")
    return engine


def _row(
    database: duckdb.DuckDBPyConnection, query: str, parameters: Mapping[str, object] | None = None
) -> tuple[Any, ...]:
    row = database.execute(query, parameters).fetchone()
    if row is None:
        raise LookupError("an aggregate has no row")  # aggregates without GROUP BY always have one
    return row


def _kinds(database: duckdb.DuckDBPyConnection) -> dict[str, int]:
    counts: dict[str, int] = dict(database.execute("SELECT kind, count(*) FROM cells GROUP BY kind").fetchall())
    return {kind: counts[kind] for kind in KINDS if kind in counts}


def _type(kinds: Iterable[str]) -> str:
    present = set(kinds)
    if not present:
        return "empty"
    if len(present) == 1:
        return present.pop()
    if present == {"integer", "number"}:
        return "number"
    return "datetime" if present == {"date", "datetime"} else "mixed"


def _most_frequent(database: duckdb.DuckDBPyConnection, present: int) -> list[Json]:
    rows = database.execute(_FREQUENT, {"limit": SHOWN_VALUES}).fetchall()
    return [{"value": shortened(value), "count": count, "share": _share(count, present)} for value, count in rows]


def _numbers(database: duckdb.DuckDBPyConnection) -> Json:
    minimum, maximum, mean, deviation, quantiles = _row(database, _NUMBERS, {"quantiles": list(QUANTILES)})
    return {
        "minimum": _plain(minimum),
        "maximum": _plain(maximum),
        "mean": _computed(mean),
        # One number has none.
        **({} if deviation is None else {"standard_deviation": _computed(deviation)}),
        "quantiles": {f"p{share * 100:02.0f}": _computed(x) for share, x in zip(QUANTILES, quantiles, strict=True)},
        **_outliers(database, quantiles[1], quantiles[3]),
    }


def _outliers(database: duckdb.DuckDBPyConnection, lower_quartile: float, upper_quartile: float) -> Json:
    reach = FENCE * (upper_quartile - lower_quartile)
    if reach <= 0:
        return {}  # where half of the values are equal, every other one would be called an outlier
    fences = {"lower": lower_quartile - reach, "upper": upper_quartile + reach}
    count, examples = _row(database, _OUTLIERS, {**fences, "limit": SHOWN_VALUES})
    return {
        "outliers": {
            "lower_fence": _computed(fences["lower"]),
            "upper_fence": _computed(fences["upper"]),
            "count": count,
            "examples": [_plain(x) for x in examples or ()],
        }
    }


def _dates(database: duckdb.DuckDBPyConnection, kinds: Mapping[str, int]) -> Json:
    earliest, latest = (_EPOCH + timedelta(microseconds=moment) for moment in _row(database, _DATES))
    days = round((latest - earliest) / timedelta(days=1), 6)
    return {"earliest": _moment(earliest, kinds), "latest": _moment(latest, kinds), "days": days}


def _moment(moment: datetime, kinds: Mapping[str, int]) -> str:
    return moment.isoformat().replace("+00:00", "Z") if "datetime" in kinds else moment.date().isoformat()


def _text_lengths(database: duckdb.DuckDBPyConnection) -> Json:
    shortest, longest, mean = _row(database, _LENGTHS)
    return {"shortest": shortest, "longest": longest, "mean": _computed(mean)}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 6) if whole else 0.0


def _computed(number: float) -> float:
    return _plain(float(f"{number:.{_DIGITS}g}"))


def _plain(number: float) -> float:
    """Give an integer where the number is one, and no sign to zero."""
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
