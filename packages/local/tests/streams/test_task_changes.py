"""Which changes of a table are changes of a task's status."""

from typing import Any

import pytest

from stepwire.principal import Principal
from stepwire_local.streams.task_changes import TaskChange, change_of

Json = dict[str, Any]


def image(status: str) -> Json:
    return {"sk": {"S": "task#one"}, "task": {"S": '{"work":{"tool":"greet"}}'}, "status": {"S": status}}


def record(old: Json | None, new: Json | None, key: str = "task#one") -> Json:
    images = {name: one for name, one in (("OldImage", old), ("NewImage", new)) if one is not None}
    return {"dynamodb": {"Keys": {"pk": {"S": "me"}, "sk": {"S": key}}, **images}}


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        (None, image("working"), "working"),
        (image("working"), image("input_required"), "input_required"),
        (image("input_required"), image("completed_with_error"), "completed_with_error"),
        (image("working"), None, "expired"),
    ],
)
def test_a_change_of_status_is_reported(old: Json | None, new: Json | None, status: str) -> None:
    assert change_of(record(old, new)) == TaskChange(Principal("me"), "one", "greet", status)


@pytest.mark.parametrize(
    "other",
    [
        record(image("working"), image("working")),
        record(None, {"sk": {"S": "usage"}}, "usage"),
        record(None, {"id": {"S": "of another table"}}, ""),
        {"dynamodb": {"Keys": {"id": {"N": "1"}}, "NewImage": {"id": {"N": "1"}}}},
    ],
)
def test_other_changes_are_not_reported(other: Json) -> None:
    assert change_of(other) is None
