"""How the stack is deployed: its parameters, releases, domain, key and outputs."""

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

import pytest

from stepwire.aws.mcp_function import McpHandler
from stepwire_local.cloudformation.parameters import parameter_values
from stepwire_local.cloudformation.template import load
from stepwire_local.errors import TemplateError
from tests.template.chosen import ON, STACK, stack
from tests.template.document import FUNCTION, ROOT, Resource, references, resource, resources, template

PARAMETERS: Final = cast(dict[str, dict[str, Any]], template()["Parameters"])
CERTIFICATE: Final = "arn:aws:acm:eu-central-1:123456789012:certificate/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
KEY: Final = "arn:aws:kms:eu-central-1:123456789012:key/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
OWN_DOMAIN: Final = {"EndpointUrl": "https://mcp.example.com/mcp", "CertificateArn": CERTIFICATE}
LONGEST_NAMES: Final = {"Api": ("Name", 128)}
LONGEST_LOG_GROUP: Final = 512
LONGEST_DESCRIPTION: Final = 256  # characters of a version's description, in Lambda


def function() -> dict[str, Any]:
    return resource("McpFunction").properties


# ---------------------------------------------------------------------------------------------------------- parameters


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_is_checked_before_anything_is_deployed(name: str) -> None:
    parameter = PARAMETERS[name]

    if parameter["Type"] == "Number":
        assert "AllowedValues" in parameter or {"MinValue", "MaxValue"} <= parameter.keys()
    else:
        assert {"AllowedValues", "AllowedPattern", "MaxLength"} & parameter.keys()
    assert ("AllowedPattern" in parameter) == ("ConstraintDescription" in parameter), (
        "a parameter with a pattern must have a ConstraintDescription"
    )


def test_the_defaults_are_valid() -> None:
    values = parameter_values(PARAMETERS, {"Authorizer": "none"})

    assert set(values) == set(PARAMETERS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("JwtIssuer", "issuer.example"),
        ("JwtIssuer", "https://issuer.example/?tenant=1"),
        ("CallbackUrls", "https://one.example/callback,two"),
        ("AllowedOrigins", "https://app.example/"),
        ("CertificateArn", "a certificate"),
        ("HostedZoneId", "example.com"),
        ("EndpointTitle", ""),
        ("EndpointTitle", "two\nlines"),
        ("WebsiteUrl", "http://example.com"),
        ("WebsiteUrl", "https://example.com/a b"),
        ("KmsKeyArn", "alias/mine"),
        ("ProfileBucketName", "s3://mine"),
        ("McpMemory", "100"),
        ("Deployment", "Slowly"),
    ],
)
def test_a_value_that_cannot_work_is_refused(name: str, value: str) -> None:
    with pytest.raises(TemplateError, match=name):
        parameter_values(PARAMETERS, {"Authorizer": "none", name: value})


@pytest.mark.parametrize("given", [{"CertificateArn": CERTIFICATE}, {"HostedZoneId": "Z0123456789"}])
def test_a_part_of_a_domain_is_refused_without_what_it_needs(given: dict[str, str]) -> None:
    with pytest.raises(AssertionError, match="needs"):
        stack("none", **given)


@pytest.mark.parametrize("environment", ["dev", "prod"])
def test_each_stage_has_its_own_name_and_valid_parameters(environment: str) -> None:
    settings = samconfig()[environment]["deploy"]["parameters"]

    given = dict(pair.split("=", 1) for pair in settings.get("parameter_overrides", []))

    assert settings["stack_name"] == {"dev": "stepwire-dev", "prod": "stepwire"}[environment]
    assert set(parameter_values(PARAMETERS, {"Authorizer": "iam", **given})) == set(PARAMETERS)


def test_the_protections_of_production_are_defaults_because_given_parameters_replace_all_of_samconfig() -> None:
    settings = samconfig()["prod"]["deploy"]["parameters"]

    made = stack("iam")

    assert "parameter_overrides" not in settings
    assert made.properties("TasksTable")["DeletionProtectionEnabled"] == "true"
    assert made.parameters["Deployment"] != "AllAtOnce"


def samconfig() -> dict[str, Any]:
    return tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))


# ------------------------------------------------------------------------------------------------------------ releases


def test_requests_reach_the_function_by_its_alias_only() -> None:
    permissions = [part for part in resources("AWS::Lambda::Permission") if "McpFunction" in references(part.body)]

    named = [permission.properties["FunctionName"] for permission in permissions]

    assert {"Ref": "McpFunction.Alias"} in named
    assert [one for one in named if one != {"Ref": "McpFunction.Alias"}] == []
    assert resource("McpIntegration").properties["IntegrationUri"] == {"Fn::Sub": "${McpFunction.Arn}:live"}
    assert function()["AutoPublishAlias"] == "live"


def test_a_new_version_is_published_for_exactly_the_parameters_that_change_the_function() -> None:
    described = references(function()["VersionDescription"])

    names = resource("ExecutionNames").properties  # whose value the function gets
    told = set(deep_references({**template()["Globals"], **without(function(), "VersionDescription"), **names}))

    # Concurrency belongs to the function, not to a version, and Lambda refuses a version without a change.
    assert described == told & set(PARAMETERS) - {"Deployment", "McpConcurrency"}
    assert function()["AutoPublishAliasAllProperties"] is True


@pytest.mark.parametrize("layer", resources("AWS::Serverless::LayerVersion"), ids=lambda layer: layer.logical_id)
def test_a_new_version_is_published_for_new_code_in_a_layer_of_the_function(layer: Resource) -> None:
    is_its_own = {"Ref": layer.logical_id} in function()["Layers"]

    assert layer.properties.get("PublishLambdaVersion", False) is is_its_own


def test_the_description_of_a_version_fits_lambda_with_long_settings() -> None:
    made = stack(
        "jwt",
        EndpointUrl="https://tasks.workflows.eu.example.com/mcp",
        AllowedOrigins="https://one.example.com,https://two.example.com",
        PrincipalClaims="iss,sub,org_id",
        RequiredScope="workflows:call",
        MostTasksPerMinute="60000",
        EndpointTitle="Workflows of Example Ltd",
        WebsiteUrl="https://intranet.example.com/workflows",
    )

    assert len(made.properties("McpFunction")["VersionDescription"]) <= LONGEST_DESCRIPTION


def test_a_release_that_makes_requests_fail_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # SAM needs a Region
    body = load(ROOT / "stack.yaml", {}).body["Resources"]

    group = body["McpFunctionDeploymentGroup"]["Properties"]

    assert group["AlarmConfiguration"] == {"Enabled": True, "Alarms": [{"Name": {"Ref": "McpErrorsAlarm"}}]}
    assert "DEPLOYMENT_STOP_ON_ALARM" in group["AutoRollbackConfiguration"]["Events"]
    assert "CodeDeployLambdaAliasUpdate" in body["McpFunctionAliaslive"]["UpdatePolicy"]


def test_the_alarm_counts_failed_invocations_and_internal_errors() -> None:
    errors, faults = (
        metric["MetricStat"]["Metric"]
        for metric in stack("none").properties("McpErrorsAlarm")["Metrics"]
        if "MetricStat" in metric
    )
    (counted,) = stack("none").properties("McpFaults")["MetricTransformations"]

    assert {part["Name"]: part["Value"] for part in errors["Dimensions"]} == {
        "FunctionName": "McpFunction",
        "Resource": "McpFunction:live",
    }
    assert (faults["Namespace"], faults["MetricName"]) == (counted["MetricNamespace"], counted["MetricName"])
    assert STACK["AWS::StackName"] in faults["Namespace"], "the alarm must count the errors of this stack only"


def test_an_internal_error_is_counted_by_its_log_message(printed: Callable[[], str]) -> None:
    McpHandler()._report(ValueError("a secret"))  # pyright: ignore[reportPrivateUsage] - any request that breaks ends here

    logged = json.loads(printed())

    assert resource("McpFaults").properties["FilterPattern"] == f'{{ $.message = "{logged["message"]}" }}'


def test_the_function_may_start_from_a_snapshot() -> None:
    settings = {**template()["Globals"]["Function"], **function()}

    assert settings["SnapStart"] == {"ApplyOn": {"Ref": "SnapStart"}}
    assert tuple(map(int, settings["Runtime"].removeprefix("python").split("."))) >= (3, 12)
    assert "EphemeralStorage" not in settings, "at most 512 MB, the default"


# ------------------------------------------------------------------------------------------------------------- address


def test_with_a_certificate_the_endpoint_is_served_on_its_domain_only() -> None:
    made = stack("jwt", **OWN_DOMAIN, HostedZoneId="Z0123456789")

    assert made.properties("Domain")["DomainName"] == "mcp.example.com"
    assert "ApiMappingKey" not in made.properties("DomainMapping"), "the domain must serve the metadata at the root"
    assert made.properties("Api")["DisableExecuteApiEndpoint"] is True
    assert made.properties("DomainRecord")["AliasTarget"]["DNSName"] == "Domain.RegionalDomainName"
    assert made.output("McpEndpoint") == OWN_DOMAIN["EndpointUrl"]


def test_without_a_certificate_api_gateway_keeps_its_own_address() -> None:
    made = stack("jwt", EndpointUrl="https://mcp.example.com/mcp")

    assert not any(made.has(name) for name in ("Domain", "DomainMapping", "DomainRecord"))
    assert made.properties("Api")["DisableExecuteApiEndpoint"] is False


@pytest.mark.parametrize("name", LONGEST_NAMES)
def test_a_name_derived_from_the_longest_stack_name_is_within_its_limit(name: str) -> None:
    key, longest = LONGEST_NAMES[name]

    assert len(stack("cognito").properties(name)[key]) <= longest


# -------------------------------------------------------------------------------------------------------- user messages


@pytest.mark.parametrize("choice", ["jwt", "none", "cognito"])
@pytest.mark.parametrize("given", [{}, OWN_DOMAIN])
def test_the_outputs_are_valid_client_configurations(choice: str, given: dict[str, str]) -> None:
    made = stack(choice, **given)
    url, client = made.output("McpEndpoint"), "McpClient" if choice == "cognito" else None

    command = shlex.split(made.output("ClaudeCode"))
    (code,) = json.loads(made.output("VsCode"))["servers"].values()
    (cursor,) = json.loads(made.output("Cursor"))["mcpServers"].values()

    assert command[:5] == ["claude", "mcp", "add", "--transport", "http"]
    assert command[-2:] == ["stepwire", url]
    assert ("--client-id" in command) == (client is not None)
    assert code == {"type": "http", "url": url, **({"oauth": {"clientId": client}} if client else {})}
    assert cursor == {"url": url, **({"auth": {"CLIENT_ID": client}} if client else {})}


def test_the_command_names_a_port_that_sign_in_may_redirect_to() -> None:
    made = stack("cognito")

    port = re.search(r"--callback-port (\d+)", made.output("ClaudeCode"))

    assert port
    assert f"http://localhost:{port[1]}/callback" in made.properties("McpClient")["CallbackURLs"]


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, "Api.ApiEndpoint/.well-known/oauth-protected-resource/mcp"),
        (OWN_DOMAIN, "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"),
    ],
)
def test_the_output_has_the_url_of_the_metadata(given: dict[str, str], url: str) -> None:
    made = stack("jwt", **given)

    assert made.output("MetadataUrl") == url
    assert any(url.endswith(route.removeprefix("GET ")) for route in made.routes() if "well-known" in route)
    assert not stack("none").has("MetadataUrl")


# -------------------------------------------------------------------------------------------------- safe and for a time


def test_a_customer_managed_key_encrypts_everything_that_is_stored() -> None:
    made = stack("none", **ON, KmsKeyArn=KEY)

    keys = {
        **{name: group["KmsKeyId"] for name, group in made.all_of("AWS::Logs::LogGroup").items()},
        **{name: secret["KmsKeyId"] for name, secret in made.all_of("AWS::SecretsManager::Secret").items()},
        **{name: queue["KmsMasterKeyId"] for name, queue in made.all_of("AWS::SQS::Queue").items()},
        **{
            name: table["SSESpecification"]["KMSMasterKeyId"]
            for name, table in made.all_of("AWS::DynamoDB::Table").items()
        },
        **{name: _key_of_bucket(bucket) for name, bucket in made.all_of("AWS::S3::Bucket").items()},
    }

    assert {"TasksTable", "LargeResults", "DeadLetters", "RequestStateSecret", "McpLogs", "AccessLogs"} <= set(keys)
    assert set(keys.values()) == {KEY}


def _key_of_bucket(bucket: dict[str, Any]) -> str:
    (rule,) = bucket["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    return rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]


def test_a_function_that_uses_the_table_or_the_queue_may_use_the_key() -> None:
    made = stack("none", KmsKeyArn=KEY, EventBus="default", **ON)
    needing = {
        f"{part.logical_id}Role"
        for part in resources(FUNCTION)
        if {"TasksTable", "DeadLetters"} & references(part.properties)
    }

    policy = made.properties("UseOfTheKey")

    (statement,) = policy["PolicyDocument"]["Statement"]
    services = statement["Condition"]["StringEquals"]["kms:ViaService"]
    assert set(policy["Roles"]) == needing
    assert {name.partition(".")[0] for name in services} == {"dynamodb", "s3", "secretsmanager", "sqs"}
    assert not stack("none").has("UseOfTheKey")


# S8
@pytest.mark.parametrize("bucket", [one.logical_id for one in resources("AWS::S3::Bucket")])
def test_without_a_key_of_its_own_a_bucket_is_encrypted_by_s3(bucket: str) -> None:
    made = stack("none", **ON)

    (rule,) = made.properties(bucket)["BucketEncryption"]["ServerSideEncryptionConfiguration"]

    assert rule["ServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


def test_keys_of_state_machines_may_be_used_through_step_functions_only() -> None:
    policy = stack("none", StateMachineKeyArns=KEY).properties("UseOfStateMachineKeys")

    (statement,) = policy["PolicyDocument"]["Statement"]
    assert list(statement["Condition"]["StringEquals"]) == ["kms:ViaService"]
    assert not stack("none").has("UseOfStateMachineKeys")


def test_only_roles_that_the_operator_names_are_assumed_and_by_functions_that_call_step_functions() -> None:
    role = "arn:aws:iam::222222222222:role/stepwire"
    policy = stack("none", WorkflowRoleArns=role).properties("UseOfWorkflowRoles")
    told = {
        f"{part.logical_id}Role"
        for part in resources(FUNCTION)
        if "EXTERNAL_ID" in part.properties.get("Environment", {}).get("Variables", {})
    }

    assert set(policy["Roles"]) == told
    assert not stack("none").has("UseOfWorkflowRoles")


def test_without_a_key_of_ones_own_all_is_encrypted_with_keys_of_aws() -> None:
    made = stack("none")

    assert made.properties("DeadLetters")["SqsManagedSseEnabled"] is True
    # DynamoDB encrypts anyway; with True it would use the key aws/dynamodb, whose requests KMS charges for.
    assert made.properties("TasksTable")["SSESpecification"] == {"SSEEnabled": False}
    assert stack("none", KmsKeyArn=KEY).properties("TasksTable")["SSESpecification"]["SSEEnabled"] is True


def test_the_rate_of_requests_is_limited_by_parameters() -> None:
    made = stack("none", RequestsPerSecond="50", RequestBurst="60")

    settings = made.properties("Stage")["DefaultRouteSettings"]

    assert settings == {"ThrottlingRateLimit": "50", "ThrottlingBurstLimit": "60"}


def test_the_group_of_the_access_log_is_one_that_the_account_s_policy_for_such_logs_need_not_name() -> None:
    """Otherwise CloudWatch Logs names it there, in a policy of 5,120 characters for all HTTP APIs of the account."""
    name = stack("none").properties("AccessLogs")["LogGroupName"]

    assert name == f"/aws/vendedlogs/stepwire/{STACK['AWS::StackName']}/0a1b2c3d"
    assert len(name) <= LONGEST_LOG_GROUP


def test_the_access_log_has_no_token_no_query_and_no_name_of_a_caller() -> None:
    line = json.loads(resource("Stage").properties["AccessLogSettings"]["Format"])

    assert set(line.values()) == {
        "$context.error.responseType",
        "$context.identity.sourceIp",
        "$context.integrationStatus",
        "$context.requestId",
        "$context.requestTimeEpoch",
        "$context.responseLatency",
        "$context.responseLength",
        "$context.routeKey",
        "$context.status",
    }, "no field of the access log may contain a header, a query, a claim or an identity"


def without(properties: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if key != name}


def deep_references(value: Any) -> Iterator[str]:
    """Return the references of a value, including those of its conditions."""
    yield from references(value)
    for condition in conditions_of(value):
        yield from deep_references(template()["Conditions"][condition])


def conditions_of(value: Any) -> Iterator[str]:
    match value:
        case {"Fn::If": [str(name), *_]}:
            yield name
        case {"Condition": str(name)}:
            yield name
        case _:
            pass
    parts = cast(dict[str, Any], value).values() if isinstance(value, dict) else value
    for part in cast(list[Any], parts) if isinstance(value, (dict, list)) else []:
        yield from conditions_of(part)
