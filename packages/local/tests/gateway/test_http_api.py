"""The pure part of the HTTP front: requests become events, and results become responses, as API Gateway documents."""

import base64
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stepwire_local.gateway import payloads
from stepwire_local.gateway.http_api import (
    Api,
    Integration,
    Match,
    Request,
    Route,
    find_route,
    refusal,
)
from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import Failed, FunctionSettings, Returned

WORKER = Function(FunctionSettings("f", "arn:f", Path(__file__).parents[1] / "stack" / "worker", "app.handler"))
INTEGRATION = Integration(WORKER, 1.0)
API = Api("abc123", "123456789012", "us-east-1")
AT = datetime(2026, 11, 21, 10, 20, 30, tzinfo=UTC)
REQUEST_ID = "01234567-89ab-cdef-0123-456789abcdef"


def routes(*keys: str) -> list[Route]:
    return [Route(key, INTEGRATION) for key in keys]


def made(
    body: bytes = b"", *headers: tuple[str, str], path: str = "/mcp", query: str = "", match: Match | None = None
) -> dict[str, Any]:
    request = Request("POST", path, query, headers, body, "127.0.0.1")
    return payloads.event(
        API, match or Match(Route("POST /mcp", INTEGRATION), path), request, request_id=REQUEST_ID, at=AT
    )


def test_an_event_is_that_of_payload_2() -> None:
    assert made(b"{}", ("Host", "127.0.0.1:3000"), ("User-Agent", "test"), ("Content-Type", "application/json")) == {
        "version": "2.0",
        "routeKey": "POST /mcp",
        "rawPath": "/mcp",
        "rawQueryString": "",
        "headers": {
            "host": "127.0.0.1:3000",
            "user-agent": "test",
            "content-type": "application/json",
            "x-amzn-trace-id": "Root=1-01234567-89abcdef0123456789abcdef",
            "x-forwarded-for": "127.0.0.1",
            "x-forwarded-port": "3000",
            "x-forwarded-proto": "http",
        },
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": "127.0.0.1:3000",
            "domainPrefix": "abc123",
            "http": {
                "method": "POST",
                "path": "/mcp",
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": "test",
            },
            "requestId": REQUEST_ID,
            "routeKey": "POST /mcp",
            "stage": "$default",
            "time": "21/Nov/2026:10:20:30 +0000",
            "timeEpoch": 1795256430000,
        },
        "body": "{}",
        "isBase64Encoded": False,
    }


def test_headers_are_lower_case_and_repeated_ones_are_joined() -> None:
    headers = made(b"", ("Accept", "a"), ("ACCEPT", "b"), ("Connection", "close"))["headers"]

    assert headers["accept"] == "a,b"
    assert "connection" not in headers


def test_cookies_leave_the_headers() -> None:
    seen = made(b"", ("Cookie", "a=1; b=2"), ("Cookie", "c=3"))

    assert seen["cookies"] == ["a=1", "b=2", "c=3"]
    assert "cookie" not in seen["headers"]


def test_query_parameters_are_decoded_and_joined() -> None:
    seen = made(query="a=1&a=2&b=%C3%BC&c=")

    assert seen["rawQueryString"] == "a=1&a=2&b=%C3%BC&c="
    assert seen["queryStringParameters"] == {"a": "1,2", "b": "ü", "c": ""}


def test_the_event_leaves_out_what_the_request_does_not_have() -> None:
    absent = {"body", "cookies", "pathParameters", "queryStringParameters", "stageVariables"}

    assert not absent & set(made())
    assert "authorizer" not in made()["requestContext"]


@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "text/csv", "Application/Problem+JSON", "image/svg+xml"],
)
def test_text_is_passed_as_text(content_type: str) -> None:
    is_text = content_type != "image/svg+xml"

    seen = made("ü".encode(), ("content-type", content_type))

    assert (seen["isBase64Encoded"], seen["body"]) == ((False, "ü") if is_text else (True, "w7w="))


@pytest.mark.parametrize("headers", [[("content-type", "application/octet-stream")], []])
def test_anything_else_is_passed_in_base64(headers: list[tuple[str, str]]) -> None:
    seen = made(b"{}", *headers)

    assert (seen["isBase64Encoded"], seen["body"]) == (True, base64.b64encode(b"{}").decode())


def test_json_that_is_not_utf8_is_passed_in_base64() -> None:
    seen = made(b"\xff\xfe", ("content-type", "application/json"))

    assert (seen["isBase64Encoded"], seen["body"]) == (True, base64.b64encode(b"\xff\xfe").decode())


@pytest.mark.parametrize(
    ("method", "path", "key"),
    [
        ("GET", "/items/7", "GET /items/{id}"),
        ("GET", "/items/special", "GET /items/special"),
        ("GET", "/items/7/8", "GET /{rest+}"),
        ("PUT", "/items/7", "$default"),
        ("GET", "/any", "ANY /any"),
    ],
)
def test_the_most_specific_route_serves(method: str, path: str, key: str) -> None:
    known = routes("$default", "GET /{rest+}", "GET /items/{id}", "GET /items/special", "ANY /any")

    found = find_route(known, method, path)

    assert found is not None
    assert found.route.key == key


def test_path_parameters_are_decoded() -> None:
    found = find_route(routes("GET /items/{id}"), "GET", "/items/a%2Fb%20c")

    assert found is not None
    assert found.parameters == {"id": "a/b c"}


def test_a_request_that_matches_no_route_is_not_served() -> None:
    assert find_route(routes("POST /mcp"), "GET", "/mcp") is None
    assert find_route(routes("POST /mcp"), "POST", "/mcp/") is None
    assert find_route(routes("POST /{proxy+}"), "POST", "/") is None


def test_a_greedy_variable_behind_a_path_may_be_empty() -> None:
    found = find_route(routes("POST /mcp", "POST /mcp/{proxy+}"), "POST", "/mcp/")

    assert found is not None
    assert (found.route.key, found.parameters) == ("POST /mcp/{proxy+}", {"proxy": ""})


@pytest.mark.parametrize(("authorization", "status"), [("JWT", 401), ("CUSTOM", 401), ("AWS_IAM", 403), ("NEW", 403)])
def test_a_route_with_an_unsupported_authorizer_refuses_every_request(authorization: str, status: int) -> None:
    refused = refusal(Route("POST /mcp", INTEGRATION, authorization))

    assert refused is not None
    assert refused.status == status


def returned(value: Any) -> Any:
    return payloads.response(Returned(json.dumps(value)), API, INTEGRATION)


def test_a_response_has_the_status_headers_and_body_of_the_function() -> None:
    seen = returned({"statusCode": "201", "headers": {"X-Number": 1}, "cookies": ["a=1"], "body": "ü"})

    assert seen.status == 201
    assert dict(seen.headers) == {"x-number": "1", "content-type": "text/plain; charset=utf-8", "set-cookie": "a=1"}
    assert seen.body == "ü".encode()


def test_a_base64_body_is_decoded() -> None:
    assert returned({"statusCode": 200, "body": "aGk=", "isBase64Encoded": True}).body == b"hi"


def test_a_function_cannot_set_connection_headers() -> None:
    seen = returned({"statusCode": 401, "headers": {"WWW-Authenticate": "Bearer", "Content-Length": "7"}, "body": ""})

    assert dict(seen.headers)["x-amzn-remapped-www-authenticate"] == "Bearer"
    assert "content-length" not in dict(seen.headers)


@pytest.mark.parametrize(
    ("value", "body"), [({"a": 1}, b'{"a": 1}'), ("text", b"text"), (None, b"null"), ([1], b"[1]")]
)
def test_a_result_without_a_status_is_the_body(value: Any, body: bytes) -> None:
    seen = returned(value)

    assert (seen.status, dict(seen.headers), seen.body) == (200, {"content-type": "application/json"}, body)


@pytest.mark.parametrize(
    "value",
    [
        {"statusCode": "many"},
        {"statusCode": 99},
        {"statusCode": None},
        {"statusCode": 200, "body": {"an": "object"}},
        {"statusCode": 200, "body": "not base64!", "isBase64Encoded": True},
        {"statusCode": 200, "headers": {"a": "b\r\nc: d"}},
        {"statusCode": 200, "headers": {"a": ["b"]}},
        {"statusCode": 200, "headers": "a: b"},
        {"statusCode": 200, "cookies": [None]},
    ],
)
def test_a_malformed_result_is_an_internal_error(value: Any) -> None:
    assert returned(value).status == 500


def test_the_response_to_a_failure_has_no_details() -> None:
    failed = Failed(json.dumps({"errorMessage": "secret", "errorType": "E", "stackTrace": []}))

    seen = payloads.response(failed, API, INTEGRATION)

    assert (seen.status, seen.body) == (500, b'{"message": "Internal Server Error"}')
