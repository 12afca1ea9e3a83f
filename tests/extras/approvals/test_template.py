"""The page for approvers in the template: nothing of it without a choice, and with one no more than a vote needs."""

from typing import Any, Final

import pytest

from tests.template.chosen import CHOICES, stack
from tests.template.document import template

SIGN_IN: Final = {"ApprovalLinks": "sign-in", "ApprovalClientId": "the-page"}
CALLBACK: Final = "GET /approvals/signed-in"
ROUTES: Final = {"GET /approvals/{link}", "HEAD /approvals/{link}", "POST /approvals/{link}"}


def routes(authorizer: str, **parameters: str) -> dict[str, Any]:
    """Return the properties of the page's routes, by their keys."""
    made = stack(authorizer, **parameters)
    kinds = [name for name, body in template()["Resources"].items() if body["Type"] == "AWS::ApiGatewayV2::Route"]
    found = [made.properties(name) for name in kinds if made.has(name)]
    return {one["RouteKey"]: one for one in found if "/approvals/" in one["RouteKey"]}


def given(authorizer: str) -> dict[str, str]:
    """Return the parameters of sign-in; with cognito the stack makes the client."""
    return SIGN_IN if authorizer == "jwt" else {"ApprovalLinks": "sign-in"}


@pytest.mark.parametrize("authorizer", CHOICES)
def test_without_a_choice_there_is_no_page(authorizer: str) -> None:
    made = stack(authorizer)
    parts = [name for name in template()["Resources"] if name.startswith("Approval")]

    assert len(parts) >= 8
    assert not any(made.has(name) for name in parts)
    assert routes(authorizer) == {}


@pytest.mark.parametrize("authorizer", CHOICES)
def test_links_need_no_sign_in(authorizer: str) -> None:
    found = routes(authorizer, ApprovalLinks="link")

    assert set(found) == ROUTES
    assert {one["AuthorizationType"] for one in found.values()} == {"NONE"}
    assert not stack(authorizer, ApprovalLinks="link").has("ApprovalsClient")


@pytest.mark.parametrize("authorizer", ["jwt", "cognito"])
def test_sign_in_has_a_callback_beside_the_links(authorizer: str) -> None:
    assert set(routes(authorizer, **given(authorizer))) == {*ROUTES, CALLBACK}


@pytest.mark.parametrize(
    ("authorizer", "parameters", "words"),
    [
        ("none", {"ApprovalLinks": "sign-in"}, "sign-in is for Authorizer=jwt and cognito"),
        ("iam", {"ApprovalLinks": "sign-in"}, "sign-in is for Authorizer=jwt and cognito"),
        ("jwt", {"ApprovalLinks": "sign-in"}, "needs ApprovalClientId"),
        ("cognito", SIGN_IN, "ApprovalClientId is for Authorizer=jwt"),
    ],
)
def test_a_choice_that_cannot_work_is_refused(authorizer: str, parameters: dict[str, str], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        stack(authorizer, **parameters)


def test_the_pools_client_is_public_with_one_callback_and_no_token_of_it_opens_the_endpoint() -> None:
    made = stack("cognito", ApprovalLinks="sign-in")

    client = made.properties("ApprovalsClient")

    assert client["GenerateSecret"] is False
    assert client["AllowedOAuthFlows"] == ["code"]
    assert client["CallbackURLs"] == ["Api.ApiEndpoint/approvals/signed-in"]
    audience = made.properties("JwtAuthorizer")["JwtConfiguration"]["Audience"]
    assert "ApprovalsClient" not in audience
    variables = made.properties("ApprovalsFunction")["Environment"]["Variables"]
    assert variables["CLIENT_ID"] == "ApprovalsClient"
    assert variables["AUDIENCES"] == "Api.ApiEndpoint/mcp,ApprovalsClient"


@pytest.mark.parametrize(("authorizer", "offered"), [("jwt", "more"), ("cognito", "")])
def test_the_page_asks_a_pool_for_no_scope_that_the_pools_client_is_not_allowed(authorizer: str, offered: str) -> None:
    made = stack(authorizer, **given(authorizer), OfferedScopes="more")

    variables = made.properties("ApprovalsFunction")["Environment"]["Variables"]

    assert variables["OFFERED_SCOPES"] == offered
    if made.has("ApprovalsClient"):
        allowed = made.properties("ApprovalsClient")["AllowedOAuthScopes"]
        assert allowed == [f"{variables['RESOURCE']}/{variables['REQUIRED_SCOPE']}"]


def test_the_callback_is_on_the_endpoints_own_domain() -> None:
    made = stack("cognito", ApprovalLinks="sign-in", EndpointUrl="https://mcp.example.com/mcp")

    assert made.properties("ApprovalsClient")["CallbackURLs"] == ["https://mcp.example.com/approvals/signed-in"]


def test_the_page_may_do_what_one_vote_needs() -> None:
    every = stack("none", ApprovalLinks="link").statements("ApprovalsFunction")
    statements = [one for one in every if one["Sid"] != "KnowWhoIsBlocked"]  # of what refuses callers, if that is there
    allowed = {one["Sid"]: one["Action"] for one in statements}
    tasks, of_items = "?" * 32, {one["Sid"]: one["Condition"] for one in statements if "Condition" in one}

    assert allowed == {
        "ReadQuestions": "dynamodb:GetItem",
        "RecordVotes": "dynamodb:PutItem",
        "AnswerWaitingStates": ["states:SendTaskSuccess", "states:SendTaskFailure"],
        "OpenLinks": "secretsmanager:GetSecretValue",
    }
    assert of_items == {
        "ReadQuestions": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [tasks]}},
        "RecordVotes": {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": [tasks]}},
    }


@pytest.mark.parametrize(("mode", "may_seal"), [("off", False), ("link", True)])
def test_only_with_links_may_the_streams_function_read_the_secret(mode: str, may_seal: bool) -> None:
    made = stack("none", EventBus="default", ApprovalLinks=mode)

    actions = [one["Action"] for one in made.statements("StatusChangesFunction")]

    assert ("secretsmanager:GetSecretValue" in actions) is may_seal


@pytest.mark.parametrize(
    ("function", "has_links", "has_it"),
    [
        ("ApprovalsFunction", True, True),
        ("StatusChangesFunction", True, True),
        ("StatusChangesFunction", False, False),
        ("McpFunction", True, False),
    ],
)
def test_functions_that_encrypt_links_have_the_layer_for_it(function: str, has_links: bool, has_it: bool) -> None:
    made = stack("jwt", ApprovalLinks="link" if has_links else "off")

    assert any("TokenDependencies" in str(layer) for layer in made.properties(function)["Layers"]) is has_it


def test_the_access_log_has_the_route_and_not_the_path() -> None:
    written = stack("none", ApprovalLinks="link").properties("Stage")["AccessLogSettings"]["Format"]

    assert "$context.routeKey" in written
    assert not any(one in written for one in ("$context.path", "$context.http", "resourcePath", "uri"))
