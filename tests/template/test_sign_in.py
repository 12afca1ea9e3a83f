"""Sign-in: the template for each choice of the parameter Authorizer."""

import json
import re
from typing import Final

import pytest

from local.cloudformation.intrinsics import resolve
from local.cloudformation.parameters import parameter_values
from local.errors import TemplateError
from stepwire.errors import CHALLENGE_HEADER
from stepwire_cli.sign_in.hosts import HOSTS, Host, Takes
from tests.template.chosen import STACK, stack
from tests.template.document import FUNCTION, resource, template

ROUTES: Final = {"POST /mcp", "GET /mcp", "DELETE /mcp"}
METADATA_ROUTES: Final = {
    "GET /.well-known/oauth-protected-resource",
    "GET /.well-known/oauth-protected-resource/mcp",
}
SERVER_ROUTE: Final = "GET /.well-known/oauth-authorization-server"
SIGN_IN_URL: Final = "https://pool.auth.eu-central-1.amazoncognito.com"
CHOICES: Final = ("jwt", "cognito", "iam", "none")
WITH_TOKENS: Final = ("jwt", "cognito")
ENDPOINT: Final = "Api.ApiEndpoint/mcp"
OLD_STACK: Final = STACK["AWS::StackId"].replace("prod", "old").replace("0a1b2c3d", "1b2c3d4e")
OWN_DOMAIN: Final = "https://mcp.example/mcp"


# ------------------------------------------------------------------------------------------------------ who gets in


# M4
def test_an_endpoint_without_sign_in_needs_an_explicit_parameter() -> None:
    parameter = template()["Parameters"]["Authorizer"]

    assert "Default" not in parameter
    assert parameter["AllowedValues"] == list(CHOICES)


# M4, L4
@pytest.mark.parametrize(("choice", "kind"), [("jwt", "JWT"), ("cognito", "JWT"), ("iam", "AWS_IAM"), ("none", "NONE")])
def test_the_three_routes_have_the_same_sign_in(choice: str, kind: str) -> None:
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
    [("", STACK["AWS::StackId"]), (OLD_STACK, OLD_STACK), ("a-salt-of-ours", "a-salt-of-ours")],
)
def test_a_new_stack_uses_the_salt_of_an_old_one_and_outputs_it(given: str, salt: str) -> None:
    made = stack("jwt", PrincipalSalt=given)

    assert made.variables("McpFunction")["PRINCIPAL_SALT"] == salt
    assert resolve(template()["Outputs"]["PrincipalSalt"]["Value"], made) == salt


def test_another_salt_publishes_another_version_of_the_function() -> None:
    described = [
        stack("jwt", PrincipalSalt=salt).properties("McpFunction")["VersionDescription"]
        for salt in ("", OLD_STACK, OLD_STACK.replace("1b2c3d4e", "2c3d4e5f"), "a-salt-of-ours")
    ]

    assert len(set(described)) == len(described)
    assert max(map(len, described)) - min(map(len, described)) <= len("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9")


def test_a_salt_that_is_not_a_stack_id_is_refused() -> None:
    with pytest.raises(TemplateError, match="PrincipalSalt"):
        parameter_values(template()["Parameters"], {"Authorizer": "jwt", "PrincipalSalt": OLD_STACK[:-1]})


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


# ----------------------------------------------------------------------------------------------------- the user pool


def test_a_user_pool_is_created_for_cognito_only() -> None:
    kinds = {name for name, body in template()["Resources"].items() if body["Type"].startswith("AWS::Cognito::")}
    usual = kinds - {"SecretClient"}

    assert usual
    assert all([stack(choice).has(name) for name in usual] == [choice == "cognito"] * len(usual) for choice in CHOICES)


def test_the_user_pool_outlives_the_stack_and_has_no_self_registration() -> None:
    pool = resource("UserPool")

    assert (pool.body["DeletionPolicy"], pool.body["UpdateReplacePolicy"]) == ("Retain", "Retain")
    assert pool.properties["DeletionProtection"] == "ACTIVE"
    assert pool.properties["AdminCreateUserConfig"] == {"AllowAdminCreateUserOnly": True}


def test_the_domain_of_the_user_pool_is_unique() -> None:
    domain = stack("cognito").properties("UserPoolDomain")["Domain"]

    assert domain == "stepwire-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
    assert len(domain) <= 63


def test_the_client_has_no_secret_and_signs_in_on_cognitos_pages_only() -> None:
    client = stack("cognito").properties("McpClient")

    assert client["GenerateSecret"] is False
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["ExplicitAuthFlows"] == ["ALLOW_CUSTOM_AUTH"], "an absent list would mean the flows with passwords"
    assert "LambdaConfig" not in stack("cognito").properties("UserPool"), "custom sign-in needs triggers"


def test_refresh_tokens_of_people_are_rotated() -> None:
    rotation = {"Feature": "ENABLED", "RetryGracePeriodSeconds": 60}

    assert stack("cognito").properties("McpClient")["RefreshTokenRotation"] == rotation
    assert stack("cognito", ConfidentialClient="people").properties("SecretClient")["RefreshTokenRotation"] == rotation


def test_by_default_a_sign_in_redirects_to_this_machine_or_to_pages_of_known_hosts() -> None:
    urls = stack("cognito").properties("McpClient")["CallbackURLs"]

    elsewhere = {url for url in urls if not url.startswith(("http://localhost:", "http://127.0.0.1:"))}

    assert elsewhere == {
        "https://vscode.dev/redirect",
        "https://insiders.vscode.dev/redirect",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "https://claude.ai/api/mcp/auth_callback",
        "https://claude.com/api/mcp/auth_callback",
        "https://chatgpt.com/connector_platform_oauth_redirect",
    }
    assert len(set(urls)) == len(urls) <= 100, "Cognito takes 100"
    assert not any(set("* #") & set(url) for url in urls), "whole URLs: a wildcard would be an open redirect"


@pytest.mark.parametrize("host", [one for one in HOSTS if one.takes == Takes.ID], ids=lambda one: one.key)
def test_the_callbacks_that_the_command_prints_are_allowed_unless_they_depend_on_the_server(host: Host) -> None:
    known = {one for one in host.callbacks if not {"{app}", "{url_id}"} & set(re.findall(r"\{\w+\}", one))}

    allowed = stack("cognito").properties("McpClient")["CallbackURLs"]

    assert {one.format(port=host.port) for one in known} <= set(allowed)


def test_there_is_no_client_with_a_secret_unless_it_is_asked_for() -> None:
    made = stack("cognito")

    assert not made.has("SecretClient")
    assert not made.has("SecretClientId")


@pytest.mark.parametrize(
    ("kind", "flow", "with_callbacks"), [("people", "code", True), ("machines", "client_credentials", False)]
)
def test_tokens_of_the_client_with_a_secret_are_accepted(kind: str, flow: str, with_callbacks: bool) -> None:
    made = stack("cognito", ConfidentialClient=kind)
    client = made.properties("SecretClient")

    audience = made.properties("JwtAuthorizer")["JwtConfiguration"]["Audience"]

    assert audience == [ENDPOINT, "McpClient", "SecretClient"]
    assert (client["GenerateSecret"], client["AllowedOAuthFlows"]) == (True, [flow])
    assert client["AllowedOAuthScopes"] == [f"{ENDPOINT}/call"]
    assert ("CallbackURLs" in client) == with_callbacks
    assert stack("cognito").properties("McpClient")["GenerateSecret"] is False


@pytest.mark.parametrize("choice", ["jwt", "iam", "none"])
def test_a_client_with_a_secret_needs_the_user_pool(choice: str) -> None:
    with pytest.raises(AssertionError, match="ConfidentialClient"):
        stack(choice, ConfidentialClient="people")


# ------------------------------------------------------------------------------------------------------- the mirror


@pytest.mark.parametrize(
    ("choice", "given", "url"),
    [
        ("cognito", {}, "https://UserPoolDomain.auth.AWS::Region.amazoncognito.com"),
        ("cognito", {"SignInUrl": "https://sign-in.example"}, "https://sign-in.example"),
        ("cognito", {"Metadata": "pool"}, ""),
        ("jwt", {}, ""),
        ("jwt", {"SignInUrl": SIGN_IN_URL}, SIGN_IN_URL),
        ("jwt", {"SignInUrl": SIGN_IN_URL, "Metadata": "pool"}, ""),
    ],
)
def test_there_is_a_mirror_of_a_user_pool_s_metadata_unless_it_is_turned_off(
    choice: str, given: dict[str, str], url: str
) -> None:
    made = stack(choice, **given)

    assert made.variables("MetadataFunction")["SIGN_IN_URL"] == url
    assert (SERVER_ROUTE in made.routes()) == bool(url)


@pytest.mark.parametrize(("kind", "more"), [("off", ""), ("people", ""), ("machines", ",client_credentials")])
def test_the_mirror_lists_the_grants_that_there_are(kind: str, more: str) -> None:
    variables = stack("cognito", ConfidentialClient=kind).variables("MetadataFunction")

    assert variables["GRANT_TYPES"] == f"authorization_code,refresh_token{more}"


def test_the_mirror_s_guard_asks_with_the_public_client_and_one_of_its_callbacks() -> None:
    made = stack("cognito")
    variables = made.variables("MetadataFunction")

    assert variables["CLIENT_ID"] == "McpClient"
    assert variables["CALLBACK_URL"] == made.properties("McpClient")["CallbackURLs"][0]
    assert stack("jwt", SignInUrl=SIGN_IN_URL).variables("MetadataFunction")["CLIENT_ID"] == ""


@pytest.mark.parametrize("choice", ["iam", "none"])
def test_a_sign_in_url_without_tokens_is_refused(choice: str) -> None:
    with pytest.raises(AssertionError, match="SignInUrl"):
        stack(choice, SignInUrl=SIGN_IN_URL)


@pytest.mark.parametrize(
    "url", [f"{SIGN_IN_URL}/", f"{SIGN_IN_URL}?a", "http://pool.example", "pool.example", "https://"]
)
def test_a_sign_in_url_is_a_complete_base_url(url: str) -> None:
    with pytest.raises(TemplateError, match="SignInUrl"):
        stack("jwt", SignInUrl=url)


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
    assert {"mcp-session-id", "x-amzn-remapped-www-authenticate", "retry-after"} <= set(cors["ExposeHeaders"])
    assert "AllowCredentials" not in cors


def test_the_public_function_has_no_permissions_it_does_not_need() -> None:
    functions = [name for name, body in template()["Resources"].items() if body["Type"] == FUNCTION]

    told = stack("cognito").variables("MetadataFunction")

    assert "MetadataFunction" in functions
    assert set(told) == {
        *("AUTHORIZER", "RESOURCE", "ISSUER", "SCOPES"),
        *("SIGN_IN_URL", "GRANT_TYPES", "CLIENT_DOCUMENTS", "CLIENT_ID", "CALLBACK_URL"),
    }
    assert "Table" not in json.dumps(told)
