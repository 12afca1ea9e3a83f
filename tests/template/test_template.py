"""The template keeps its promises: nothing is lost, nothing is open, nothing may do more than it does."""

import json
from typing import Final

import pytest

from local.cloudformation.intrinsics import resolve
from local.cloudformation.template import load
from stepwire.engine.waiting import TIME_TO_ANSWER
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
    template,
)

ROLE: Final = "AWS::IAM::Role"

# Where a permission ends in a wildcard, and why nothing narrower will do.
WILDCARDS: Final = {
    "McpFunction.StartWorkflows": "the tag says which; the endpoint's stack does not know them",
    "SweepFunction.StartWorkflowsThatNeverBegan": "the same",
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

# Properties that give a resource a name of its own, which then can exist only once in an account and Region.
PHYSICAL_NAMES: Final = {
    FUNCTION: "FunctionName",
    "AWS::ApiGatewayV2::Api": "Name",
    "AWS::ApiGatewayV2::DomainName": "DomainName",
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::Cognito::UserPool": "UserPoolName",
    "AWS::DynamoDB::Table": "TableName",
    "AWS::Events::ApiDestination": "Name",
    "AWS::Events::Connection": "Name",
    "AWS::Events::Rule": "Name",
    "AWS::IAM::Role": "RoleName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::Logs::MetricFilter": "FilterName",
    "AWS::Route53::RecordSet": "Name",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SSM::Parameter": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SecretsManager::Secret": "Name",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Serverless::LayerVersion": "LayerName",
}
# Resources that have no such name: parts of others.
NAMELESS: Final = {
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolDomain",
    "AWS::Cognito::UserPoolResourceServer",
    "AWS::IAM::Policy",
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::SQS::QueuePolicy",
}


def named(value: Resource | Statement | object) -> str:
    return getattr(value, "logical_id", getattr(value, "name", str(value)))


# -------------------------------------------------------------------------------------- tools and their state machines


def test_the_endpoint_s_stack_knows_no_state_machine() -> None:
    variables = resource("McpFunction").properties["Environment"]["Variables"]

    assert [one.logical_id for one in resources() if "StateMachine" in one.kind] == []
    assert "STATE_MACHINES" not in variables


def test_other_stacks_read_in_a_parameter_which_function_asks_the_users() -> None:
    address = resource("InputRequestsAddress").properties

    assert address["Name"] == {"Fn::Sub": "/stepwire/${AWS::StackName}/input_requests"}
    assert references(address["Value"]) == {"InputRequestsFunction"}
    assert address["Type"] == "String"


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


@pytest.mark.parametrize("part", [one for one in statements() if "execution:" in json.dumps(one.resources)], ids=named)
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


# What AWS allows: characters of a role's policies together, of an event pattern, bytes of a function's environment.
LARGEST_POLICIES: Final = 10_240
LARGEST_PATTERN: Final = 2_048
LARGEST_ENVIRONMENT: Final = 4_096


@pytest.mark.parametrize("function", [one.logical_id for one in resources(FUNCTION)])
def test_no_role_and_no_environment_comes_near_its_limit_however_many_tools_there_are(function: str) -> None:
    made = stack(
        "jwt", EventBus="default", StateMachineArns=",".join([f"arn:aws:states:a-b-1:{'1' * 12}:stateMachine:n*"])
    )
    properties = made.properties(function)

    policies = len(json.dumps(properties.get("Policies", []), separators=(",", ":")))
    variables = {**resolve(template()["Globals"], made)["Function"]["Environment"]["Variables"]}
    variables |= properties.get("Environment", {}).get("Variables", {})

    assert policies < LARGEST_POLICIES / 2
    assert len(json.dumps(variables).encode()) < LARGEST_ENVIRONMENT


@pytest.mark.parametrize("rule", resources("AWS::Events::Rule"), ids=named)
def test_no_event_pattern_comes_near_its_limit_however_many_tools_there_are(rule: Resource) -> None:
    made = stack(
        "jwt",
        EventBus="default",
        WebhookUrl="https://a.example",
        WebhookSecretArn=f"arn:aws:secretsmanager:a:{'1' * 12}:secret:s",
    )
    pattern = made.properties(rule.logical_id).get("EventPattern", {})

    assert len(json.dumps(pattern)) < LARGEST_PATTERN / 2


def test_only_what_dynamodb_itself_removes_of_the_tasks_reaches_the_function() -> None:
    mapping = resource("Expirations").properties

    (wanted,) = mapping["FilterCriteria"]["Filters"]

    assert json.loads(wanted["Pattern"]) == {
        "eventName": ["REMOVE"],
        "userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]},
        "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "task#"}]}}},
    }
    assert references(mapping["DestinationConfig"]) == {"DeadLetters"}


def test_no_arn_names_a_partition_for_the_stack_may_be_in_another() -> None:
    text = (ROOT / "template.yaml").read_text(encoding="utf-8")

    assert "arn:aws:" not in text


# ------------------------------------------------------------------------------------------------------ nothing is lost


def test_the_table_forgets_by_itself_and_nothing_else_makes_it_forget() -> None:
    table = resource("TasksTable")

    properties = table.properties

    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["SSESpecification"]["SSEEnabled"] is True
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert (table.body["DeletionPolicy"], table.body["UpdateReplacePolicy"]) == ("Retain", "Retain")


# A schedule tells nothing that could be lost: what one run leaves undone is first in the next.
TELLING_RULES: Final = [rule for rule in resources("AWS::Events::Rule") if "EventPattern" in rule.properties]


@pytest.mark.parametrize("rule", TELLING_RULES, ids=named)
def test_an_event_that_cannot_be_delivered_is_kept_in_a_queue(rule: Resource) -> None:
    queues = {queue.logical_id for queue in resources("AWS::SQS::Queue")}

    kept_in = [references(target["DeadLetterConfig"]["Arn"]) for target in rule.properties["Targets"]]

    assert kept_in
    assert all(len(names) == 1 and names <= queues for names in kept_in)


@pytest.mark.parametrize("rule", TELLING_RULES, ids=named)
def test_an_event_that_a_function_cannot_record_is_kept_in_a_queue(rule: Resource) -> None:
    targets = [resource(name) for target in rule.properties["Targets"] for name in references(target["Arn"])]

    queues = [target.properties["DeadLetterQueue"] for target in targets if target.kind == FUNCTION]

    assert targets
    assert queues or {target.kind for target in targets} == {"AWS::Events::ApiDestination"}, "it keeps nothing itself"
    assert all(queue["Type"] == "SQS" for queue in queues)
    assert all(resource(name).kind == "AWS::SQS::Queue" for queue in queues for name in references(queue["TargetArn"]))


def test_the_rules_may_put_their_events_into_the_queue() -> None:
    (policy,) = resources("AWS::SQS::QueuePolicy")

    (statement,) = policy.properties["PolicyDocument"]["Statement"]

    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert references(statement["Resource"]) == {"DeadLetters"}
    rules = {
        rule.logical_id
        for rule in resources("AWS::Events::Rule")
        for target in rule.properties["Targets"]
        if "DeadLetterConfig" in target
    }
    assert references(statement["Condition"]) - {"AWS::NoValue"} == rules, (
        "only these rules, not every rule of every account"
    )


@pytest.mark.parametrize("function", resources(FUNCTION), ids=named)
def test_every_functions_log_is_kept_for_a_time_that_is_set(function: Resource) -> None:
    (group,) = references(function.properties["LoggingConfig"]["LogGroup"])

    retention = resource(group).properties["RetentionInDays"]

    assert resource(group).kind == "AWS::Logs::LogGroup"
    assert retention == {"Ref": "LogRetentionDays"}


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


@pytest.mark.parametrize("found", resources(), ids=named)
def test_the_stack_can_be_deployed_twice_because_nothing_has_a_fixed_name(found: Resource) -> None:
    assert found.kind in PHYSICAL_NAMES or found.kind in NAMELESS, (
        "say in this file how a resource of this kind is named"
    )

    name = found.properties.get(PHYSICAL_NAMES.get(found.kind, ""))

    assert name is None or "AWS::Stack" in json.dumps(name) or references(name), "not from the stack, nor given"


# ----------------------------------------------------------------------------------------------------- it fits together


def test_the_longest_wait_ends_before_the_function_does_and_the_function_before_api_gateway() -> None:
    waits = [template()["Parameters"][f"{name}Seconds"]["MaxValue"] for name in ("Wait", "InlineWait", "Hold")]

    timeout = resource("McpFunction").properties["Timeout"]
    api_gateway = resource("McpIntegration").properties["TimeoutInMillis"] / 1000

    assert max(waits) + TIME_TO_ANSWER.total_seconds() <= timeout < api_gateway <= 30


@pytest.mark.parametrize("section", ["Parameters", "Outputs"])
def test_every_parameter_and_output_says_what_it_is(section: str) -> None:
    entries = template()[section]

    undescribed = [name for name, entry in entries.items() if not entry.get("Description")]

    assert entries
    assert not undescribed


def test_every_parameter_is_used_and_shown_in_a_group() -> None:
    parameters = set(template()["Parameters"])

    groups = template()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    rest = [part for name, part in template().items() if name not in {"Parameters", "Metadata", "Rules"}]

    assert {name for group in groups for name in group["Parameters"]} == parameters
    assert parameters <= references(rest)
