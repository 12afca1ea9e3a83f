"""Alarms ring: a burst of refusals, from the access log by its metric filter to the alarm of its status."""

import json

import pytest

from stepwire_local.cloudformation.intrinsics import resolve
from tests.template.alarms import rings
from tests.template.chosen import stack
from tests.template.document import resource
from tests.template.test_seen import Names


def counted(lines: list[dict[str, str]]) -> dict[str, int]:
    """Return what the metric filter of the access log counts, by its dimension."""
    found = resource("ClientErrors").properties
    (metric,) = found["MetricTransformations"]
    assert (found["FilterPattern"], metric["MetricValue"]) == ('{ $.status = "4*" }', "1")
    (dimension,) = metric["Dimensions"]
    assert dimension["Value"] == "$.status"
    wanted = [line["status"] for line in lines if line["status"].startswith("4")]
    return {status: wanted.count(status) for status in wanted}


@pytest.mark.parametrize(
    ("status", "times", "ringing"),
    [("401", 300, {"SignInsAlarm"}), ("403", 300, {"ClientErrorsAlarm"}), ("429", 300, {"ClientErrorsAlarm"}),
     ("404", 299, set[str]()), ("400", 900, set[str]()), ("200", 900, set[str]())],
)  # fmt: skip
def test_a_burst_of_refusals_rings_by_its_status(status: str, times: int, ringing: set[str]) -> None:
    log = json.loads(stack("iam").properties("Stage")["AccessLogSettings"]["Format"])
    values = counted([{**log, "status": status}] * times)

    rung = set[str]()
    for name in ("SignInsAlarm", "ClientErrorsAlarm"):
        alarm = resolve(resource(name).properties, Names())
        queries = [one["MetricStat"]["Metric"] for one in alarm.get("Metrics", ()) if "MetricStat" in one] or [alarm]
        watched = [values.get(one["Dimensions"][0]["Value"], 0) for one in queries]
        rung |= {name} if rings(alarm, [max(watched)]) else set()

    assert log["status"] == "$context.status"
    assert rung == ringing
