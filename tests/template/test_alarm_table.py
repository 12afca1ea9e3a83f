"""The alarms of operations.yaml are what the table says (`alarm_table`)."""

from typing import Final

import pytest

from tests.template.alarm_table import OPERATIONS, document, properties, rows

ROW: Final = {"why": "two: one is chance.", "says": "It breaks", "metric": "AWS/Lambda Errors FunctionName=F"}
WHAT_TO_DO: Final = "edit alarms.yaml, not operations.yaml, then run `.venv/bin/python -m tests.template.alarm_table`"
FIELDS: Final = {"why", "says", "if", "metric", "metrics", "math", "rings"}


def test_operations_has_the_alarms_of_the_table() -> None:
    assert OPERATIONS.read_text(encoding="utf-8") == document(), WHAT_TO_DO


def test_a_row_has_the_fields_that_the_table_describes_and_no_others() -> None:
    for row in rows().values():
        assert {"why", "says", "rings"} <= row.keys() <= FIELDS
        assert "metric" in row or "math" in row


def test_a_row_says_when_an_alarm_rings() -> None:
    made = properties("BrokenAlarm", {**ROW, "rings": "Sum of 300 s >= 2, 3 of 5 times"})

    assert made["AlarmDescription"]["Fn::Sub"] == "It breaks. Runbook: ${RunbooksUrl}#brokenalarm"
    assert (made["Statistic"], made["Period"], made["Threshold"]) == ("Sum", 300, 2)
    assert (made["DatapointsToAlarm"], made["EvaluationPeriods"]) == (3, 5)
    assert made["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    assert made["Dimensions"] == [{"Name": "FunctionName", "Value": {"Ref": "F"}}]


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("rings", "Sum > 2"),
        ("rings", "Sum of 300 s < 2"),
        ("metric", "Lambda Errors"),
        ("metric", "AWS/Lambda Errors F"),
    ],
)
def test_a_field_in_another_form_is_refused(field: str, text: str) -> None:
    with pytest.raises(ValueError, match="is not in the form"):
        properties("BrokenAlarm", {**ROW, "rings": "Sum of 300 s > 2", field: text})
