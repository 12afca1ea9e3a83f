"""API Gateway's events become HTTP requests, and HTTP responses become its responses."""

import pytest

from stepwire.aws.gateway import request_of, response_of
from stepwire.errors import ParseError
from stepwire.json_text import parse
from stepwire.principal import Caller, Claims
from stepwire.protocol.http import HttpResponse
from stepwire.protocol.inbound import parse_body
from tests.kits import ALICE
from tests.recorded import recorded

CALLER = Caller(ALICE, Claims({"sub": "alice"}), frozenset({"tools:call"}))


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
        request = request_of(recorded(name), CALLER)

        assert request.method == method
        assert request.headers["mcp-protocol-version"] == version
        assert request.caller == CALLER

    def test_has_its_headers_in_lower_case(self) -> None:
        """M10: header names are case-insensitive."""
        event = recorded("http_post_modern")
        event["headers"] = {"MCP-Protocol-Version": "2026-07-28", "Mcp-NAME": "Greet"}

        assert request_of(event, CALLER).headers == {"mcp-protocol-version": "2026-07-28", "mcp-name": "Greet"}

    def test_without_headers_has_none(self) -> None:
        assert request_of(recorded("http_post_headers_null"), CALLER).headers == {}

    @pytest.mark.parametrize(("raw", "query"), [("resume=1&a=%20b", "resume=1&a=%20b"), ("", ""), (None, "")])
    def test_has_the_query_of_its_url_unchanged(self, raw: str | None, query: str) -> None:
        event = recorded("http_post_legacy") | {"rawQueryString": raw}

        assert request_of(event, CALLER).query == query

    def test_has_its_body_in_utf_8(self) -> None:
        body = request_of(recorded("http_post_legacy"), CALLER).body

        assert parse(body)["params"]["arguments"]["message"] == "grüße"

    def test_in_base64_is_the_same_request(self) -> None:
        encoded, plain = recorded("http_post_base64"), recorded("http_post_legacy")

        assert request_of(encoded, CALLER) == request_of(plain, CALLER)

    def test_without_a_body_has_an_empty_one(self) -> None:
        assert request_of(recorded("http_get"), CALLER).body == b""

    @pytest.mark.parametrize("body", ["not base64!", "eyJh", "é", "e30", "\ud800"])
    def test_with_invalid_base64_is_no_json(self, body: str) -> None:
        event = recorded("http_post_base64") | {"body": body}

        request = request_of(event, CALLER)

        with pytest.raises(ParseError):
            parse_body(request.body)

    def test_with_a_lone_surrogate_is_no_json(self) -> None:
        event = recorded("http_post_legacy") | {"body": '{"a":"\ud800"}'}

        request = request_of(event, CALLER)

        with pytest.raises(ParseError):
            parse_body(request.body)


def test_a_response_has_the_format_of_api_gateway() -> None:
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
