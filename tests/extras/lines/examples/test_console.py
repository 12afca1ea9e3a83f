"""What the console shows of a line: in its JSON API, and in a real Chromium."""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.chromium import needs_chromium
from tests.examples.test_console_page import large_template, seen, served
from tests.examples.test_console_site import by_id, http, modern, read, stack
from tests.waiting import until

__all__ = ["http", "stack"]


def test_a_line_shows_who_runs_and_who_waits_in_which_place(http: httpx.Client) -> None:
    long = {"item": "desk", "seconds": 60}
    calls = [modern(http, "tools/call", "reserve_stock", name="reserve_stock", arguments=long) for _ in range(5)]
    ids = [one["taskId"] for one in calls]

    (line,) = read(http, "lines")
    until(lambda: set(ids) <= by_id(read(http, "tasks")).keys())
    listed = [one for one in read(http, "tasks") if one["inLine"]]

    assert (line["most"], line["waiting"], line["paused"]) == (3, 2, False)
    assert ({one["taskId"] for one in line["turns"]}, line["running"]) == (set(ids[:3]), 3)
    assert [(one["position"], one["taskId"]) for one in line["places"]] == [(1, ids[3]), (2, ids[4])]
    assert [one["waiting"] for one in line["callers"]] == [2]
    assert line["oldestSince"] == line["places"][0]["since"]
    assert {one["taskId"]: one["inLine"] for one in listed} == {ids[3]: "1st in line", ids[4]: "2nd in line"}
    for task_id in reversed(ids):
        modern(http, "tasks/cancel", task_id, taskId=task_id)
    assert read(http, "lines") == []


@pytest.mark.long
@needs_chromium
def test_the_page_of_lines_shows_who_runs_and_who_waits(tmp_path: Path) -> None:
    steps: list[list[Any]] = [
        *([["start", "scarce", []]] * 4),
        ["status", "1st in line"],
        ["open", "#/lines"],
        ["text", "main table"],
        ["text", "#to-lines"],
        ["axe"],
        ["size", 320, 700, "dark"],
        ["axe"],
    ]

    path = tmp_path / "template.yaml"
    limit = "concurrency: {most: 3, queue: {most: 100, longest: PT1H}}\n"
    path.write_text(json.dumps(large_template(scarce=limit)), encoding="utf-8")

    with contextmanager(served)(path) as large:
        found = seen(large, steps)

    rows = [line.split("\t") for line in found[6].splitlines()]
    assert [row[:2] for row in rows] == [
        ["Place", "Task"],
        *[["runs", "scarce"]] * 3,
        ["1", "scarce"],
    ]
    assert found[7] == "Lines1", "and how many wait"
    assert (found[8], found[10]) == ([], []), "what axe found"
    assert found[9] is False, "whether it is wider than the window"
