"""The promises of the template: no event is lost, nothing is public by mistake, and limits are respected."""

import json
from datetime import timedelta
from typing import Final

import pytest

from stepwire.engine.limiter import TIME_TO_ANSWER
from stepwire.tasks.task import LONGEST_KEPT
from stepwire_local.cloudformation.intrinsics import resolve
from tests.template.chosen import ON, STACK, Stack, stack
from tests.template.document import (
    FUNCTION,
    ROOT,
    Resource,
    named,
    references,
    resource,
    resources,
    sources,
    template,
)
from tests.template.test_permissions import LISTS
from tests.template.translated import translated

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
    "AWS::Glue::Database": "DatabaseName",
    "AWS::IAM::Role": "RoleName",
    "AWS::KinesisFirehose::DeliveryStream": "DeliveryStreamName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::Logs::MetricFilter": "FilterName",
    "AWS::Logs::SubscriptionFilter": "FilterName",
    "AWS::Route53::RecordSet": "Name",
    "AWS::S3::Bucket": "BucketName",
    "AWS::SSM::Parameter": "Name",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SecretsManager::Secret": "Name",
    "AWS::SQS::Queue": "QueueName",
    "AWS::Serverless::Api": "Name",
    "AWS::Serverless::LayerVersion": "LayerName",
}
# Resources without a physical name, which are parts of others.
NAMELESS: Final = {
    "AWS::ApiGatewayV2::ApiMapping",
    "AWS::ApiGatewayV2::Authorizer",
    "AWS::ApiGatewayV2::Integration",
    "AWS::ApiGatewayV2::Route",
    "AWS::ApiGatewayV2::Stage",
    "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolDomain",
    "AWS::Cognito::UserPoolResourceServer",
    "AWS::Glue::Table",
    "AWS::IAM::Policy",
    "AWS::Lambda::Alias",  # it has a name within its function
    "AWS::Lambda::EventSourceMapping",
    "AWS::Lambda::Permission",
    "AWS::Logs::LogStream",
    "AWS::S3::BucketPolicy",
    "AWS::SQS::QueuePolicy",
    "AWS::WAFv2::WebACLAssociation",
}


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


# Limits of AWS: characters of a role's policies in all, of an event pattern, bytes of a function's environment.
LARGEST_POLICIES: Final = 10_240
LARGEST_PATTERN: Final = 2_048
LARGEST_ENVIRONMENT: Final = 4_096
# The name of a table, or the URL of a queue, whose stack has the longest name.
LONGEST_NAME: Final = "n" * 160


MANY: Final = {
    "EndpointUrl": "https://mcp.example/mcp",
    "EventBus": "default",
    **ON,
    "StateMachineArns": f"arn:aws:states:a-b-1:{'1' * 12}:stateMachine:n*",
}


@pytest.mark.parametrize("function", stack("jwt", **MANY).all_of(FUNCTION))
def test_no_role_and_no_environment_comes_near_its_limit_however_many_tools_there_are(function: str) -> None:
    assert_far_from_limits(stack("jwt", **MANY), function)


def assert_far_from_limits(made: Stack, function: str) -> None:
    policies = len(json.dumps(made.properties(function).get("Policies", []), separators=(",", ":")))

    assert policies < LARGEST_POLICIES / 2
    assert len(json.dumps(environment(made, function)).encode()) < LARGEST_ENVIRONMENT


def environment(made: Stack, function: str) -> dict[str, str]:
    """Return the environment of a function, with names of resources that are as long as they can be."""
    variables: dict[str, str] = resolve(template()["Globals"], made)["Function"]["Environment"]["Variables"]
    variables = variables | made.properties(function).get("Environment", {}).get("Variables", {})
    return {name: LONGEST_NAME if value in template()["Resources"] else value for name, value in variables.items()}


@pytest.mark.parametrize(
    "shares",
    [{"StateMachineArns": 3_000}, {"WorkflowRoleArns": 3_000}, {"StateMachineArns": 1_500, "WorkflowRoleArns": 1_500}],
    ids=" ".join,
)
def test_an_environment_has_room_for_the_lists_of_the_parameters_as_far_as_the_limits_say(
    shares: dict[str, int],
) -> None:
    """Lambda refuses a larger one at the deployment; docs/limits.md has the numbers."""
    lists = {name: ",".join([LISTS[name]] * (size // (len(LISTS[name]) + 1))) for name, size in shares.items()}
    made = stack("cognito", **lists, **ON, EventBus="default")

    sizes = {one: len(json.dumps(environment(made, one))) for one in made.all_of(FUNCTION)}

    assert max(sizes.values()) <= LARGEST_ENVIRONMENT - len(STACK["AWS::StackName"]), sizes  # also part of its id


@pytest.mark.parametrize("rule", resources("AWS::Events::Rule"), ids=named)
def test_no_event_pattern_comes_near_its_limit_however_many_tools_there_are(rule: Resource) -> None:
    made = stack("jwt", **ON, EventBus="default")
    pattern = made.properties(rule.logical_id).get("EventPattern", {})

    assert len(json.dumps(pattern)) < LARGEST_PATTERN / 2


def test_only_ttl_deletions_of_tasks_reach_the_function() -> None:
    mapping = resource("Expirations").properties

    (wanted,) = mapping["FilterCriteria"]["Filters"]

    assert json.loads(wanted["Pattern"]) == {
        "eventName": ["REMOVE"],
        "userIdentity": {"type": ["Service"], "principalId": ["dynamodb.amazonaws.com"]},
        "dynamodb": {"Keys": {"sk": {"S": [{"prefix": "task#"}]}}},
    }
    assert references(mapping["DestinationConfig"]) == {"DeadLetters"}


def test_no_arn_names_a_partition_for_the_stack_may_be_in_another() -> None:
    assert all("arn:aws:" not in text for text in sources())


# ------------------------------------------------------------------------------------------------------ nothing is lost


def test_items_expire_by_ttl_and_the_table_is_protected_from_deletion() -> None:
    table = resource("TasksTable")

    properties = table.properties

    assert properties["TimeToLiveSpecification"] == {"AttributeName": "expires_at", "Enabled": True}
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert (table.body["DeletionPolicy"], table.body["UpdateReplacePolicy"]) == ("Retain", "Retain")


# S8
def test_a_large_result_outlives_its_task_and_the_stack_and_then_expires() -> None:
    """A result is written at the end of its task, which is kept for a month at most from then on."""
    bucket = resource("LargeResults")

    (rule,) = bucket.properties["LifecycleConfiguration"]["Rules"]

    assert timedelta(days=rule["ExpirationInDays"]) == LONGEST_KEPT + timedelta(days=1)
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}, "also where an operator has made versions"
    assert rule["Status"] == "Enabled"
    assert "Prefix" not in rule, "of whatever name"
    assert "VersioningConfiguration" not in bucket.properties, "what has expired is gone"
    assert (bucket.body["DeletionPolicy"], bucket.body["UpdateReplacePolicy"]) == ("Retain", "Retain")


# S8
def test_large_results_are_open_to_nobody_else_and_over_tls_only() -> None:
    bucket = resource("LargeResults").properties
    (statement,) = resource("LargeResultsPolicy").properties["PolicyDocument"]["Statement"]

    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert bucket["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    assert (statement["Effect"], statement["Action"], statement["Principal"]) == ("Deny", "s3:*", "*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert references(resource("LargeResultsPolicy").properties) == {"LargeResults"}


# A schedule has no events that could be lost: the next run does what the last one left.
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
    assert queues or {target.kind for target in targets} == {"AWS::Events::ApiDestination"}, (
        "the function must not have a queue of its own"
    )
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
        "only rules of this account and with these names may write to the queue"
    )


@pytest.mark.parametrize("function", resources(FUNCTION), ids=named)
def test_the_log_of_every_function_has_a_retention_time(function: Resource) -> None:
    (group,) = references(function.properties["LoggingConfig"]["LogGroup"])

    retention = resource(group).properties["RetentionInDays"]

    assert resource(group).kind == "AWS::Logs::LogGroup"
    assert retention == {"Ref": "LogRetentionDays"}


@pytest.mark.parametrize("found", resources(), ids=named)
def test_the_stack_can_be_deployed_twice_because_nothing_has_a_fixed_name(found: Resource) -> None:
    assert found.kind in PHYSICAL_NAMES or found.kind in NAMELESS, (
        "add this resource type to PHYSICAL_NAMES or NAMELESS"
    )

    name = found.properties.get(PHYSICAL_NAMES.get(found.kind, ""))

    assert name is None or "AWS::Stack" in json.dumps(name) or references(name), (
        "the name must contain the stack name or come from a parameter"
    )


# ----------------------------------------------------------------------------------------------------- it fits together


def test_the_longest_wait_ends_before_the_function_does_and_the_function_before_api_gateway() -> None:
    longest = template()["Parameters"]["WaitSeconds"]["MaxValue"]

    timeout = resource("McpFunction").properties["Timeout"]
    api_gateway = resource("McpIntegration").properties["TimeoutInMillis"] / 1000

    assert longest + TIME_TO_ANSWER.total_seconds() <= timeout < api_gateway <= 30


@pytest.mark.parametrize("section", ["Parameters", "Outputs"])
def test_every_parameter_and_output_has_a_description(section: str) -> None:
    entries = template()[section]

    undescribed = [name for name, entry in entries.items() if not entry.get("Description")]

    assert entries
    assert not undescribed


def test_every_condition_is_used() -> None:
    """cfn-lint does not see what the included file uses, so its check W8001 is off."""
    text = json.dumps({name: part for name, part in template().items() if name != "Metadata"})

    unused = [
        name
        for name in template()["Conditions"]
        if f'"Condition": "{name}"' not in text and f'"Fn::If": ["{name}"' not in text
    ]

    assert unused == []


def test_every_parameter_is_used_and_shown_in_a_group() -> None:
    parameters = set(template()["Parameters"])

    groups = template()["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    rest = [part for name, part in template().items() if name not in {"Parameters", "Metadata", "Rules"}]

    assert {name for group in groups for name in group["Parameters"]} == parameters
    assert parameters <= references(rest)


def test_the_scanner_sees_every_resource_whatever_parameters_leave_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # SAM needs a Region

    scanned = json.loads(translated(ROOT / "stack.yaml", is_unconditional=True))["Resources"]

    assert {one.logical_id for one in resources() if "Condition" in one.body} <= set(scanned)
    assert not [name for name, one in scanned.items() if "Condition" in one]
