"""Every file in examples/events/ is taken by the function that it is for."""

import json
from typing import Any, Final

import pytest

from tests.examples.stacks import EXAMPLES, function_alone

FOLDER: Final = EXAMPLES.parent / "events"
ANSWERS: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "check_refund": ("CheckRefundFunction", {"verdict": "ask", "item": "Office chair"}),
    "make_refund": ("MakeRefundFunction", {"amount": "199.50"}),
    "profile_column": ("ProfileColumnFunction", {"name": "mass", "type": "integer"}),
    "read_dataset": ("ReadDatasetFunction", {"rows": 3, "source": "inline"}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_function_answers_its_sample_event(name: str) -> None:
    function, expected = ANSWERS[name]

    outcome = function_alone(function).invoke((FOLDER / f"{name}.json").read_text(encoding="utf-8"))

    answer = json.loads(outcome.payload)
    assert answer == answer | expected


def test_every_sample_event_is_tried_here() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(ANSWERS)
