"""REST APIs: payload format 1.0, whose events and responses differ from 2.0, and a template with such an API."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from textwrap import dedent
from typing import Any

import httpx
import pytest

from stepwire_local import LocalStack
from stepwire_local.console import Console
from stepwire_local.errors import TemplateError
from stepwire_local.gateway import payloads
from stepwire_local.gateway.http_api import Api, Integration, Request, Route
from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import Failed, FunctionSettings, Outcome, Returned

WORKER = Function(FunctionSettings("f", "arn:f", Path(__file__).parents[1] / "stack" / "worker", "app.handler"))
INTEGRATION = Integration(WORKER, 1.0, "1.0")
REST = Api(
    "abc123",
    "123456789012",
    "us-east-1",
    routes=[Route("POST /items/{id}", INTEGRATION)],
    stage="Prod",
    variables={"color": "red"},
    binary=("image/*",),
)
HTTP = replace(REST, binary=None, stage="$default", variables={})
AT = datetime(2026, 11, 21, 10, 20, 30, tzinfo=UTC)
REQUEST_ID = "01234567-89ab-cdef-0123-456789abcdef"


def made(api: Api, path: str, query: str = "", body: bytes = b"", *headers: tuple[str, str]) -> dict[str, Any]:
    match = api.match("POST", path)
    assert match is not None
    request = Request("POST", path, query, headers, body, "127.0.0.1")
    return payloads.event(api, match, request, request_id=REQUEST_ID, at=AT)


def test_an_event_of_a_rest_api_is_that_of_payload_1() -> None:
    headers = (("host", "127.0.0.1:3000"), ("user-agent", "test"), ("accept", "a"), ("accept", "b"))

    event = made(REST, "/Prod/items/a%20b", "x=1&x=2", b"{}", *headers)

    listed = {
        "Host": ["127.0.0.1:3000"],
        "User-Agent": ["test"],
        "Accept": ["a", "b"],
        "X-Amzn-Trace-Id": ["Root=1-01234567-89abcdef0123456789abcdef"],
        "X-Forwarded-For": ["127.0.0.1"],
        "X-Forwarded-Port": ["3000"],
        "X-Forwarded-Proto": ["http"],
    }
    resource = event["requestContext"].pop("resourceId")
    assert len(resource) == 6
    assert event == {
        "resource": "/items/{id}",
        "path": "/items/a b",
        "httpMethod": "POST",
        "headers": {name: values[-1] for name, values in listed.items()},
        "multiValueHeaders": listed,
        "queryStringParameters": {"x": "2"},
        "multiValueQueryStringParameters": {"x": ["1", "2"]},
        "pathParameters": {"id": "a b"},
        "stageVariables": {"color": "red"},
        "requestContext": {
            "accountId": "123456789012",
            "apiId": "abc123",
            "domainName": "127.0.0.1:3000",
            "domainPrefix": "abc123",
            "extendedRequestId": REQUEST_ID,
            "httpMethod": "POST",
            "identity": {
                "accessKey": None,
                "accountId": None,
                "caller": None,
                "cognitoAuthenticationProvider": None,
                "cognitoAuthenticationType": None,
                "cognitoIdentityId": None,
                "cognitoIdentityPoolId": None,
                "principalOrgId": None,
                "sourceIp": "127.0.0.1",
                "user": None,
                "userAgent": "test",
                "userArn": None,
            },
            "path": "/Prod/items/a b",
            "protocol": "HTTP/1.1",
            "requestId": REQUEST_ID,
            "requestTime": "21/Nov/2026:10:20:30 +0000",
            "requestTimeEpoch": 1795256430000,
            "resourcePath": "/items/{id}",
            "stage": "Prod",
        },
        "body": "{}",
        "isBase64Encoded": False,
    }


ABSENT = {"queryStringParameters": None, "multiValueQueryStringParameters": None, "body": None}


@pytest.mark.parametrize(
    ("api", "path", "body", "kind", "part"),
    [
        (REST, "/Prod/items/1", b"", "", ABSENT),
        (REST, "/items/1", b"", "", {"path": "/items/1"}),  # without the stage
        (REST, "/items/1/", b"", "", {"path": "/items/1"}),
        (replace(REST, variables={}), "/items/1", b"", "", {"stageVariables": None}),
        (REST, "/items/1", b"\xff", "image/png", {"body": "/w==", "isBase64Encoded": True}),
        (REST, "/items/1", b"\xff", "font/ttf", {"body": "\N{REPLACEMENT CHARACTER}", "isBase64Encoded": False}),
        (HTTP, "/items/1", b"a", "font/ttf", {"version": "1.0", "body": "YQ==", "isBase64Encoded": True}),
    ],
)
def test_an_event_of_payload_1_follows_the_request_and_the_api(
    api: Api, path: str, body: bytes, kind: str, part: dict[str, Any]
) -> None:
    event = made(api, path, "", body, ("content-type", kind))

    assert {name: event[name] for name in part} == part


JSON = ("content-type", "application/json")


@pytest.mark.parametrize(
    ("result", "status", "headers", "body"),
    [
        ({"statusCode": 201, "body": "ü"}, 201, [JSON], "ü".encode()),
        ({"statusCode": "204"}, 204, [JSON], b""),
        ({"statusCode": 200, "headers": {"Content-Type": "a/b"}}, 200, [("content-type", "a/b")], b""),
        (
            {"statusCode": 200, "headers": {"A": "0"}, "multiValueHeaders": {"a": ["1", "2"]}},
            200,
            [("a", "1"), ("a", "2"), JSON],
            b"",
        ),
        ({"statusCode": 200, "body": "aGk=", "isBase64Encoded": True}, 200, [JSON], b"hi"),
        *(
            (malformed, 502, [JSON], b'{"message": "Internal server error"}')
            for malformed in (
                "text",
                None,
                [1],
                {"message": "no status"},
                {"statusCode": "many"},
                {"statusCode": 200, "body": {"an": "object"}},
                {"statusCode": 200, "headers": "a: b"},
                {"statusCode": 200, "multiValueHeaders": {"a": "b"}},
            )
        ),
    ],
)
def test_a_result_of_payload_1_is_a_response(
    result: Any, status: int, headers: list[tuple[str, str]], body: bytes
) -> None:
    seen = payloads.response(Returned(json.dumps(result)), REST, INTEGRATION)

    assert (seen.status, list(seen.headers), seen.body) == (status, headers, body)


@pytest.mark.parametrize(
    ("api", "outcome", "status"),
    [(REST, Failed("{}"), 502), (HTTP, Failed("{}"), 500), (HTTP, Returned('{"message": "no status"}'), 500)],
)
def test_each_kind_of_api_has_its_own_response_to_a_failure(api: Api, outcome: Outcome, status: int) -> None:
    assert payloads.response(outcome, api, INTEGRATION).status == status


def test_a_rest_api_without_binary_types_sends_the_base64_itself() -> None:
    result = Returned(json.dumps({"statusCode": 200, "body": "aGk=", "isBase64Encoded": True}))

    assert payloads.response(result, replace(REST, binary=()), INTEGRATION).body == b"aGk="


TEMPLATE = """
    Transform: AWS::Serverless-2016-10-31
    Globals:
      Api: {Cors: "'*'"}
    Resources:
      Get:
        Type: AWS::Serverless::Function
        Properties:
          Runtime: python3.13
          Handler: index.handler
          InlineCode: |
            def handler(event, context):
                return {"statusCode": 200, "body": "Get " + event["httpMethod"] + " " + event["resource"]}
          Events:
            Root: {Type: Api, Properties: {Path: /, Method: get}}
            Item: {Type: Api, Properties: {Path: "/items/{id}", Method: get}}
            Guarded: {Type: Api, Properties: {Path: /guarded, Method: get, Auth: {ApiKeyRequired: true}}}
      GetAll:
        Type: AWS::Serverless::Function
        Properties:
          Runtime: python3.13
          Handler: app.handler
          CodeUri: src/
          Events:
            Rest: {Type: Api, Properties: {Path: "/all/{proxy+}", Method: any}}
    Outputs:
      Url: {Value: !Sub "https://${ServerlessRestApi}.execute-api.${AWS::Region}.amazonaws.com/Prod/items/1"}
    """
CODE = """
import json
def handler(event, context):
    return {"statusCode": 200, "body": json.dumps([event["pathParameters"], event["path"], event["body"]])}
"""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    folder = tmp_path_factory.mktemp("rest")
    (folder / "src").mkdir()
    (folder / "src/app.py").write_text(CODE, encoding="utf-8")
    (folder / "template.yaml").write_text(dedent(TEMPLATE), encoding="utf-8")
    served = LocalStack(folder / "template.yaml")
    served.front = Console(served).in_front_of
    with served:
        yield served


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("GET", "/Prod/items/1", 200, "Get GET /items/{id}"),
        ("GET", "/items/1", 200, "Get GET /items/{id}"),
        ("GET", "/", 200, "Get GET /"),
        ("GET", "/Prod", 200, "Get GET /"),
        ("PUT", "/Prod/all/a/b", 200, '[{"proxy": "a/b"}, "/all/a/b", null]'),
        ("GET", "/Prod/guarded", 403, '{"message": "Forbidden"}'),
        ("POST", "/items/1", 403, '{"message": "Missing Authentication Token"}'),
        ("GET", "/Prod/unknown", 403, '{"message": "Missing Authentication Token"}'),
    ],
)
def test_events_of_type_api_are_routes(stack: LocalStack, method: str, path: str, status: int, text: str) -> None:
    response = httpx.request(method, f"{stack.base_url}{path}")

    assert (response.status_code, response.text) == (status, text)


def test_a_preflight_is_answered_where_the_template_asks_for_cors(stack: LocalStack) -> None:
    response = httpx.options(f"{stack.base_url}/Prod/items/1")

    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == "*"
    assert response.headers["access-control-allow-methods"] == "GET,OPTIONS"


def test_an_output_names_the_url_on_this_machine(stack: LocalStack) -> None:
    assert stack.outputs["Url"] == f"{stack.base_url}/Prod/items/1"


def test_a_route_that_needs_an_api_key_is_noted(stack: LocalStack) -> None:
    assert "GET /guarded: its sign-in is not verified here, so the route refuses every request" in stack.not_served


def test_the_console_leaves_the_root_to_an_application_that_has_a_route_there(stack: LocalStack) -> None:
    page = httpx.get(Console(stack).url)

    assert Console(stack).url == f"{stack.base_url}/console/"
    assert page.headers["content-type"].startswith("text/html")


REDEPLOYED = """
    Transform: AWS::Serverless-2016-10-31
    Resources:
      Api: {Type: AWS::ApiGateway::RestApi, Properties: {Name: a, Body: {openapi: 3.0.1, paths: {}}}}
      First: {Type: AWS::ApiGateway::Deployment, Properties: {RestApiId: !Ref Api}}
      Stage:
        Type: AWS::ApiGateway::Stage
        Properties: {RestApiId: !Ref Api, StageName: live, DeploymentId: !Ref First}
    """


def test_a_new_deployment_of_an_api_is_taken_over_and_another_stage_is_not(tmp_path: Path) -> None:
    path, text = tmp_path / "template.yaml", dedent(REDEPLOYED)
    path.write_text(text, encoding="utf-8")
    with LocalStack(path) as stack:
        path.write_text(text.replace("First", "Second"), encoding="utf-8")
        assert set(stack.update(stack.deployments[0])) == {"First", "Second", "Stage"}

        path.write_text(text.replace("live", "other"), encoding="utf-8")
        with pytest.raises(TemplateError, match=r"Stage: a change of AWS::ApiGateway::Stage .* by a restart only"):
            stack.update(stack.deployments[0])
