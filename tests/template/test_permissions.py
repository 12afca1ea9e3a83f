"""What the roles of the functions may do, which executions they may touch, and who may invoke the functions."""

import json
import re
from typing import Any, Final, cast

import pytest
from moto.events.models import EventPattern

from stepwire.tasks.ids import execution_prefix_of
from stepwire_local.cloudformation.template import load
from tests.template.chosen import CHOICES, IN_TEMPLATE, OFF, ON, stack
from tests.template.document import (
    FUNCTION,
    ROLE_POLICY,
    ROOT,
    Resource,
    Statement,
    listed,
    named,
    references,
    resource,
    resources,
    statements,
)

ROLE: Final = "AWS::IAM::Role"

# Limits of AWS, in characters: a parameter's value, the inline policies of a role; and about what an ARN has here.
LONGEST_PARAMETER: Final = 4_096
LONGEST_POLICIES: Final = 10_240
LONGEST_ARN: Final = 120
# The parameters that are lists in policies, and what they list.
LISTS: Final = {
    "StateMachineArns": "arn:aws:states:eu-central-1:123456789012:stateMachine:settle-invoices",
    "ResultObjectArns": "arn:aws:s3:::results-of-workflows/*",
    "StateMachineKeyArns": "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
    "WorkflowRoleArns": "arn:aws:iam::123456789012:role/stepwire",
}

# Permissions with a wildcard, and why they cannot be narrower.
WILDCARDS: Final = {
    "McpFunction.ReadLargeResults": "each result is an object of its own name",
    "McpFunction.KeepLargeResults": "the same",
    "ExecutionEventsFunction.KeepLargeResults": "the same",
    "SweepFunction.KeepLargeResults": "the same",
    "McpFunction.StartWorkflows": "the tag says which; the endpoint's stack does not know them",
    "SweepFunction.StartWorkflowsThatNeverBegan": "the same",
    "InputRequestsFunction.FindTheTaskOfANestedExecution": "the tag says which; they have names of any kind",
    "McpFunction.CountTheItemsOfDistributedMaps": "the ARN of a Map Run does not have the name of its execution",
    "SweepFunction.PassOverWhatRuns": "the same",
    "McpFunction.FollowAndStopExecutions": "the prefix says which; each task has an execution of its own name",
    "ExecutionEventsFunction.FetchOutputsThatTheEventLeftOut": "the same",
    "ExecutionEventsFunction.StartTheNextAttempt": "the tag says which",
    "OperatorFunction.StartTheNextAttempt": "the same",
    "ExecutionEventsFunction.RedriveOrStopTheNextAttempt": "the prefix says which",
    "OperatorFunction.RedriveOrStopTheNextAttempt": "the same",
    "OperatorFunction.ReadExecutions": "the same",
    "McpFunction.AnswerWaitingStates": "the actions know no resources; a token is what they go by",
    "CatalogFunction.ReadWhatIsRegistered": "owners register below the path; which tools there are is theirs to decide",
    "CatalogFunction.ListConsents": "the action knows no resources",
    "CatalogFunction.FindOwnersOfManifests": "the same",
    "CatalogFunction.ReadConsents": "whether there is a tag is what is asked",
    "CatalogFunction.DescribeStateMachines": "the tag says which",
    "ExpirationsFunction.StopExecutions": "the same",
    "ExpirationsFunction.FindTheStream": "Lambda lists the streams of the table to find the one; AWS documents it so",
    "StatusChangesFunction.FindTheStream": "the same",
    "SweepFunction.FollowAndStopExecutions": "the same",
    "SweepFunction.DeliverAnswers": "the actions know no resources; a token is what they go by",
    "InputRequestsFunction.RefuseWhatNobodyCanAnswer": "the same",
    "InputRequestsFunction.GiveRetriedStatesTheirAnswers": "the same",
    **{statement: why for part in IN_TEMPLATE for statement, why in part.wildcards.items()},
}

# Actions without resource-level permissions.
WITHOUT_RESOURCES: Final = {
    "states:SendTaskSuccess",
    "states:SendTaskFailure",
    "states:SendTaskHeartbeat",
    "tag:GetResources",
    "ssm:DescribeParameters",
}


OWNERS_CONSENT: Final = {"StringEquals": {"aws:ResourceTag/stepwire:endpoint": {"Ref": "AWS::StackName"}}}


@pytest.mark.parametrize("action", ["states:StartExecution", "states:ListExecutions"])
def test_only_state_machines_with_the_tag_or_named_by_a_parameter_may_be_started(action: str) -> None:
    allowed = [part for part in statements() if action in part.actions]

    by_tag = [part for part in allowed if part.body.get("Condition") == OWNERS_CONSENT]
    by_arn = [part for part in allowed if part.resources == [{"Ref": "StateMachineArns"}]]

    assert by_tag
    assert by_arn
    assert [part.name for part in allowed if part not in by_tag and part not in by_arn] == []


# S8
def test_only_functions_that_record_ends_write_large_results_and_one_reads_them() -> None:
    objects = {"Fn::Sub": "${LargeResults.Arn}/*"}

    holders = {(part.name, *part.actions) for part in statements() if part.resources == [objects]}

    assert holders == {
        ("McpFunction.ReadLargeResults", "s3:GetObject"),
        ("McpFunction.KeepLargeResults", "s3:PutObject"),
        ("ExecutionEventsFunction.KeepLargeResults", "s3:PutObject"),
        ("SweepFunction.KeepLargeResults", "s3:PutObject"),
    }
    told = {one.logical_id for one in resources(FUNCTION) if "LARGE_RESULTS_BUCKET" in json.dumps(one.properties)}
    assert told == {"McpFunction", "ExecutionEventsFunction", "SweepFunction"}


def test_roles_may_read_only_the_objects_that_a_parameter_names_so_a_manifest_opens_nothing() -> None:
    """A link is as good as its signer: whoever operates the endpoint allows s3:GetObject on the objects of results."""
    policies = [policy for one in resources(FUNCTION) for policy in listed(one.properties.get("Policies") or [])]

    of_s3 = [
        part
        for part in statements()
        for action in part.actions
        if action.lower().startswith(("s3:", "*")) and references(part.resources) != {"LargeResults"}
    ]

    assert {tuple(part.actions) for part in of_s3} == {("s3:GetObject",)}
    assert [part.name for part in of_s3 if part.resources != [{"Ref": "ResultObjectArns"}]] == []
    assert not stack("jwt").has("ReadResults")
    assert stack("jwt", ResultObjectArns="arn:aws:s3:::my-reports/*").has("ReadResults")
    assert [policy for policy in policies if not isinstance(policy, dict)] == [], "a managed policy may allow more"


EXECUTIONS: Final = "arn:${AWS::Partition}:states:${AWS::Region}:${AWS::AccountId}:execution:*:${ExecutionNames.Value}*"


@pytest.mark.parametrize(
    "part",
    [one for one in statements() if "execution:" in json.dumps(one.resources) and not one.body.get("Condition")],
    ids=named,
)
def test_only_executions_named_after_a_task_may_be_read_and_stopped(part: Statement) -> None:
    assert [resource["Fn::Sub"] for resource in part.resources] == [EXECUTIONS]


A_CALLER: Final = "?" * 32


# L11: they read what others have written, or call addresses that others choose
@pytest.mark.parametrize(
    ("name", "partitions"),
    [
        ("CatalogFunction.PublishedCatalog", ["catalog", "catalog#*"]),
        ("ExecutionEventsFunction.Tasks", [A_CALLER]),
        ("OperatorFunction.Tasks", [A_CALLER]),
        ("OperatorFunction.FindTasksAndFreeSlots", [A_CALLER]),
        ("InputRequestsFunction.Tasks", [A_CALLER]),
        ("ExpirationsFunction.FreeSlots", [A_CALLER]),
        *((statement, partitions) for part in IN_TEMPLATE for statement, partitions in part.partitions.items()),
    ],
)
def test_a_function_reaches_no_item_but_those_of_its_partitions(name: str, partitions: list[str]) -> None:
    (part,) = (one for one in statements() if one.name == name)

    assert part.body["Condition"] == {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": partitions}}


def test_only_ends_and_redrives_of_executions_with_the_endpoint_s_prefix_are_reported() -> None:
    pattern = resource("ExecutionEventsRule").properties["EventPattern"]

    assert pattern["detail"]["name"] == [{"prefix": {"Fn::GetAtt": ["ExecutionNames", "Value"]}}]
    ends, redrives = pattern["detail"]["$or"]
    assert ends == {"status": ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"]}
    assert redrives == {"status": ["RUNNING"], "redriveCount": [{"numeric": [">", 0]}]}
    assert pattern["source"] == ["aws.states"]
    assert pattern["detail-type"] == ["Step Functions Execution Status Change"]
    assert set(pattern["detail"]) == {"name", "$or"}


# A bus may get the events of other accounts and regions.
@pytest.mark.parametrize(
    ("changed", "reaches"), [({}, True), ({"account": "1" * 12}, False), ({"region": "us-east-2"}, False)]
)
def test_only_parameters_of_the_endpoint_s_account_and_region_add_and_remove_tools(
    changed: dict[str, str], reaches: bool
) -> None:
    pattern = stack("none").properties("RegistrationRule")["EventPattern"]
    ((path,),) = (name.values() for name in pattern["detail"]["name"])
    event: dict[str, Any] = {
        "source": "aws.ssm",
        "detail-type": "Parameter Store Change",
        "account": "AWS::AccountId",
        "region": "AWS::Region",
        "detail": {"name": f"{path}refund", "operation": "Delete"},
    }

    assert EventPattern.load(json.dumps(pattern)).matches_event(cast(Any, {**event, **changed})) == reaches


def test_progress_of_executions_with_the_endpoint_s_prefix_is_reported() -> None:
    pattern = resource("ProgressRule").properties["EventPattern"]

    ours = [{"wildcard": {"Fn::Sub": EXECUTIONS}}]

    assert pattern["$or"] == [{"resources": ours}, {"detail": {"execution_arn": ours}}]
    assert (pattern["source"], pattern["detail-type"]) == (["stepwire"], ["Stepwire Task Progress"])


@pytest.mark.parametrize(
    ("given", "prefix"),
    [
        ({}, "sw0a1b2c3d-"),
        (
            {"PrincipalSalt": f"arn:aws:cloudformation:eu-central-1:{'1' * 12}:stack/old/51af3dc0-{'a' * 27}"},
            "sw51af3dc0-",
        ),
    ],
)
def test_executions_are_named_after_the_stack_or_the_stack_that_it_replaces(given: dict[str, str], prefix: str) -> None:
    made = stack("none", **given).properties("ExecutionNames")

    assert made["Value"] == execution_prefix_of(prefix) == prefix


# ------------------------------------------------------------------------------------------------------ nothing is open


@pytest.mark.parametrize("permission", resources("AWS::Lambda::Permission"), ids=named)
def test_each_function_may_be_invoked_by_its_one_trigger_only(permission: Resource) -> None:
    source = permission.properties["SourceArn"]

    caller = references(source) & {found.logical_id for found in resources()}

    assert len(caller) == 1 or caller == {"Api", "RestApi"}  # of which a stack has one


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


@pytest.mark.parametrize(
    "shares",
    [
        {"StateMachineArns": LONGEST_PARAMETER},
        {"ResultObjectArns": LONGEST_PARAMETER},
        {"StateMachineKeyArns": LONGEST_PARAMETER},
        {"WorkflowRoleArns": LONGEST_PARAMETER},
        dict.fromkeys(LISTS, 5_000 // len(LISTS)),  # as docs/limits.md has it
    ],
    ids=" ".join,
)
def test_the_policies_of_a_role_fit_however_long_the_lists_of_the_parameters_are(shares: dict[str, int]) -> None:
    lists = {name: LISTS[name] for name in shares}
    given = {name: ",".join([one] * (shares[name] // (len(one) + 1))) for name, one in lists.items()}
    made = stack("cognito", **given, **ON, EventBus="default", KmsKeyArn=LISTS["StateMachineKeyArns"])
    held = {f"{name}Role": characters(one.get("Policies", [])) for name, one in made.all_of(FUNCTION).items()}

    for policy in made.all_of(ROLE_POLICY).values():
        for role in policy["Roles"]:
            held[role] += characters(policy["PolicyDocument"])

    assert max(held.values()) <= LONGEST_POLICIES, held


def characters(policies: Any) -> int:
    """Return how many characters IAM counts, where references to resources become ARNs."""
    text = json.dumps(policies, separators=(",", ":"))
    return len(text) + len(re.findall(r"\.(?:Stream)?Arn\b", text)) * LONGEST_ARN


@pytest.mark.parametrize("authorizer", CHOICES)
@pytest.mark.parametrize("extras", [OFF, ON], ids=["least", "most"])
def test_no_policy_is_without_a_statement_whatever_is_switched_off(authorizer: str, extras: dict[str, str]) -> None:
    functions = stack(authorizer, **extras).all_of(FUNCTION)

    for name, properties in functions.items():
        policies = listed(properties.get("Policies", []))
        assert all(policy["Statement"] for policy in policies), f"{name}: IAM takes no policy without a statement"


@pytest.mark.parametrize("holder", resources(FUNCTION), ids=named)
def test_no_role_is_given_a_managed_policy(holder: Resource) -> None:
    policies = listed(holder.properties.get("Policies") or [])

    managed = [policy for policy in policies if isinstance(policy, str)]

    assert not managed


def test_sam_adds_no_managed_policy_but_those_for_logs_and_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # the translator needs a Region
    translated = load(ROOT / "stack.yaml", {"Authorizer": "none"}).section("Resources").values()

    added = [found["Properties"].get("ManagedPolicyArns", []) for found in translated if found["Type"] == ROLE]

    assert {json.dumps(arn).rpartition("/")[2].strip('"]}') for arns in added for arn in arns} == {
        "AWSLambdaBasicExecutionRole",
        "AWSCodeDeployRoleForLambda",
    }


def test_every_statement_has_a_unique_name() -> None:
    names = [statement.name for statement in statements()]

    assert not [name for name in names if name.endswith(".?")]
    assert len(names) == len(set(names))
