"""Waiting requests must not use up the concurrency of others: reservations, and the alarms that roll back a release."""

from typing import Any

import pytest

from stepwire.background.sweep import INTERVAL
from stepwire.engine.limiter import WAITS
from tests.template.chosen import stack
from tests.template.document import references, resource, resources

NEWS = ["ExecutionEventsFunction", "InputRequestsFunction"]
SHARE_OF_A_NEW_ACCOUNT = 10 / 2


def reserved(made: Any, function: str) -> Any:
    return made.properties(function).get("ReservedConcurrentExecutions")


@pytest.mark.parametrize("function", ["McpFunction", *NEWS])
def test_by_default_no_concurrency_is_reserved_so_that_a_new_account_can_deploy(function: str) -> None:
    assert reserved(stack("none"), function) is None


def test_the_given_concurrency_is_reserved() -> None:
    made = stack("none", McpConcurrency="200")

    assert int(reserved(made, "McpFunction")) == 200
    assert [reserved(made, function) for function in NEWS] == [None, None]


def test_by_default_waiting_requests_use_half_of_a_new_accounts_concurrency() -> None:
    most = int(str(stack("none").parameters["MostWaiting"]))

    assert WAITS.each <= most <= SHARE_OF_A_NEW_ACCOUNT


def test_throttling_does_not_roll_back_a_release() -> None:
    alarms = references(resource("McpFunction").properties["DeploymentPreference"]["Alarms"])
    metrics = {
        query["MetricStat"]["Metric"]["MetricName"]
        for alarm in alarms
        for query in resource(alarm).properties["Metrics"]
        if "MetricStat" in query
    }
    patterns = {
        made.properties["MetricTransformations"][0]["MetricName"]: made.properties["FilterPattern"]
        for made in resources("AWS::Logs::MetricFilter")
    }

    assert metrics == {"Errors", "Faults"}
    assert "postponed" not in patterns["Faults"]
    assert "throttled" not in patterns["Faults"]


def test_the_sweep_has_lambdas_longest_timeout_and_its_interval_is_that_of_its_schedule() -> None:
    minutes = INTERVAL.total_seconds() / 60

    assert resource("SweepFunction").properties["Timeout"] == 900 <= INTERVAL.total_seconds()
    assert resource("SweepSchedule").properties["ScheduleExpression"] == f"rate({minutes:g} minutes)"
