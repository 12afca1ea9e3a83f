"""The door: with FrontDoor=http nothing is there of the REST API; otherwise it leads where the HTTP API did."""

import json
from itertools import product
from typing import Any, Final

import pytest

from stepwire.extras.door import rest_events
from tests.template.chosen import CHOICES, SERVER_ROUTE, Stack, stack
from tests.template.document import FUNCTION, ROOT, resource, resources
from tests.template.test_template import MANY, assert_far_from_limits
from tests.template.translated import translated

ADDRESS: Final = {"EndpointUrl": "https://mcp.example/mcp"}
REST: Final = {"FrontDoor": "rest", **ADDRESS}
VPC_ENDPOINTS: Final = "vpce-0123456789abcdef0,vpce-0f"
PRIVATE: Final = {**REST, "FrontDoor": "private", "VpcEndpointIds": VPC_ENDPOINTS}
CERTIFICATE: Final = "arn:aws:acm:eu-central-1:123456789012:certificate/0a1b2c3d"
WEB_ACL: Final = "arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/mcp/0a1b2c3d"
ORIGIN: Final = "https://app.example"
OF_THE_REST_DOOR: Final = {
    *("RestApi", "RestPreflightPermission", "WebAcl"),
    *("AuthorizerFunction", "AuthorizerPermission", "AuthorizerLogs"),
}
MUTUAL: Final = {"CertificateArn": CERTIFICATE, "TruststoreUri": "s3://bucket/authorities.pem"}


def body(made: Stack) -> dict[str, Any]:
    """Return the OpenAPI document of the REST API."""
    return made.properties("RestApi")["DefinitionBody"]


def methods(made: Stack) -> dict[str, dict[str, Any]]:
    """Return the methods of the REST API by the keys that their routes have at the HTTP API, without preflights."""
    return {
        f"{method.upper()} {path}": described
        for path, item in body(made)["paths"].items()
        for method, described in item.items()
        if method != "options"
    }


def function_of(made: Stack, route: dict[str, Any]) -> str:
    """Return the function that a route of the HTTP API leads to."""
    uri: str = made.properties(route["Target"].removeprefix("integrations/"))["IntegrationUri"]
    return uri


def sign_in_of(described: dict[str, Any]) -> str:
    names = {"token": "JWT", "signature": "AWS_IAM"}
    return next((names[name] for one in described.get("security", ()) for name in one), "NONE")


def test_the_scanner_sees_the_stage_and_the_authorizer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # SAM needs a Region

    scanned = json.loads(translated(ROOT / "stack.yaml", is_unconditional=True))["Resources"]

    assert {"RestApiliveStage", "AuthorizerFunction"} <= set(scanned)


@pytest.mark.parametrize("choice", CHOICES)
def test_with_an_http_api_nothing_of_the_other_door_is_there(choice: str) -> None:
    made = stack(choice, **ADDRESS, AllowedOrigins=ORIGIN)

    assert {name for name in OF_THE_REST_DOOR if made.has(name)} == set()


def has_only_the_rest_api(made: Stack) -> None:
    """Check that nothing of the HTTP API is there."""
    mapping = {"AWS::ApiGatewayV2::DomainName", "AWS::ApiGatewayV2::ApiMapping"}  # which are of either

    left = [
        one.logical_id for one in resources() if one.kind.startswith("AWS::ApiGatewayV2") and made.has(one.logical_id)
    ]

    assert [name for name in left if resource(name).kind not in mapping] == []
    assert made.has("RestApi")


@pytest.mark.parametrize(("choice", "door"), [*product(CHOICES, [REST, PRIVATE])])
def test_with_a_rest_api_nothing_of_the_http_api_is_there(choice: str, door: dict[str, str]) -> None:
    has_only_the_rest_api(stack(choice, **door))


def leads_to_the_same(choice: str, **more: str) -> None:
    """Check that each route leads to the same function with the same sign-in at either door."""
    at_http, at_rest = stack(choice, **ADDRESS, **more), stack(choice, **REST, **more)

    routes, there = at_http.routes(), methods(at_rest)

    assert {key: sign_in_of(one) for key, one in there.items()} == {
        key: one["AuthorizationType"] for key, one in routes.items()
    }
    for key, route in routes.items():
        integration = there[key]["x-amazon-apigateway-integration"]
        assert f"functions/{function_of(at_http, route)}/invocations" in integration["uri"], key
        assert (integration["type"], integration["httpMethod"]) == ("aws_proxy", "POST")


@pytest.mark.parametrize("choice", CHOICES)
def test_the_same_paths_lead_to_the_same_functions_with_the_same_sign_in(choice: str) -> None:
    leads_to_the_same(choice)


def test_the_mirror_is_where_it_was() -> None:
    assert SERVER_ROUTE in methods(stack("cognito", **REST))
    assert SERVER_ROUTE not in methods(stack("jwt", **REST))


def test_no_request_waits_longer_than_a_rest_api_does() -> None:
    longest = {
        one["x-amazon-apigateway-integration"]["timeoutInMillis"] for one in methods(stack("jwt", **REST)).values()
    }

    assert max(longest) == 29_000  # milliseconds: the default quota
    assert resource("McpFunction").properties["Timeout"] * 1_000 <= max(longest)


# ------------------------------------------------------------------------------------------------------------ sign-in


def token_scheme(made: Stack) -> dict[str, Any]:
    return body(made)["components"]["securitySchemes"]["token"]["x-amazon-apigateway-authorizer"]


@pytest.mark.parametrize("choice", ["jwt", "cognito"])
@pytest.mark.parametrize("secret", ["off", "machines"])
def test_the_authorizer_has_the_rules_of_the_http_api_s(choice: str, secret: str) -> None:
    more = {"ConfidentialClient": secret} if choice == "cognito" else {}
    rules = stack(choice, **ADDRESS, **more).properties("JwtAuthorizer")["JwtConfiguration"]

    variables = stack(choice, **REST, **more).variables("AuthorizerFunction")

    assert variables == {"ISSUER": rules["Issuer"], "AUDIENCES": ",".join(rules["Audience"])}


def test_the_authorizer_s_results_are_not_kept_because_a_token_may_end_at_any_second() -> None:
    assert token_scheme(stack("jwt", **REST))["authorizerResultTtlInSeconds"] == 0


def test_the_authorizer_may_do_nothing_in_aws() -> None:
    assert "Policies" not in resource("AuthorizerFunction").properties


@pytest.mark.parametrize("choice", ["iam", "none"])
def test_without_tokens_there_is_no_authorizer(choice: str) -> None:
    made = stack(choice, **REST)

    assert not made.has("AuthorizerFunction")
    assert "token" not in body(made)["components"]["securitySchemes"]


def refusals(made: Stack) -> dict[str, Any]:
    return body(made)["x-amazon-apigateway-gateway-responses"]


@pytest.mark.parametrize("choice", ["jwt", "cognito"])
def test_a_refusal_for_the_token_names_the_metadata(choice: str) -> None:
    told = refusals(stack(choice, **REST))
    place = 'resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"'

    challenges = {
        name: told[name]["responseParameters"]["gatewayresponse.header.WWW-Authenticate"]
        for name in ("UNAUTHORIZED", "ACCESS_DENIED")
    }

    assert challenges == {
        "UNAUTHORIZED": f"'Bearer {place}'",
        "ACCESS_DENIED": f"'Bearer error=\"invalid_token\", {place}'",
    }
    assert {told[name]["statusCode"] for name in challenges} == {"401"}


@pytest.mark.parametrize(
    ("choice", "denied", "elsewhere"), [("jwt", "401", "404"), ("iam", "403", "403"), ("none", "403", "404")]
)
def test_the_statuses_of_refusals_are_those_of_the_http_api(choice: str, denied: str, elsewhere: str) -> None:
    told = refusals(stack(choice, **REST))

    assert told["ACCESS_DENIED"]["statusCode"] == denied
    assert told["MISSING_AUTHENTICATION_TOKEN"]["statusCode"] == elsewhere


# ---------------------------------------------------------------------------------------------------------- web pages


def test_cors_is_that_of_the_http_api() -> None:
    cors = stack("jwt", AllowedOrigins=ORIGIN).properties("Api")["CorsConfiguration"]

    assert list(rest_events.ALLOWED_METHODS) == cors["AllowMethods"]
    assert list(rest_events.ALLOWED_HEADERS) == cors["AllowHeaders"]
    assert list(rest_events.EXPOSED_HEADERS) == cors["ExposeHeaders"]
    assert cors["MaxAge"] == rest_events.MAX_AGE


@pytest.mark.parametrize("origins", ["", ORIGIN])
def test_preflights_are_answered_without_sign_in_where_pages_may_call(origins: str) -> None:
    made = stack("jwt", **REST, AllowedOrigins=origins)

    preflights = [item["options"] for item in body(made)["paths"].values() if "options" in item]

    assert len(preflights) == (5 if origins else 0)  # two of MCP, three of the metadata
    assert made.has("RestPreflightPermission") is bool(origins)
    assert not [one for one in preflights if "security" in one]


# ------------------------------------------------------------------------------------------------ what only it can do


def test_a_private_api_is_reached_from_its_vpc_endpoints_alone() -> None:
    made = stack("jwt", **PRIVATE)
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "execute-api:Invoke",
        "Resource": "execute-api:/*",
        "Condition": {"StringNotEquals": {"aws:SourceVpce": VPC_ENDPOINTS.split(",")}},
    }

    assert made.properties("RestApi")["EndpointConfiguration"] == {
        "Type": "PRIVATE",
        "VPCEndpointIds": VPC_ENDPOINTS.split(","),
    }
    assert body(made)["x-amazon-apigateway-policy"]["Statement"][1:] == [deny]
    assert "x-amazon-apigateway-policy" not in body(stack("jwt", **REST))


@pytest.mark.parametrize(
    ("choice", "effects"), [("jwt", ["Allow", "Deny"]), ("none", ["Allow", "Deny"]), ("iam", ["Deny"])]
)
def test_a_private_api_lets_no_signature_in_whose_own_policy_does_not(choice: str, effects: list[str]) -> None:
    """In one account, the allowance of a resource policy is enough for a signed request."""
    policy = body(stack(choice, **PRIVATE))["x-amazon-apigateway-policy"]

    assert [statement["Effect"] for statement in policy["Statement"]] == effects


@pytest.mark.parametrize(("door", "is_there"), [({}, False), ({"WebAclArn": WEB_ACL}, True)])
def test_a_web_acl_protects_the_stage_of_the_rest_api(door: dict[str, str], is_there: bool) -> None:
    made = stack("jwt", **REST, **door)

    assert made.has("WebAcl") is is_there
    if is_there:
        assert made.properties("WebAcl") == {
            "WebACLArn": WEB_ACL,
            "ResourceArn": "arn:AWS::Partition:apigateway:AWS::Region::/restapis/RestApi/stages/RestApi.Stage",
        }


@pytest.mark.parametrize("door", [ADDRESS, REST])
def test_a_domain_leads_to_the_door_and_asks_for_certificates_where_there_is_a_truststore(door: dict[str, str]) -> None:
    usual = stack("jwt", **door, CertificateArn=CERTIFICATE)
    mutual = stack("jwt", **door, **MUTUAL)

    api, stage = ("RestApi", "RestApi.Stage") if door is REST else ("Api", "Stage")
    assert usual.properties("DomainMapping") == {"ApiId": api, "DomainName": "Domain", "Stage": stage}
    assert "MutualTlsAuthentication" not in usual.properties("Domain")
    assert mutual.properties("Domain")["MutualTlsAuthentication"] == {"TruststoreUri": "s3://bucket/authorities.pem"}
    assert mutual.properties(api)["DisableExecuteApiEndpoint"] is True


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"FrontDoor": "rest"}, "need EndpointUrl"),
        ({**REST, "StepUp": "on"}, "StepUp is for FrontDoor=http"),
        ({**REST, "FrontDoor": "private"}, "needs VpcEndpointIds"),
        ({**PRIVATE, "CertificateArn": CERTIFICATE}, "leave CertificateArn empty"),
        ({**REST, "VpcEndpointIds": VPC_ENDPOINTS}, "VpcEndpointIds is for FrontDoor=private"),
        ({"WebAclArn": WEB_ACL}, "AWS WAF takes no HTTP API"),
        ({**REST, "TruststoreUri": "s3://bucket/a.pem"}, "TruststoreUri needs CertificateArn"),
    ],
)
def test_parameters_that_cannot_work_together_are_refused(given: dict[str, str], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        stack("jwt", **given)


# ------------------------------------------------------------------------------------------------ what an operator sees


@pytest.mark.parametrize(
    ("door", "dimension", "errors"),
    [({}, {"Name": "ApiId", "Value": "Api"}, "5xx"), (REST, {"Name": "ApiName"}, "5XXError")],
)
def test_the_alarms_look_at_the_metrics_of_the_door(
    door: dict[str, str], dimension: dict[str, str], errors: str
) -> None:
    made = stack("jwt", **door)

    alarms = [made.properties(name) for name in ("ServerErrorsAlarm", "LatencyAlarm")]

    for alarm in alarms:
        assert alarm["Dimensions"][0] | dimension == alarm["Dimensions"][0]
    assert [alarm["MetricName"] for alarm in alarms] == [errors, "Latency"]
    if door:
        assert alarms[0]["Dimensions"][0]["Value"] == made.properties("RestApi")["Name"]


def test_the_dashboard_looks_at_the_metrics_of_the_door() -> None:
    made = stack("jwt", **REST, MetricsDashboard="on")

    text = made.properties("Dashboard")["DashboardBody"]

    assert '"4XXError", "ApiName", "' in text
    assert "ApiId" not in text


@pytest.mark.parametrize(("tracing", "is_traced"), [("Disabled", False), ("Active", True)])
def test_x_ray_begins_at_the_rest_door(tracing: str, is_traced: bool) -> None:
    made = stack("jwt", **REST, Tracing=tracing)

    assert made.properties("RestApi")["TracingEnabled"] is is_traced


def test_every_function_logs_and_is_limited_as_at_the_http_api() -> None:
    made = stack("jwt", **REST)
    settings = made.properties("RestApi")["MethodSettings"]
    limits = stack("jwt").properties("Stage")["DefaultRouteSettings"]

    assert [one for one in settings if one | limits != one] == []
    assert made.properties("RestApi")["AccessLogSetting"]["DestinationArn"] == "AccessLogs.Arn"


def test_no_role_and_no_environment_comes_near_its_limit() -> None:
    made = stack("jwt", FrontDoor="rest", **MANY)

    for function in made.all_of(FUNCTION):
        assert_far_from_limits(made, function)
