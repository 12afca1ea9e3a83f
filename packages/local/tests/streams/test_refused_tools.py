"""Which refusals of registered tools are told, and that each is told once."""

import json
import logging
from typing import Any

import pytest

from stepwire_local.streams.refused_tools import RefusalWatch, told

Json = dict[str, Any]
FIRST: Json = {"tool": "a", "source": "/stepwire/s/tools/a", "reason": "name: missing", "serves_previous": True}
SECOND: Json = {"tool": "b", "source": "/stepwire/s/tools/b", "reason": "no tag", "serves_previous": False}


BESIDE: Json = {
    "tool": "a",
    "source": "/stepwire/s/tools/a/x/main.md",
    "reason": "name: is missing",
    "serves_previous": False,
    "what": "colour",
}


def record(old: list[Json] | None, new: list[Json] | None, key: str = "refusals") -> Json:
    images = {
        name: {"refused": {"S": json.dumps({"refused": one})}}
        for name, one in (("OldImage", old), ("NewImage", new))
        if one is not None
    }
    return {"dynamodb": {"Keys": {"pk": {"S": "catalog"}, "sk": {"S": key}}, **images}}


@pytest.mark.parametrize(
    ("old", "new", "tools"),
    [
        (None, [FIRST, SECOND], ["a", "b"]),
        ([FIRST], [FIRST, SECOND], ["b"]),
        ([FIRST], [FIRST], []),
        ([FIRST], [{**FIRST, "reason": "another"}], ["a"]),
        ([FIRST], [{**FIRST, "digest": "of the manifest"}], []),
        (None, [FIRST, FIRST], ["a"]),
        ([FIRST], None, []),
    ],
)
def test_what_is_new_is_told(old: list[Json] | None, new: list[Json] | None, tools: list[str]) -> None:
    assert [line.partition(" ")[0].rpartition("/")[2] for line in told(record(old, new))] == tools


def test_a_line_says_where_what_and_what_serves() -> None:
    assert told(record(None, [FIRST, SECOND, BESIDE])) == [
        "/stepwire/s/tools/a is refused, and the last good one serves: name: missing",
        "/stepwire/s/tools/b is refused, and the tool is not listed: no tag",
        "/stepwire/s/tools/a/x/main.md is refused, and its tool serves without it: name: is missing",
    ]


def test_two_faults_of_one_manifest_are_told_apart_in_the_line() -> None:
    (line,) = told(record(None, [{**SECOND, "reason": "description: is missing\ndescripton: unknown field"}]))

    assert line.endswith("not listed: description: is missing; descripton: unknown field")


def test_other_items_say_nothing() -> None:
    assert told(record(None, [FIRST], key="head")) == []


def test_a_batch_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        RefusalWatch().invoke(json.dumps({"Records": [record(None, [FIRST])]}))

    assert [entry.name for entry in caplog.records] == ["stepwire_local.streams.refused_tools"]
