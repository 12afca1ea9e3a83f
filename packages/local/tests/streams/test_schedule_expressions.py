"""The expressions of schedules name the times that AWS's documentation gives for them."""

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from stepwire_local.streams.schedule_expressions import NotASchedule, read
from stepwire_local.streams.schedules import Schedule, due

# A Sunday.
AT = datetime(2026, 11, 29, 10, 20, 30, tzinfo=UTC)


def times(text: str, zone: str, count: int) -> Sequence[str]:
    """Return the next times, in the zone."""
    expression, moment, found = read(text, ZoneInfo(zone)), AT, list[str]()
    while len(found) < count and (at := expression.next_after(moment, AT)):
        found.append(f"{at.astimezone(ZoneInfo(zone)):%a %d %b %Y %H:%M}")
        moment = at
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate(1 minute)", ["Sun 29 Nov 2026 10:21", "Sun 29 Nov 2026 10:22"]),
        ("rate(12 hours)", ["Sun 29 Nov 2026 22:20", "Mon 30 Nov 2026 10:20"]),
        ("rate(2 days)", ["Tue 01 Dec 2026 10:20", "Thu 03 Dec 2026 10:20"]),
        ("cron(17 * * * ? *)", ["Sun 29 Nov 2026 11:17", "Sun 29 Nov 2026 12:17"]),
        ("cron(0/15 8-17 ? * MON-FRI *)", ["Mon 30 Nov 2026 08:00", "Mon 30 Nov 2026 08:15"]),
        ("cron(15 12 * * ? *)", ["Sun 29 Nov 2026 12:15", "Mon 30 Nov 2026 12:15"]),
        ("cron(0 8 1 * ? *)", ["Tue 01 Dec 2026 08:00", "Fri 01 Jan 2027 08:00"]),
        ("cron(0 18 ? * 2-6 *)", ["Mon 30 Nov 2026 18:00", "Tue 01 Dec 2026 18:00"]),
        ("cron(30 9 L * ? *)", ["Mon 30 Nov 2026 09:30", "Thu 31 Dec 2026 09:30"]),
        ("cron(0 0 15W * ? *)", ["Tue 15 Dec 2026 00:00", "Fri 15 Jan 2027 00:00", "Mon 15 Feb 2027 00:00"]),
        ("cron(0 0 1W MAY ? 2027)", ["Mon 03 May 2027 00:00"]),
        ("cron(0 0 LW FEB ? 2027)", ["Fri 26 Feb 2027 00:00"]),
        ("cron(0 10 ? * 6L *)", ["Fri 25 Dec 2026 10:00", "Fri 29 Jan 2027 10:00"]),
        ("cron(0 10 ? * MON#1,FRI#3 *)", ["Mon 07 Dec 2026 10:00", "Fri 18 Dec 2026 10:00"]),
        ("cron(0 0 29 2 ? *)", ["Tue 29 Feb 2028 00:00", "Sun 29 Feb 2032 00:00"]),
        ("cron(0 0 1 1 ? 2020)", []),
        ("at(2026-12-24T18:00:00)", ["Thu 24 Dec 2026 18:00"]),
        ("at(2026-11-24T18:00:00)", []),
    ],
)
def test_an_expression_names_its_next_times(text: str, expected: Sequence[str]) -> None:
    found = times(text, "UTC", len(expected) or 1)

    assert found == expected


def test_times_are_of_the_zone_also_when_its_clock_changes() -> None:
    expression = read("cron(0 9 * * ? *)", ZoneInfo("Europe/Berlin"))
    moments = [datetime(2026, 10, day, 12, tzinfo=UTC) for day in (23, 24, 25)]

    found = [expression.next_after(moment, moment) for moment in moments]

    assert [at and f"{at.astimezone(UTC):%d %H:%M}" for at in found] == ["24 07:00", "25 08:00", "26 08:00"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("every(5 minutes)", "is none of rate"),
        ("rate(0 minutes)", "a rate is a positive number"),
        ("rate(5 moments)", "a rate is a positive number"),
        ("cron(0 10 * * ?)", "has six fields, and this has 5"),
        ("cron(0 10 * * * *)", "the day of the month or the day of the week must be ?"),
        ("cron(60 10 * * ? *)", "60 is not between 0 and 59"),
        ("cron(0 10 ? * NOD *)", "NOD"),
        ("at(tomorrow)", "tomorrow"),
    ],
)
def test_what_event_bridge_refuses_is_said(text: str, why: str) -> None:
    with pytest.raises(NotASchedule, match=why.replace("?", r"\?")) as caught:
        read(text)

    assert text in str(caught.value)


def nothing(_: datetime) -> None:
    """Fire nothing."""


def test_each_schedule_that_was_due_meanwhile_fires_once() -> None:
    often, ended, disabled = (
        Schedule("often", "", read("rate(1 minute)"), AT, nothing),
        Schedule("ended", "", read("rate(1 minute)"), AT, nothing, until=AT),
        Schedule("disabled", "", read("rate(1 minute)"), AT, nothing, is_enabled=False),
    )
    clock = [AT.replace(minute=minute) for minute in (20, 21, 21, 25)]

    fired = [[one.name for one in due((often, ended, disabled), *between)] for between in pairwise(clock)]

    assert fired == [["often"], [], ["often"]]
