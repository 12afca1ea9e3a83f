"""The functions that give turns may make each write of a line: without it a turn waits until a poll gives it."""

import re
from pathlib import Path
from typing import Any

import pytest

from stepwire.extras.lines import storage
from tests.template.chosen import stack


@pytest.mark.parametrize("function", ["ExecutionEventsFunction", "ExpirationsFunction", "OperatorFunction"])
def test_a_function_that_gives_turns_may_make_each_write_of_a_line(function: str) -> None:
    written = set(re.findall(r'"(Put|Update|Delete)": \{', Path(storage.__file__).read_text(encoding="utf-8")))

    statements: list[dict[str, Any]] = stack("none").statements(function)
    (allowed,) = [one["Action"] for one in statements if one["Sid"] == "GiveTurnsToTheNextInLine"]
    assert "Update" in written
    assert {f"dynamodb:{kind}Item" for kind in written} <= set(allowed)
