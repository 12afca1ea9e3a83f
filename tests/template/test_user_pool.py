"""The template's user pool, its clients, and the mirror of its metadata."""

import re
from typing import Final

import pytest

from stepwire_cli.sign_in.hosts import HOSTS, Host
from stepwire_local.errors import TemplateError
from tests.template.chosen import CHOICES, ENDPOINT, SERVER_ROUTE, stack
from tests.template.document import resource, template

SIGN_IN_URL: Final = "https://pool.auth.eu-central-1.amazoncognito.com"


def test_a_user_pool_is_created_for_cognito_only() -> None:
    of_pools = {name for name, body in template()["Resources"].items() if body["Type"].startswith("AWS::Cognito::")}

    made = {choice: {name for name in of_pools if stack(choice).has(name)} for choice in CHOICES}

    assert made == {
        **{choice: set[str]() for choice in CHOICES},
        "cognito": {"UserPool", "UserPoolDomain", "McpClient", "McpResource"},
    }


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


@pytest.mark.parametrize("host", [one for one in HOSTS if not one.has_secret], ids=lambda one: one.key)
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


# F10
@pytest.mark.parametrize(
    ("choice", "kind", "is_declared"),
    [("cognito", "off", "off"), ("cognito", "people", "off"), ("cognito", "machines", "on"), ("jwt", "off", "off")],
)
def test_clients_are_told_that_programs_get_tokens_where_the_pool_gives_them(
    choice: str, kind: str, is_declared: str
) -> None:
    assert stack(choice, ConfidentialClient=kind).variables("McpFunction")["CLIENT_CREDENTIALS"] == is_declared


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
