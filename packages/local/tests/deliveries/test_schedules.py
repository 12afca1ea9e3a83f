"""Schedules fire, by themselves or on demand, and reach functions, queues, topics and state machines."""

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from packages.local.tests.applications import arn, function, resource, served
from stepwire_local import LocalStackError
from stepwire_local.streams.schedule_expressions import Rate
from tests.waiting import until

EVERY_DAY = "rate(1 day)"
ALWAYS = Rate(timedelta(microseconds=1))


def on(kind: str, **properties: Any) -> dict[str, Any]:
    """Return a function with an event of a type of schedule."""
    return function(Events={"Often": {"Type": kind, "Properties": properties}})


def test_the_events_of_functions_fire_on_demand(tmp_path: Path) -> None:
    resources = {
        "Old": on("Schedule", Schedule=EVERY_DAY),
        "Constant": on("Schedule", Schedule="cron(0 8 * * ? *)", Input='{"a": 1}'),
        "New": on("ScheduleV2", ScheduleExpression=EVERY_DAY, Input='{"at": "<aws.scheduler.scheduled-time>"}'),
        "Bare": on("ScheduleV2", ScheduleExpression=EVERY_DAY, State="DISABLED"),
    }

    with served(tmp_path, resources) as application:
        names = [one.name for one in application.stack.schedules]
        for name in names:
            application.stack.fire(name)
        seen = {name: application.seen(name) for name in resources}

    assert names == ["OldOften", "ConstantOften", "NewOften", "BareOften"]
    (old,), (new,), (bare,) = seen["Old"], seen["New"], seen["Bare"]
    assert (old["source"], old["detail-type"], old["detail"]) == ("aws.events", "Scheduled Event", {})
    assert old["resources"][0].startswith("arn:aws:events:us-east-1:123456789012:rule/")
    assert seen["Constant"] == [{"a": 1}]
    assert new["at"].endswith("Z")
    assert (bare["source"], bare["detail"]) == ("aws.scheduler", "{}")
    assert [(one.kind, one.source, one.target) for one in application.told][:1] == [("schedule", "OldOften", "Old")]


def test_a_schedule_fires_by_itself(tmp_path: Path) -> None:
    rule = resource("Events::Rule", ScheduleExpression="at(2999-01-01T00:00:00)", Targets=[])
    target = {"Arn": arn("Queue"), "RoleArn": arn("Role")}
    allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": arn("Queue")}
    policy = {"PolicyName": "send", "PolicyDocument": {"Statement": [allowed]}}
    resources = {
        "Rule": rule,
        "Queue": resource("SQS::Queue"),
        "Role": resource("IAM::Role", AssumeRolePolicyDocument={}, Policies=[policy]),
        "Soon": resource(
            "Scheduler::Schedule", ScheduleExpression="rate(1 minute)", Target=target, FlexibleTimeWindow={}
        ),
    }

    with served(tmp_path, resources, fires_schedules=True) as application:
        schedules = application.stack.deployments[0].world.schedules
        schedules["Soon"] = replace(schedules["Soon"], expression=ALWAYS)
        sent = until(lambda: application.messages("Queue"))

    assert sent[0]["source"] == "aws.scheduler"


def test_a_schedule_starts_a_state_machine_if_its_role_may(tmp_path: Path) -> None:
    machine = {
        "Definition": {"StartAt": "End", "States": {"End": {"Type": "Succeed"}}},
        "Events": {
            "Often": {"Type": "Schedule", "Properties": {"Schedule": EVERY_DAY, "Input": '{"a": 1}'}},
            "Later": {"Type": "ScheduleV2", "Properties": {"ScheduleExpression": EVERY_DAY, "Input": '{"a": 2}'}},
        },
    }
    resources = {"Machine": resource("Serverless::StateMachine", **machine)}

    with served(tmp_path, resources) as application:
        for one in application.stack.schedules:
            application.stack.fire(one.name)
        workflows = application.stack.client("stepfunctions")
        started = workflows.list_executions(stateMachineArn=application.stack.physical_ids["Machine"])["executions"]
        given = [workflows.describe_execution(executionArn=one["executionArn"])["input"] for one in started]

    assert sorted(map(json.loads, given), key=str) == [{"a": 1}, {"a": 2}]


def test_a_schedule_whose_role_may_not_says_so(
    tmp_path: Path, refusals: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    target = {"Arn": arn("Keeps"), "RoleArn": arn("Role")}
    resources = {
        "Keeps": function(),
        "Role": resource("IAM::Role", AssumeRolePolicyDocument={}),
        "Often": resource("Scheduler::Schedule", ScheduleExpression=EVERY_DAY, Target=target),
    }

    with served(tmp_path, resources) as application:
        application.stack.fire("Often")
        assert application.seen("Keeps") == []

    assert "The schedule Often cannot reach Keeps" in caplog.text
    assert "is not authorized to perform: lambda:InvokeFunction" in caplog.text
    refusals.clear()


def test_a_schedule_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    with (
        served(tmp_path, {"Old": on("Schedule", Schedule=EVERY_DAY)}) as application,
        pytest.raises(LocalStackError, match=r"There is no schedule Often\. The schedules: OldOften\."),
    ):
        application.stack.fire("Often")


@pytest.mark.parametrize(
    ("schedule", "note"),
    [
        (resource("Events::Rule", ScheduleExpression="rate(5)"), "never fires: rate(5): a rate is a positive number"),
        (resource("Events::Rule", ScheduleExpression="cron(0 0 1 1 ? 2020)"), "cron(0 0 1 1 ? 2020) names no time to"),
        (
            resource("Scheduler::Schedule", ScheduleExpression=EVERY_DAY, Target={"Arn": "arn:aws:ecs:a:1:b"}),
            "its target arn:aws:ecs:a:1:b cannot be reached here",
        ),
        (
            resource(
                "Scheduler::Schedule",
                ScheduleExpression=EVERY_DAY,
                ScheduleExpressionTimezone="Mars/Olympus",
                Target={"Arn": arn("Keeps")},
            ),
            "there is no time zone Mars/Olympus",
        ),
    ],
)
def test_a_schedule_that_cannot_be_served_is_one_line(tmp_path: Path, schedule: dict[str, Any], note: str) -> None:
    with served(tmp_path, {"Wrong": schedule, "Keeps": on("Schedule", Schedule=EVERY_DAY)}) as application:
        (noted,) = application.stack.not_served
        application.stack.fire("KeepsOften")

        assert len(application.seen("Keeps")) == 1
    assert noted.startswith("Wrong: ")
    assert note in noted


def test_changes_of_schedules_are_taken_over(tmp_path: Path) -> None:
    def rule(text: str) -> dict[str, Any]:
        return resource("Events::Rule", ScheduleExpression=text, Targets=[{"Id": "q", "Arn": arn("Queue")}])

    queue = {"Queue": resource("SQS::Queue")}
    with served(tmp_path, queue) as application:
        found: list[list[str]] = []
        for resources in ({**queue, "Rule": rule(EVERY_DAY)}, {**queue, "Rule": rule("rate(2 days)")}, queue):
            (tmp_path / "template.json").write_text(json.dumps({"Resources": resources}), encoding="utf-8")
            application.stack.update(application.stack.deployments[0])
            found.append([one.text for one in application.stack.schedules])

    assert found == [[EVERY_DAY], ["rate(2 days)"], []]
