"""The alarm on age rings: from a call that waits in line, by the log line of the sweep and its metric, to the alarm."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from msgspec.structs import replace

from stepwire.aws.background_functions import SweepHandler
from stepwire.extras.lines.commands import Restriction, pause_line
from stepwire.extras.lines.limits import Concurrency, Rules
from stepwire_local.account.engine import shared_account
from tests.extras.lines.test_turns import call
from tests.kits import OPTIONAL, keeping
from tests.server.neighbours import CountedWorld
from tests.template.alarms import rings
from tests.template.document import resource

POOL: Final = "warehouse"
HOUR: Final = timedelta(hours=1)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountedWorld]:
    """A stack whose table the function sweep reads too."""
    with shared_account():
        world = CountedWorld()
        lines: Any = world.lines
        monkeypatch.setenv("TABLE_NAME", lines.table.name)
        monkeypatch.setenv("EXTRAS", "lines")
        yield world


def logged(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Run the sweep once, and return the fields that it has logged."""
    caplog.clear()
    SweepHandler()({}, None)
    return [vars(record) for record in caplog.records]


def measured(entries: list[dict[str, Any]]) -> list[float]:
    """Return the values that the metric filter of the alarm's metric finds in a log."""
    found = resource("WaitsForTurns").properties
    (metric,) = found["MetricTransformations"]
    pattern = re.fullmatch(r"\{ \$\.(\w+) > (\d+) \}", found["FilterPattern"])
    assert pattern
    field, least = pattern.groups()
    assert (metric["MetricName"], metric["MetricValue"]) == (
        resource("LinesAlarm").properties["MetricName"],
        f"$.{field}",
    )
    return [one[field] for one in entries if one.get(field, 0) > int(least)]


@pytest.mark.parametrize(("waited", "expected"), [(5.9 * HOUR, False), (6.1 * HOUR, True)])
def test_a_call_that_has_waited_for_six_hours_rings_the_alarm(
    world: CountedWorld, caplog: pytest.LogCaptureFixture, waited: timedelta, expected: bool
) -> None:
    world.clock.time = datetime.now(UTC) - waited
    pause_line(world.engine, Restriction(line=POOL, is_new=True))
    call(world, keeping(replace(OPTIONAL, ttl=timedelta(days=1)), lines=Concurrency(POOL, Rules(most=1))))

    values = measured([*logged(caplog), *logged(caplog)])

    assert len(values) == 2
    assert all(0 <= one - int(waited.total_seconds()) < 300 for one in values), "the function's clock is the real one"
    alarm = resource("LinesAlarm").properties
    assert rings(alarm, values) == expected
    assert not rings(alarm, values[1:]), "two periods in a row"


def test_a_line_in_which_nobody_waits_has_no_value(world: CountedWorld, caplog: pytest.LogCaptureFixture) -> None:
    assert measured(logged(caplog)) == []
