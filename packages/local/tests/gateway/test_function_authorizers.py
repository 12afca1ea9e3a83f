"""A Lambda authorizer in front of a REST API: when its function is asked, and what its answer means."""

import json
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from stepwire_local import LocalStack
from stepwire_local.gateway.function_authorizers import Broken, Denied, Unauthorized, context_in
from stepwire_local.gateway.http_api import OF_REST_APIS, customized
from stepwire_local.lambdas.invocations import Failed, Outcome, Returned
from tests.waiting import HANG_GUARD

ARN: Final = "arn:aws:execute-api:us-east-1:123456789012:abc/live/POST/mcp"
GUARDED: Final = """
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Resources:
  Behind: {Type: AWS::Serverless::Function, Properties: {CodeUri: code, Handler: app.handler, Runtime: python3.13}}
  Guard: {Type: AWS::Serverless::Function, Properties: {CodeUri: code, Handler: app.guard, Runtime: python3.13}}
  Api:
    Type: AWS::Serverless::Api
    Properties:
      StageName: live
      OpenApiVersion: 3.0.1
      DefinitionBody:
        openapi: 3.0.1
        info: {title: guarded, version: "1"}
        paths:
          /in:
            get:
              security: [{guard: []}]
              x-amazon-apigateway-integration: &to_behind
                type: aws_proxy
                httpMethod: POST
                uri: !Sub "arn:aws:apigateway:a:lambda:path/1/functions/${Behind.Arn}/invocations"
          /kept:
            get: {security: [{kept: []}], x-amazon-apigateway-integration: *to_behind}
        components:
          securitySchemes:
            guard: &guard
              type: apiKey
              name: Authorization
              in: header
              x-amazon-apigateway-authtype: custom
              x-amazon-apigateway-authorizer: &asked
                type: token
                authorizerUri: !Sub "arn:aws:apigateway:a:lambda:path/1/functions/${Guard.Arn}/invocations"
                authorizerResultTtlInSeconds: 0
                identityValidationExpression: ^[a-z]+$
            kept:
              <<: *guard
              x-amazon-apigateway-authorizer: {<<: *asked, authorizerResultTtlInSeconds: 300}
        x-amazon-apigateway-gateway-responses:
          ACCESS_DENIED:
            statusCode: "401"
            responseTemplates: {application/json: '{"message":"no"}'}
            responseParameters: {gatewayresponse.header.WWW-Authenticate: "'Bearer'"}
"""
CODE: Final = """
import json

def handler(event, context):
    return {"statusCode": 200, "body": json.dumps(event["requestContext"]["authorizer"])}

def guard(event, context):
    token = event["authorizationToken"]
    if token == "nobody":
        raise Exception("Unauthorized")
    if token == "broken":
        raise Exception("a fault")
    effect = "Allow" if token == "friend" else "Deny"
    statement = {"Effect": effect, "Action": "execute-api:Invoke", "Resource": event["methodArn"]}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    return {"principalId": "p", "policyDocument": policy, "context": {"sure": True, "number": 1, "token": token}}
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "code").mkdir()
    (folder / "code" / "app.py").write_text(CODE, encoding="utf-8")
    template: Path = folder / "template.yaml"
    template.write_text(GUARDED, encoding="utf-8")
    with LocalStack(template) as stack:
        yield stack.base_url


def answered(url: str, token: str | None, path: str = "/in") -> httpx.Response:
    headers = {} if token is None else {"authorization": token}
    return httpx.get(f"{url}{path}", headers=headers, timeout=HANG_GUARD)


def test_the_function_behind_it_gets_the_context_as_texts(url: str) -> None:
    assert answered(url, "friend").json() == {"principalId": "p", "sure": "true", "number": "1", "token": "friend"}


@pytest.mark.parametrize(
    ("token", "status", "message"),
    [
        (None, 401, "Unauthorized"),
        ("123", 401, "Unauthorized"),  # it does not match, so nobody is asked
        ("nobody", 401, "Unauthorized"),
        ("broken", 500, "Internal Server Error"),
        ("foe", 401, "no"),  # by the gateway response of the template
    ],
)
def test_a_refusal_has_the_response_of_its_kind(url: str, token: str | None, status: int, message: str) -> None:
    response = answered(url, token)

    assert (response.status_code, response.json()) == (status, {"message": message})
    assert ("www-authenticate" in response.headers) is (token == "foe")


def test_an_authorizer_whose_results_are_kept_is_not_served_and_refuses(url: str) -> None:
    assert answered(url, "friend", "/kept").status_code == 401


def policy(*effects: str, resource: Any = ARN) -> dict[str, Any]:
    statements = [{"Effect": one, "Action": "execute-api:Invoke", "Resource": resource} for one in effects]
    return {"principalId": "p", "policyDocument": {"Statement": statements}}


@pytest.mark.parametrize(
    ("answer", "refusal"),
    [
        (policy("Allow"), None),
        (policy("Allow", resource=["arn:other", "arn:aws:execute-api:*/mcp"]), None),
        (policy("Deny"), Denied),
        (policy("Allow", "Deny"), Denied),
        (policy(), Denied),
        (policy("Allow", resource="arn:other"), Denied),
        (policy("Allow") | {"context": {"a": ["list"]}}, Broken),
        ({"policyDocument": policy("Allow")["policyDocument"]}, Broken),
        ({}, Broken),
        (None, Broken),
        ("Allow", Broken),
    ],
)
def test_only_an_allowance_without_a_refusal_lets_a_request_in(answer: Any, refusal: type[Exception] | None) -> None:
    outcome: Outcome = Returned(json.dumps(answer))

    if refusal is None:
        assert context_in(outcome, ARN) == {"principalId": "p"}
        return
    with pytest.raises(refusal):
        context_in(outcome, ARN)


def test_an_error_is_a_fault_unless_it_says_unauthorized() -> None:
    for message, refusal in (("Unauthorized", Unauthorized), ("unauthorized", Broken)):
        with pytest.raises(refusal):
            context_in(Failed(json.dumps({"errorMessage": message, "errorType": "Exception"})), ARN)


def test_a_gateway_response_changes_what_it_names() -> None:
    replies = customized({"UNAUTHORIZED": {"statusCode": 418}, "DEFAULT_5XX": {"statusCode": "599"}})

    assert (replies.unauthorized.status, replies.unauthorized.body) == (418, OF_REST_APIS.unauthorized.body)
    assert replies.failed == OF_REST_APIS.failed
