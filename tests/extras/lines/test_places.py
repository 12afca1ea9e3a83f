"""What other systems hear of places in line, by function status_changes and the table's stream."""

import json
import re
from datetime import timedelta
from itertools import pairwise
from math import floor, log2

import pytest
from hypothesis import given
from msgspec.structs import replace

from stepwire.aws.storage.items import item_of, task_of
from stepwire.changes import status_event
from stepwire.extras.lines.places import place_after
from stepwire.rendering import modern_status
from stepwire.tasks.line import InLine, LineTerms
from stepwire.tasks.task import Task, Working
from tests.changes import saved
from tests.recorded import recorded
from tests.strategies import tasks
from tests.template.document import ROOT
from tests.template.test_completion_events import TASK, Record, reaches_the_function
from tests.unit.background.test_status_changes import AT, NAMES, Bus, handle, record, task_with


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Bus:
    """The bus to which the function publishes."""
    monkeypatch.setenv("EVENT_BUS", "agents")
    monkeypatch.setenv("TABLE_NAME", "tasks")
    monkeypatch.setenv("EXTRAS", "lines")
    return Bus()


@given(tasks(), tasks())
def test_a_change_is_of_a_status_or_of_a_place(before: Task, after: Task) -> None:
    change = saved(before, after)

    is_another = modern_status(before) != modern_status(after)
    is_moved = place_after(change) is not None
    assert (status_event(change) is not None) == is_another
    assert not (is_another and is_moved)
    assert is_another or after.has_ended or is_moved == (_half(before.in_line) != _half(after.in_line))


def _half(place: InLine | None) -> tuple[float, bool] | None:
    return None if place is None else (floor(log2(place.position)), place.is_paused)


def test_a_place_is_published_when_half_of_the_way_there_is_done_and_when_the_turn_has_come(bus: Bus) -> None:
    waits, at = task_with(Working(), version=2), AT + timedelta(minutes=4)
    waits = replace(waits, line=LineTerms("line#1", "warehouse"))
    places = (None, InLine(3, at), InLine(2, at), InLine(1), InLine(1, is_paused=True), None)
    images = [replace(waits, in_line=place, version=2 + number) for number, place in enumerate(places)]

    handle(bus, *(record("MODIFY", before, after) for before, after in pairwise(images)))

    details = [json.loads(entry["Detail"]) for entry in bus.told]
    assert {entry["DetailType"] for entry in bus.told} == {"Stepwire Task Place in Line"}
    assert [(one["position"], one["begins_at"], one["is_paused"]) for one in details] == [
        (3, "2026-08-01T12:04:02.000Z", False),
        (1, None, False),
        (1, None, True),
        (0, None, False),
    ]
    assert set(details[0]) == NAMES - {"previous_status"} | {"position", "begins_at", "is_paused"}


def test_the_sample_event_of_a_place_is_what_is_published(bus: Bus) -> None:
    sample = recorded("extras/lines/task_place_in_line")
    before = task_of(recorded("table_changed")["Records"][1]["dynamodb"]["OldImage"])
    after = replace(before, in_line=InLine(3, before.created_at + timedelta(minutes=4)), version=2)

    handle(bus, record("MODIFY", before, after))

    (entry,) = bus.told
    assert json.loads(entry["Detail"]) == sample["detail"]
    assert (entry["DetailType"], entry["Source"]) == (sample["detail-type"], sample["source"])


def test_every_change_of_a_place_in_line_reaches_the_function() -> None:
    limited = replace(TASK, line=LineTerms("line#1", "warehouse"))
    waits = replace(limited, in_line=InLine(3))
    changes = [(limited, waits), (waits, replace(waits, in_line=InLine(1))), (waits, limited)]
    keys = {name: item_of(TASK)[name] for name in ("pk", "sk")}
    records: list[Record] = [
        {"eventName": "MODIFY", "dynamodb": {"Keys": keys, "OldImage": item_of(before), "NewImage": item_of(after)}}
        for before, after in changes
    ]

    assert [place_after(saved(*one)) is not None for one in changes] == [True] * 3
    assert [reaches_the_function(one) for one in records] == [True] * 3


def test_the_event_in_the_documentation_is_the_sample() -> None:
    text = (ROOT / "docs/extras/lines.md").read_text(encoding="utf-8")
    (place,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)

    assert json.loads(place) == recorded("extras/lines/task_place_in_line")["detail"]
