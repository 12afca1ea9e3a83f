"""What the roles of the functions may do, which executions they may touch, and who may invoke the functions."""

import json
from typing import Final

import pytest

from local.cloudformation.template import load
from stepwire.tasks.ids import execution_prefix_of
from tests.template.chosen import stack
from tests.template.document import (
    FUNCTION,
    ROOT,
    Resource,
    Statement,
    listed,
    references,
    resource,
    resources,
    statements,
)
from tests.template.resources import named

ROLE: Final = "AWS::IAM::Role"

# Where a permission ends in a wildcard, and why nothing narrower will do.
WILDCARDS: Final = {
    "McpFunction.StartWorkflows": "the tag says which; the endpoint's stack does not know them",
    "SweepFunction.StartWorkflowsThatNeverBegan": "the same",
    "InputRequestsFunction.FindTheTaskOfANestedExecution": "the tag says which; they have names of any kind",
    "McpFunction.CountTheItemsOfDistributedMaps": "the ARN of a Map Run does not have the name of its execution",
    "SweepFunction.PassOverWhatRuns": "the same",
    "McpFunction.FollowAndStopExecutions": "the prefix says which; each task has an execution of its own name",
    "ExecutionEventsFunction.FetchOutputsThatTheEventLeftOut": "the same",
    "McpFunction.AnswerWaitingStates": "the actions know no resources; a token is what they go by",
    "CatalogFunction.ReadWhatIsRegistered": "owners register below the path; which tools there are is theirs to decide",
    "CatalogFunction.ListConsents": "the action knows no resources",
    "CatalogFunction.ReadConsents": "whether there is a tag is what is asked",
    "CatalogFunction.DescribeStateMachines": "the tag says which",
    "ExpirationsFunction.StopExecutions": "the same",
    "ExpirationsFunction.FindTheStream": "Lambda lists the streams of the table to find the one; AWS documents it so",
    "StatusChangesFunction.FindTheStream": "the same",
    "SweepFunction.FollowAndStopExecutions": "the same",
    "SweepFunction.DeliverAnswers": "the actions know no resources; a token is what they go by",
    "InputRequestsFunction.RefuseWhatNobodyCanAnswer": "the same",
}

# Actions that can be allowed for every resource only, for they know none.
WITHOUT_RESOURCES: Final = {"states:SendTaskSuccess", "states:SendTaskFailure", "tag:GetResources"}


OWNERS_CONSENT: Final = {"StringEquals": {"aws:ResourceTag/stepwire:endpoint": {"Ref": "AWS::StackName"}}}


@pytest.mark.parametrize("action", ["states:StartExecution", "states:ListExecutions"])
def test_only_state_machines_whose_owners_consent_by_a_tag_or_that_a_parameter_names_are_run(action: str) -> None:
    allowed = [part for part in statements() if action in part.actions]

    by_tag = [part for part in allowed if part.body.get("Condition") == OWNERS_CONSENT]
    by_arn = [part for part in allowed if part.resources == [{"Ref": "StateMachineArns"}]]

    assert by_tag
    assert by_arn
    assert [part.name for part in allowed if part not in by_tag and part not in by_arn] == []


EXECUTIONS: Final = (
    "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:execution:*:${ExecutionNames.Value}*",
    f"arn:${{AWS::Partition}}:states:${{AWS::Region}}:${{AWS::AccountId}}:execution:*:{'?' * 32}-{'?' * 36}",
)


@pytest.mark.parametrize(
    "part",
    [one for one in statements() if "execution:" in json.dumps(one.resources) and not one.body.get("Condition")],
    ids=named,
)
def test_only_executions_that_bear_a_task_s_name_are_followed_and_stopped(part: Statement) -> None:
    assert [resource["Fn::Sub"] for resource in part.resources] == list(EXECUTIONS)


def test_the_end_of_each_execution_that_bears_the_endpoint_s_prefix_is_reported_and_of_no_other() -> None:
    pattern = resource("ExecutionEventsRule").properties["EventPattern"]

    assert pattern["detail"]["name"] == [{"prefix": {"Fn::GetAtt": ["ExecutionNames", "Value"]}}]
    assert set(pattern["detail"]["status"]) == {"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"}
    assert pattern["source"] == ["aws.states"]
    assert pattern["detail-type"] == ["Step Functions Execution Status Change"]
    assert set(pattern["detail"]) == {"name", "status"}


def test_the_progress_of_each_execution_that_bears_the_endpoint_s_prefix_is_reported() -> None:
    pattern = resource("ProgressRule").properties["EventPattern"]

    ours = [{"wildcard": {"Fn::Sub": EXECUTIONS[0]}}]

    assert pattern["$or"] == [{"resources": ours}, {"detail": {"execution_arn": ours}}]
    assert (pattern["source"], pattern["detail-type"]) == (["stepwire"], ["Stepwire Task Progress"])


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ({}, "sw0a1b2c3d-"),
        ({"PrincipalSalt": "our-tasks"}, "sw0a1b2c3d-"),
        (
            {"PrincipalSalt": f"arn:aws:cloudformation:eu-central-1:{'1' * 12}:stack/old/51af3dc0-{'a' * 27}"},
            "sw51af3dc0-",
        ),
        ({"ExecutionPrefix": "mine-"}, "mine-"),
    ],
)
def test_executions_are_named_after_the_stack_or_the_one_that_it_takes_over(given: dict[str, str], prefix: str) -> None:
    made = stack("none", **given).properties("ExecutionNames")

    assert made["Value"] == execution_prefix_of(prefix) == prefix


# ------------------------------------------------------------------------------------------------------ nothing is open


@pytest.mark.parametrize("permission", resources("AWS::Lambda::Permission"), ids=named)
def test_a_function_is_invoked_only_by_the_one_thing_that_should(permission: Resource) -> None:
    source = permission.properties["SourceArn"]

    caller = references(source) & {found.logical_id for found in resources()}

    assert len(caller) == 1


# -------------------------------------------------------------------------------------------------- nothing is too much


@pytest.mark.parametrize("statement", statements(), ids=named)
def test_no_permission_has_a_wildcard_without_a_reason(statement: Statement) -> None:
    wide = any("*" in json.dumps(part) for part in (statement.actions, statement.resources))

    assert not wide or statement.name in WILDCARDS
    assert not any("*" in action for action in statement.actions)
    assert "*" not in statement.resources or set(statement.actions) <= WITHOUT_RESOURCES


def test_every_reason_for_a_wildcard_is_still_needed() -> None:
    wide = {part.name for part in statements() if "*" in json.dumps(part.resources)}

    assert set(WILDCARDS) == wide


@pytest.mark.parametrize("holder", resources(FUNCTION), ids=named)
def test_no_role_is_given_a_managed_policy(holder: Resource) -> None:
    policies = listed(holder.properties.get("Policies") or [])

    managed = [policy for policy in policies if isinstance(policy, str)]

    assert not managed


def test_sam_adds_no_managed_policy_but_those_for_logs_and_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # the translator wants one
    translated = load(ROOT / "template.yaml", {"Authorizer": "none"}).section("Resources").values()

    added = [found["Properties"].get("ManagedPolicyArns", []) for found in translated if found["Type"] == ROLE]

    assert {json.dumps(arn).rpartition("/")[2].strip('"]}') for arns in added for arn in arns} == {
        "AWSLambdaBasicExecutionRole",
        "AWSCodeDeployRoleForLambda",
    }


def test_every_statement_has_a_name_of_its_own() -> None:
    names = [statement.name for statement in statements()]

    assert not [name for name in names if name.endswith(".?")]
    assert len(names) == len(set(names))
