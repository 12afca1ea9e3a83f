"""Sign-in: the template for each choice of the parameter Authorizer."""

import json
from typing import Final

import pytest

from stepwire.errors import CHALLENGE_HEADER
from stepwire_local.cloudformation.intrinsics import resolve
from stepwire_local.cloudformation.parameters import parameter_values
from stepwire_local.errors import TemplateError
from tests.template.chosen import CHOICES, ENDPOINT, SERVER_ROUTE, STACK, stack
from tests.template.document import FUNCTION, resource, template

ROUTES: Final = {f"{method} {path}" for method in ("POST", "GET", "DELETE") for path in ("/mcp", "/mcp/{proxy+}")}
METADATA_ROUTES: Final = {
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
    "GET /.well-known/oauth-protected-resource/mcp/{proxy+}",
}
WITH_TOKENS: Final = ("jwt", "cognito")
OLD_STACK: Final = STACK["AWS::StackId"].replace("prod", "old").replace("0a1b2c3d", "1b2c3d4e")
OWN_DOMAIN: Final = "https://mcp.example/mcp"


# ------------------------------------------------------------------------------------------------------ who gets in


# M4
def test_an_endpoint_without_sign_in_needs_an_explicit_parameter() -> None:
    parameter = template()["Parameters"]["Authorizer"]

    assert "Default" not in parameter
    assert sorted(parameter["AllowedValues"]) == sorted(CHOICES)


# M4, L4
@pytest.mark.parametrize(("choice", "kind"), [("jwt", "JWT"), ("cognito", "JWT"), ("iam", "AWS_IAM"), ("none", "NONE")])
def test_all_routes_of_the_endpoint_have_the_same_sign_in(choice: str, kind: str) -> None:
    routes = stack(choice).routes()

    sign_ins = [{**routes[key], "RouteKey": ""} for key in ROUTES]

    assert all(sign_in == sign_ins[0] for sign_in in sign_ins)
    assert sign_ins[0]["AuthorizationType"] == kind
    assert ("AuthorizerId" in sign_ins[0]) == (kind == "JWT")


def public_routes(choice: str) -> set[str]:
    """Return the routes that everybody may use."""
    mirror = {SERVER_ROUTE} if choice == "cognito" else set[str]()
    return ROUTES if choice == "none" else METADATA_ROUTES | mirror if choice in WITH_TOKENS else set()


# M4
@pytest.mark.parametrize("choice", CHOICES)
def test_only_the_metadata_is_public_if_there_are_tokens(choice: str) -> None:
    routes = stack(choice).routes()

    is_open = {key for key, route in routes.items() if route["AuthorizationType"] == "NONE"}

    assert set(routes) == ROUTES | public_routes(choice)
    assert is_open == public_routes(choice)


@pytest.mark.parametrize("choice", CHOICES)
def test_routes_without_sign_in_lead_to_the_function_without_permissions(choice: str) -> None:
    made = stack(choice)

    targets = {key: route["Target"] for key, route in made.routes().items()}

    assert {targets[key] for key in ROUTES} == {"integrations/McpIntegration"}
    assert {targets[key] for key in set(targets) - ROUTES} <= {"integrations/MetadataIntegration"}
    assert made.properties("McpIntegration")["IntegrationUri"] == "McpFunction.Arn:live"
    assert "Policies" not in resource("MetadataFunction").properties
    assert "Layers" not in resource("MetadataFunction").properties


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("own_domain", ["", OWN_DOMAIN])
@pytest.mark.parametrize("origins", ["", "https://app.example"])
def test_no_choice_leaves_a_reference_to_a_missing_resource(choice: str, own_domain: str, origins: str) -> None:
    made = stack(choice, EndpointUrl=own_domain, AllowedOrigins=origins)

    for name in template()["Resources"]:
        if made.has(name):
            made.properties(name)
    for name, output in template()["Outputs"].items():
        if made.has(name):
            resolve(output["Value"], made)


@pytest.mark.parametrize("choice", CHOICES)
def test_the_function_gets_the_choice_of_sign_in(choice: str) -> None:
    variables = stack(choice, PrincipalClaims="iss,sub,org_id").variables("McpFunction")

    assert (variables["AUTHORIZER"], variables["PRINCIPAL_CLAIMS"]) == (choice, "iss,sub,org_id")


@pytest.mark.parametrize(
    ("given", "salt"),
    [("", STACK["AWS::StackId"]), (OLD_STACK, OLD_STACK)],
)
def test_a_new_stack_uses_the_salt_of_an_old_one_and_outputs_it(given: str, salt: str) -> None:
    made = stack("jwt", PrincipalSalt=given)

    assert made.variables("McpFunction")["PRINCIPAL_SALT"] == salt
    assert resolve(template()["Outputs"]["PrincipalSalt"]["Value"], made) == salt


def test_another_salt_publishes_another_version_of_the_function() -> None:
    described = [
        stack("jwt", PrincipalSalt=salt).properties("McpFunction")["VersionDescription"]
        for salt in ("", OLD_STACK, OLD_STACK.replace("1b2c3d4e", "2c3d4e5f"))
    ]

    assert len(set(described)) == len(described)
    assert max(map(len, described)) - min(map(len, described)) <= len("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9")


@pytest.mark.parametrize("salt", [OLD_STACK[:-1], "a-salt-of-ours"])
def test_a_salt_that_is_not_a_stack_id_is_refused(salt: str) -> None:
    with pytest.raises(TemplateError, match="PrincipalSalt"):
        parameter_values(template()["Parameters"], {"Authorizer": "jwt", "PrincipalSalt": salt})


# T25
@pytest.mark.parametrize("choice", CHOICES)
def test_every_function_that_logs_task_ids_knows_whether_they_are_secret(choice: str) -> None:
    known = resolve(template()["Globals"]["Function"]["Environment"]["Variables"], stack(choice))

    assert known["AUTHORIZER"] == choice


# ---------------------------------------------------------------------------------------------------------- tokens


@pytest.mark.parametrize("given", [{"JwtIssuer": ""}, {"JwtAudience": ""}])
def test_sign_in_with_tokens_needs_an_issuer_and_an_audience(given: dict[str, str]) -> None:
    with pytest.raises(AssertionError, match="JwtIssuer and JwtAudience"):
        stack("jwt", **given)


# F4, F8
def test_tokens_of_an_oidc_issuer_have_the_given_audience_and_come_in_a_header() -> None:
    made = stack("jwt")

    authorizer = made.properties("JwtAuthorizer")

    assert authorizer["AuthorizerType"] == "JWT"
    assert authorizer["IdentitySource"] == ["$request.header.Authorization"]
    assert authorizer["JwtConfiguration"] == {"Issuer": "https://issuer.example", "Audience": ["stepwire"]}


@pytest.mark.parametrize(("own_domain", "endpoint"), [("", ENDPOINT), (OWN_DOMAIN, OWN_DOMAIN)])
def test_the_tokens_of_the_user_pool_are_for_the_endpoint_or_its_client(own_domain: str, endpoint: str) -> None:
    made = stack("cognito", EndpointUrl=own_domain)

    configuration = made.properties("JwtAuthorizer")["JwtConfiguration"]

    assert configuration == {"Issuer": "UserPool.ProviderURL", "Audience": [endpoint, "McpClient"]}
    assert made.properties("McpResource")["Identifier"] == endpoint


# F1, F4: the function refuses with the same URL as in the metadata
@pytest.mark.parametrize(("choice", "issuer"), [("jwt", "https://issuer.example"), ("cognito", "UserPool.ProviderURL")])
def test_the_metadata_names_the_trusted_issuer(choice: str, issuer: str) -> None:
    made = stack(choice)

    told = made.variables("MetadataFunction")

    assert told["ISSUER"] == issuer == made.properties("JwtAuthorizer")["JwtConfiguration"]["Issuer"]
    assert told["RESOURCE"] == made.variables("McpFunction")["RESOURCE"] == ENDPOINT
    assert told["AUTHORIZER"] == choice


# F9
@pytest.mark.parametrize("endpoint", ["https://mcp.example", "https://mcp.example/mcp/", "http://mcp.example/mcp", "x"])
def test_a_custom_endpoint_is_a_complete_url(endpoint: str) -> None:
    with pytest.raises(TemplateError, match="EndpointUrl"):
        stack("jwt", EndpointUrl=endpoint)


# ---------------------------------------------------------------------------------------------------------- scopes


@pytest.mark.parametrize(
    ("choice", "given", "required", "told"),
    [
        ("jwt", {}, "", ","),
        ("jwt", {"RequiredScope": "tools:call"}, "tools:call", "tools:call,"),
        ("jwt", {"RequiredScope": "a", "OfferedScopes": "b,c"}, "a", "a,b,c"),
        ("cognito", {}, "call", "call,"),
        ("cognito", {"OfferedScopes": "refunds"}, "call", "call,refunds"),
    ],
)
def test_the_metadata_lists_the_needed_scopes(choice: str, given: dict[str, str], required: str, told: str) -> None:
    made = stack(choice, **given)

    assert made.variables("McpFunction")["REQUIRED_SCOPE"] == required
    assert made.variables("MetadataFunction")["SCOPES"] == told


@pytest.mark.parametrize("choice", ["cognito", "iam", "none"])
def test_a_scope_without_effect_is_refused(choice: str) -> None:
    with pytest.raises(AssertionError, match="RequiredScope"):
        stack(choice, RequiredScope="tools:call")


def test_the_required_scope_exists_in_cognito() -> None:
    made = stack("cognito")

    (scope,) = made.properties("McpResource")["Scopes"]

    assert made.variables("McpFunction")["REQUIRED_SCOPE"] == scope["ScopeName"]
    assert f"{ENDPOINT}/{scope['ScopeName']}" in made.properties("McpClient")["AllowedOAuthScopes"]


# ---------------------------------------------------------------------------------------------------------- step-up


def test_by_default_api_gateway_changes_no_header() -> None:
    assert "ResponseParameters" not in stack("jwt").properties("McpIntegration")


def test_with_step_up_a_refusal_has_the_challenge_that_the_function_sent_under_another_name() -> None:
    changes = stack("jwt", StepUp="on").properties("McpIntegration")["ResponseParameters"]

    (change,) = changes["403"]["ResponseParameters"]
    assert list(changes) == ["403"]
    assert change == {
        "Destination": "overwrite:header.www-authenticate",
        "Source": f"$response.header.{CHALLENGE_HEADER}",
    }


# --------------------------------------------------------------------------------------------------------- web pages


# M2, L5
@pytest.mark.parametrize("choice", CHOICES)
def test_no_web_page_may_call_unless_its_origin_is_named(choice: str) -> None:
    made = stack(choice)

    assert "CorsConfiguration" not in made.properties("Api")
    assert made.variables("McpFunction")["ALLOWED_ORIGINS"] == ""


# M2, L5
def test_pages_of_the_named_origins_may_send_and_read_what_the_protocol_needs() -> None:
    made = stack("jwt", AllowedOrigins="https://one.example, https://two.example")

    cors = made.properties("Api")["CorsConfiguration"]

    assert cors["AllowOrigins"] == ["https://one.example", "https://two.example"]
    assert made.variables("McpFunction")["ALLOWED_ORIGINS"] == "https://one.example,https://two.example"
    assert set(cors["AllowMethods"]) == {key.partition(" ")[0] for key in ROUTES}
    assert {"authorization", "mcp-protocol-version", "mcp-session-id", "last-event-id"} <= set(cors["AllowHeaders"])
    assert "*" in cors["AllowHeaders"], "tools name Mcp-Param-* headers of their own"
    assert {"mcp-session-id", "x-amzn-remapped-www-authenticate", "retry-after"} <= set(cors["ExposeHeaders"])
    assert "AllowCredentials" not in cors


def test_the_public_function_has_no_permissions_it_does_not_need() -> None:
    functions = [name for name, body in template()["Resources"].items() if body["Type"] == FUNCTION]

    told = stack("cognito").variables("MetadataFunction")

    assert "MetadataFunction" in functions
    assert set(told) == {
        *("AUTHORIZER", "RESOURCE", "RESOURCE_NAME", "ISSUER", "SCOPES"),
        *("SIGN_IN_URL", "GRANT_TYPES", "CLIENT_DOCUMENTS", "CLIENT_ID", "CALLBACK_URL"),
    }
    assert "Table" not in json.dumps(told)
