"""API Gateway's events: what they ask, who asks, and what goes back."""

from typing import Any

import pytest

from stepwire.aws.api_gateway import caller_of, request_of, response_of
from stepwire.errors import NotSignedIn, ParseError
from stepwire.json_text import parse
from stepwire.principal import Principal, principal_of
from stepwire.protocol.http import HttpResponse
from stepwire.protocol.messages import read_object
from tests.kits import ALICE
from tests.recorded import recorded

SALT = "arn:aws:cloudformation:eu-central-1:123456789012:stack/stepwire/0a1b2c3d"
ISSUER = "https://issuer.example/pool"


def caller(event: dict[str, Any], *, needs_sign_in: bool = True) -> Principal:
    return caller_of(event, SALT, needs_sign_in=needs_sign_in)


def signed_in_as(**claims: object) -> dict[str, Any]:
    """Make an event whose token has these claims and no others."""
    event = recorded("http_post_jwt")
    event["requestContext"]["authorizer"]["jwt"]["claims"] = claims
    return event


class TestARequest:
    @pytest.mark.parametrize(
        ("name", "method", "version"),
        [
            ("http_post_legacy", "POST", "2025-11-25"),
            ("http_post_modern", "POST", "2026-07-28"),
            ("http_get", "GET", "2025-11-25"),
        ],
    )
    def test_has_the_method_and_the_headers_of_its_event(self, name: str, method: str, version: str) -> None:
        request = request_of(recorded(name), ALICE)

        assert request.method == method
        assert request.headers["mcp-protocol-version"] == version
        assert request.principal == ALICE

    def test_has_its_headers_in_lower_case(self) -> None:
        """M10: their names are compared without regard to case."""
        event = recorded("http_post_modern")
        event["headers"] = {"MCP-Protocol-Version": "2026-07-28", "Mcp-NAME": "Greet"}

        assert request_of(event, ALICE).headers == {"mcp-protocol-version": "2026-07-28", "mcp-name": "Greet"}

    def test_without_headers_has_none(self) -> None:
        assert request_of(recorded("http_post_headers_null"), ALICE).headers == {}

    def test_has_its_body_in_utf_8(self) -> None:
        body = request_of(recorded("http_post_legacy"), ALICE).body

        assert parse(body)["params"]["arguments"]["message"] == "grüße"

    def test_in_base64_is_the_same_request(self) -> None:
        encoded, plain = recorded("http_post_base64"), recorded("http_post_legacy")

        assert request_of(encoded, ALICE) == request_of(plain, ALICE)

    def test_without_a_body_has_an_empty_one(self) -> None:
        assert request_of(recorded("http_get"), ALICE).body == b""

    @pytest.mark.parametrize("body", ["not base64!", "eyJh", "é", "e30", "\ud800"])
    def test_whose_base64_is_broken_is_no_json(self, body: str) -> None:
        event = recorded("http_post_base64") | {"body": body}

        request = request_of(event, ALICE)

        with pytest.raises(ParseError):
            read_object(request.body)

    def test_with_half_a_character_is_no_json(self) -> None:
        event = recorded("http_post_legacy") | {"body": '{"a":"\ud800"}'}

        request = request_of(event, ALICE)

        with pytest.raises(ParseError):
            read_object(request.body)


class TestACaller:
    def test_is_named_by_issuer_and_subject(self) -> None:
        """T24, X28."""
        subject = "0b6f1e5c-7d5e-4f0e-9d43-3a4a1a0f5a11"

        assert caller(recorded("http_post_jwt")) == principal_of(("jwt", ISSUER, subject), SALT)

    def test_that_is_a_machine_is_named_by_issuer_and_client(self) -> None:
        event = recorded("http_post_jwt_without_subject")

        assert caller(event) == principal_of(("client", ISSUER, "3n4b5urk1ft4fl3mg5e62d9ado"), SALT)

    def test_that_signs_with_iam_is_named_by_its_arn(self) -> None:
        arn = "arn:aws:sts::123456789012:assumed-role/Agents/alice"

        assert caller(recorded("http_post_iam")) == principal_of(("iam", arn), SALT)

    def test_is_the_same_whatever_else_the_token_says(self) -> None:
        one = signed_in_as(iss=ISSUER, sub="alice", client_id="a", scope="tools", exp="1785588600")
        other = signed_in_as(iss=ISSUER, sub="alice", client_id="b", jti="7")

        assert caller(one) == caller(other)

    def test_is_another_with_another_issuer_or_subject_or_kind(self) -> None:
        """T24: nobody becomes somebody else by choosing a name."""
        events = [
            signed_in_as(iss=ISSUER, sub="alice"),
            signed_in_as(iss=ISSUER, sub="bob"),
            signed_in_as(iss="https://other.example", sub="alice"),
            signed_in_as(iss=ISSUER, client_id="alice"),
            recorded("http_post_iam"),
        ]

        assert len({caller(event) for event in events}) == len(events)

    @pytest.mark.parametrize(
        "event",
        [
            recorded("http_post_legacy"),
            signed_in_as(),
            signed_in_as(sub="alice"),
            signed_in_as(iss=ISSUER),
            signed_in_as(iss="", sub="alice"),
            signed_in_as(iss=ISSUER, sub="", client_id=""),
        ],
        ids=["no authorizer", "no claims", "no issuer", "no subject", "empty issuer", "empty subject"],
    )
    def test_whom_nobody_vouches_for_is_turned_away(self, event: dict[str, Any]) -> None:
        """M4, T24."""
        with pytest.raises(NotSignedIn):
            caller(event)

    @pytest.mark.parametrize(
        "authorizer", [None, {}, {"jwt": None}, {"jwt": {"claims": None, "scopes": None}}, {"iam": None}]
    )
    def test_with_an_empty_authorizer_is_turned_away(self, authorizer: object) -> None:
        event = recorded("http_post_legacy")
        event["requestContext"]["authorizer"] = authorizer

        with pytest.raises(NotSignedIn):
            caller(event)

    def test_of_a_stack_without_sign_in_is_the_anonymous_one(self) -> None:
        """T25."""
        anybody = caller(recorded("http_post_legacy"), needs_sign_in=False)

        assert anybody == principal_of(("anonymous",), SALT)

    def test_cannot_be_chosen_by_a_header(self) -> None:
        """M4: only what the authorizer says counts."""
        event = recorded("http_post_legacy")
        event["headers"] |= {"authorization": "Bearer forged", "x-amzn-oidc-identity": "alice"}

        with pytest.raises(NotSignedIn):
            caller(event)


def test_a_response_is_what_api_gateway_expects() -> None:
    response = HttpResponse(405, '{"message":"grüße"}', {"content-type": "application/json", "allow": "POST"})

    assert response_of(response) == {
        "statusCode": 405,
        "headers": {"content-type": "application/json", "allow": "POST"},
        "body": '{"message":"grüße"}',
        "isBase64Encoded": False,
    }


def test_a_response_without_a_body_has_an_empty_one() -> None:
    """M6."""
    assert response_of(HttpResponse(202))["body"] == ""
