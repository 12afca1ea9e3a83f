"""The alarms of operations.yaml, made of the rows of alarms.yaml, which says what each field of a row is.

    python -m tests.template.alarm_table    # writes the section of operations.yaml

CloudFormation reads operations.yaml as it is, without anchors or loops: what all alarms share is written out in each.
"""

import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, Final

import yaml

from tests.template.document import ROOT

TABLE: Final = ROOT / "alarms.yaml"
OPERATIONS: Final = ROOT / "operations.yaml"
_HEADING: Final = f"# {'=' * 60} "
_NOTE: Final = """\
# Each alarm has a runbook of the same name in docs/operations.md, which also lists the alarms for each fault.
# Stepwire's repository makes this section of alarms.yaml: `python -m tests.template.alarm_table`.
"""
_TOLD: Final = {"Fn::If": ["HasAlarmTopic", [{"Ref": "AlarmTopicArn"}], {"Ref": "AWS::NoValue"}]}
_SHARED: Final = {"TreatMissingData": "notBreaching", "AlarmActions": _TOLD, "OKActions": _TOLD}
_OF_THIS_STACK: Final = {"Fn::Sub": "Stepwire/${AWS::StackName}"}
_COMPARED: Final = {">": "GreaterThanThreshold", ">=": "GreaterThanOrEqualToThreshold"}
_RINGS: Final = re.compile(r"(\w+) of (\d+) s (>=?) ([\d.]+)(?:, (\d+) of (\d+) times)?")
_METRIC: Final = re.compile(r"(?:(AWS/\w+) )?(\w+)((?: \w+=[\w.]+)*)(?: if (\w+))?")

Row = dict[str, Any]
"""A row of the table: its fields by their names."""


def rows() -> dict[str, Row]:
    """Return the rows of the table by the names of their alarms."""
    return yaml.safe_load(TABLE.read_text(encoding="utf-8"))


def properties(name: str, row: Row) -> dict[str, Any]:
    """Return the properties of the alarm of a row.

    Raises:
        ValueError: a field is not in its form.
    """
    statistic, period, compared, threshold, least, most = _parts(_RINGS, row["rings"])
    text = f"{row['says']}. Runbook: ${{RunbooksUrl}}#{name.lower()}"
    return {
        "AlarmDescription": {"Fn::Sub": text},
        **_watched(row, statistic, int(period)),
        "EvaluationPeriods": int(most or 1),
        **({"DatapointsToAlarm": int(least)} if least else {}),
        "ComparisonOperator": _COMPARED[compared],
        "Threshold": json.loads(threshold),
        **_SHARED,
    }


def _watched(row: Row, statistic: str, period: int) -> dict[str, Any]:
    """Return what an alarm looks at: one metric, several with what is computed of them, or a query."""
    if "metric" in row:
        return {**_metric(row["metric"]), **_statistic(statistic), "Period": period}
    if "metrics" in row:
        texts: dict[str, str] = row["metrics"]
        return {"Metrics": [row["math"], *(_query(name, text, statistic, period) for name, text in texts.items())]}
    return {"Metrics": [{**row["math"], "Period": period}]}


def _statistic(name: str) -> dict[str, str]:
    """Return a statistic; a percentile of few requests tells nothing, and rings nothing."""
    if name.startswith("p"):
        return {"ExtendedStatistic": name, "EvaluateLowSampleCountPercentile": "ignore"}
    return {"Statistic": name}


def _query(identity: str, text: str, statistic: str, period: int) -> dict[str, Any]:
    stat = {"Metric": _metric(text), "Period": period, "Stat": statistic}
    query = {"Id": identity, "ReturnData": False, "MetricStat": stat}
    *_, condition = _parts(_METRIC, text)
    return {"Fn::If": [condition, query, {"Ref": "AWS::NoValue"}]} if condition else query


def _metric(text: str) -> dict[str, Any]:
    namespace, name, named, _ = _parts(_METRIC, text)
    pairs = [pair.split("=") for pair in named.split()]
    dimensions = [{"Name": dimension, "Value": _value(value)} for dimension, value in pairs]
    found = {"Namespace": namespace or _OF_THIS_STACK, "MetricName": name}
    return {**found, "Dimensions": dimensions} if dimensions else found


def _value(text: str) -> Any:
    if text.isdecimal():
        return text
    return {"Fn::GetAtt": text.split(".")} if "." in text else {"Ref": text}


def _parts(form: re.Pattern[str], text: str) -> tuple[str, ...]:
    """Return the parts of a field; each that is not there is empty.

    Raises:
        ValueError: the field is not in this form.
    """
    if (found := form.fullmatch(text)) is None:
        raise ValueError(f"{text!r} is not in the form that alarms.yaml describes")
    return found.groups(default="")


def section() -> str:
    """Return the alarms as operations.yaml has them: a line for each property, as JSON."""
    return _NOTE + "\n".join("\n".join(_lines(name, row)) + "\n" for name, row in rows().items())


def _lines(name: str, row: Row) -> Iterator[str]:
    yield f"{name}:"
    yield from textwrap.wrap(f"Why {row['why']}", 120, initial_indent="  # ", subsequent_indent="  # ")
    yield "  Type: AWS::CloudWatch::Alarm"
    if "if" in row:
        yield f"  Condition: {row['if']}"
    yield "  Properties:"
    for key, value in properties(name, row).items():
        if key == "Metrics":
            yield f"    {key}:"
            yield from (f"      - {json.dumps(one)}" for one in value)
        else:
            yield f"    {key}: {json.dumps(value)}"


def document() -> str:
    """Return operations.yaml with this section, which is its last."""
    before, heading, _ = OPERATIONS.read_text(encoding="utf-8").partition(f"{_HEADING}Alarms\n")
    return f"{before}{heading}{section()}"


def main() -> None:
    """Write the section."""
    OPERATIONS.write_text(document(), encoding="utf-8")


if __name__ == "__main__":
    main()
