"""When a schedule fires: the expressions `rate(...)`, `cron(...)` and `at(...)` of EventBridge.

Pure: moments come in and go out, with their zone. The source is the EventBridge user guide, "Cron expressions
reference".
"""

import calendar
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NONE: Final[Mapping[str, int]] = {}
_UNITS: Final = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
_AHEAD: Final = 366 * 9  # days to look for the next time: from one 29 February to another, at most
_EXPRESSION: Final = re.compile(r"(rate|cron|at)\((.*)\)")


class NotASchedule(ValueError):
    """An expression that EventBridge refuses; the message says why."""


@dataclass(frozen=True)
class Rate:
    """A fixed time between two fires."""

    period: timedelta

    def next_after(self, moment: datetime, since: datetime) -> datetime | None:
        """Return the first time after a moment, of a schedule that is there since another."""
        return since + ((moment - since) // self.period + 1) * self.period


@dataclass(frozen=True)
class Once:
    """A single time."""

    at: datetime

    def next_after(self, moment: datetime, since: datetime) -> datetime | None:
        """Return the first time after a moment; None if there is none any more."""
        return self.at if self.at > max(moment, since) else None


@dataclass(frozen=True)
class Cron:
    """Times of the clock in a zone."""

    minutes: Sequence[int]
    hours: Sequence[int]
    days_of_month: str
    months: Sequence[int]
    days_of_week: str
    years: Sequence[int]
    zone: tzinfo = UTC

    def next_after(self, moment: datetime, since: datetime) -> datetime | None:
        """Return the first time after a moment; None if there is none any more."""
        begin = max(moment, since).astimezone(self.zone)
        for ahead in range(_AHEAD):
            day = begin.date() + timedelta(days=ahead)
            if day.year in self.years and day.month in self.months and self._is_meant(day):
                for hour in self.hours:
                    for minute in self.minutes:
                        found = datetime(day.year, day.month, day.day, hour, minute, tzinfo=self.zone)
                        if found > begin:
                            return found
        return None

    def _is_meant(self, day: date) -> bool:
        if self.days_of_week == "?":
            return _is_day_of_month(self.days_of_month, day)
        return any(_is_day_of_week(one, day) for one in self.days_of_week.split(","))


Expression = Rate | Once | Cron


def read(text: str, zone: tzinfo = UTC) -> Expression:
    """Return an expression.

    Raises:
        NotASchedule: EventBridge would refuse it.
    """
    found = _EXPRESSION.fullmatch(text.strip())
    if found is None:
        raise NotASchedule(f"{text} is none of rate(...), cron(...) and at(...)")
    kind, given = found[1], found[2].strip()
    try:
        return _rate(given) if kind == "rate" else _once(given, zone) if kind == "at" else _cron(given, zone)
    except ValueError as error:
        raise NotASchedule(f"{text}: {error}") from error


def _rate(given: str) -> Rate:
    value, _, unit = given.partition(" ")
    period = _UNITS.get(unit.strip().removesuffix("s"))
    if not value.isdecimal() or int(value) < 1 or period is None:
        raise ValueError("a rate is a positive number, and minutes, hours or days")
    return Rate(int(value) * period)


def _once(given: str, zone: tzinfo) -> Once:
    return Once(datetime.fromisoformat(given).replace(tzinfo=zone))


def _cron(given: str, zone: tzinfo) -> Cron:
    fields = given.upper().split()
    if len(fields) != 6:  # noqa: PLR2004  # the fields of a cron expression
        raise ValueError(f"a cron expression has six fields, and this has {len(fields)}")
    minutes, hours, days_of_month, months, days_of_week, years = fields
    if "?" not in (days_of_month, days_of_week):
        raise ValueError("the day of the month or the day of the week must be ?")
    cron = Cron(
        _numbers(minutes, 0, 59),
        _numbers(hours, 0, 23),
        days_of_month,
        _numbers(months, 1, 12, {name: at for at, name in enumerate(_MONTHS, 1)}),
        days_of_week,
        _numbers(years, 1970, 2199),
        zone,
    )
    cron.next_after(datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC))  # what is wrong with its days
    return cron


def _numbers(field: str, least: int, most: int, names: Mapping[str, int] = _NONE) -> Sequence[int]:
    """Return the numbers that a field names: `*`, `5`, `1-5`, `0/15`, `*/15`, and lists of these."""
    found = set[int]()
    for part in field.split(","):
        whole, slash, step = part.partition("/")
        first, dash, last = ("*", "", "") if whole in ("*", "") else whole.partition("-")
        begin = least if first == "*" else names.get(first) or int(first)
        end = most if first == "*" or (slash and not dash) else names.get(last) or int(last) if dash else begin
        if not least <= begin <= end <= most:
            raise ValueError(f"{part} is not between {least} and {most}")
        found.update(range(begin, end + 1, int(step) if slash else 1))
    return sorted(found)


def _is_day_of_month(field: str, day: date) -> bool:
    """Return whether a day is meant: a number, `L` (the last), or `15W` (the nearest weekday)."""
    last = calendar.monthrange(day.year, day.month)[1]
    if field in ("*", "?"):
        return True
    if field == "L":
        return day.day == last
    if field.endswith("W"):
        wanted = last if field == "LW" else int(field[:-1])
        return day == _nearest_weekday(day.replace(day=min(wanted, last)), last)
    return day.day in _numbers(field, 1, 31)


def _nearest_weekday(day: date, last: int) -> date:
    match day.isoweekday():
        case 6:
            return day - timedelta(days=1) if day.day > 1 else day + timedelta(days=2)
        case 7:
            return day + timedelta(days=1) if day.day < last else day - timedelta(days=2)
        case _:
            return day


def _is_day_of_week(field: str, day: date) -> bool:
    """Return whether a day is meant: a name or number, SUN (1) to SAT (7), `6L` (the last), or `6#3` (the third)."""
    names, number = {name: at for at, name in enumerate(_DAYS, 1)}, day.isoweekday() % 7 + 1
    named, nth, count = field.partition("#")
    if nth:
        return number in _numbers(named, 1, 7, names) and (day.day - 1) // 7 + 1 == int(count)
    if field == "L":
        return number == len(_DAYS)
    if field.endswith("L"):
        is_last = day.day + 7 > calendar.monthrange(day.year, day.month)[1]
        return number in _numbers(field[:-1], 1, 7, names) and is_last
    return number in _numbers(field, 1, 7, names)
