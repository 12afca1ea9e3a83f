"""Function URLs are served on a port of their own, with the events and responses of AWS's."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from packages.local.tests.applications import Application, arn, function, resource, served
from stepwire_local.gateway.exchanges import Exchange

ANSWERS = """
def handler(event, context):
    kind = event["rawPath"]
    if kind == "/fails":
        raise ValueError("no")
    if kind == "/text":
        return "hello"
    if kind == "/status":
        return {"statusCode": 201, "body": "{}", "headers": {"access-control-allow-origin": "https://b.example"}}
    return event
"""
FILES = {"answers/app.py": ANSWERS}
ORIGIN = {"origin": "https://a.example"}
SIGNED = {"authorization": "AWS4-HMAC-SHA256 Credential=AKID/20261129/us-east-1/lambda/aws4_request, Signature=0"}


def with_url(auth: str = "NONE", **properties: Any) -> dict[str, Any]:
    return {"Answers": function("answers", FunctionUrlConfig={"AuthType": auth, **properties})}


def url_of(application: Application) -> str:
    (found,) = application.stack.function_urls
    return found.url


def test_the_event_and_the_response_are_those_of_a_function_url(tmp_path: Path) -> None:
    with served(tmp_path, with_url(), FILES) as application:
        answer = httpx.post(f"{url_of(application)}a/b?c=1", json={"d": 2}, cookies={"e": "3"})
        event = answer.json()

    context = event["requestContext"]
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert (event["version"], event["routeKey"], event["rawPath"]) == ("2.0", "$default", "/a/b")
    assert (event["rawQueryString"], event["queryStringParameters"], event["cookies"]) == ("c=1", {"c": "1"}, ["e=3"])
    assert (json.loads(event["body"]), event["isBase64Encoded"]) == ({"d": 2}, False)
    assert (context["accountId"], context["stage"], context["http"]["method"]) == ("anonymous", "$default", "POST")
    assert "authorizer" not in context


@pytest.mark.parametrize(
    ("path", "status", "body", "kind"),
    [
        ("text", 200, "hello", "application/json"),
        ("status", 201, "{}", "application/json"),
        ("fails", 502, "Internal Server Error", "application/json"),
    ],
)
def test_results_become_responses(tmp_path: Path, path: str, status: int, body: str, kind: str) -> None:
    with served(tmp_path, with_url(), FILES) as application:
        answer = httpx.get(f"{url_of(application)}{path}")

    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (status, body, kind)


def test_others_refer_to_the_url_and_its_requests_are_told(tmp_path: Path) -> None:
    outputs = {"Url": {"Value": {"Fn::GetAtt": ["AnswersUrl", "FunctionUrl"]}}}
    caller = function(Environment={"Variables": {"URL": outputs["Url"]["Value"]}})

    class Watcher:
        told: list[Exchange] = []  # noqa: RUF012 - of one test

        def answered(self, exchange: Exchange) -> None:
            self.told.append(exchange)

        def task_changed(self, change: object) -> None:
            """Ignore it: there is no task."""

    with served(tmp_path, {**with_url(), "Caller": caller}, FILES) as application:
        url = url_of(application)
        assert application.stack.functions["Caller"].settings.variables["URL"] == url
        application.stack.watcher = Watcher()
        httpx.get(f"{url}text")

    assert [(one.request.path, one.response.status) for one in Watcher.told] == [(f"{url}text", 200)]


def test_its_cors_settings_decide(tmp_path: Path) -> None:
    cors = {"AllowOrigins": ["https://a.example"], "AllowMethods": ["GET"], "MaxAge": 60}

    with served(tmp_path, with_url(Cors=cors), FILES) as application:
        url = url_of(application)
        preflight = httpx.options(url, headers={**ORIGIN, "access-control-request-method": "GET"})
        answer = httpx.get(f"{url}status", headers=ORIGIN)

    assert (preflight.status_code, preflight.headers["access-control-max-age"]) == (204, "60")
    assert preflight.headers["access-control-allow-methods"] == "GET"
    assert answer.headers["access-control-allow-origin"] == "https://a.example"


def test_with_aws_iam_a_request_must_be_signed(tmp_path: Path) -> None:
    with served(tmp_path, with_url("AWS_IAM"), FILES) as application:
        url, notes = url_of(application), application.stack.not_served
        refused, admitted = httpx.get(url), httpx.get(url, headers=SIGNED)

    assert notes == ("AnswersUrl: requests must be signed, but their signatures are not verified",)
    assert (refused.status_code, refused.json()) == (403, {"message": "Forbidden"})
    context = admitted.json()["requestContext"]
    assert (context["accountId"], context["authorizer"]["iam"]["accessKey"]) == ("123456789012", "AKID")


def test_another_host_is_refused(tmp_path: Path) -> None:
    with served(tmp_path, with_url(), FILES) as application:
        assert httpx.get(url_of(application), headers={"host": "evil.example"}).status_code == 403


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"TargetFunctionArn": "nobody"}, "Wrong: nobody is not a function of this template"),
        ({"AuthType": "JWT"}, "Wrong: AuthType is JWT, but must be NONE or AWS_IAM"),
        ({"Cors": {"AllowOrigins": ["*"], "AllowCredentials": True}}, "cannot allow credentials to every origin"),
    ],
)
def test_a_url_that_cannot_be_served_is_one_line(tmp_path: Path, properties: dict[str, Any], words: str) -> None:
    url = {"AuthType": "NONE", "TargetFunctionArn": arn("Answers"), **properties}
    resources = {**with_url(), "Wrong": resource("Lambda::Url", **url)}

    with served(tmp_path, resources, FILES) as application:
        (note,) = application.stack.not_served

        assert httpx.get(f"{url_of(application)}text").text == "hello"
    assert words in note


def test_a_url_comes_and_goes_with_the_template(tmp_path: Path) -> None:
    without = {"Answers": function("answers")}
    template = tmp_path / "template.json"

    def change(application: Application, resources: dict[str, Any]) -> None:
        body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources}
        template.write_text(json.dumps(body), encoding="utf-8")
        application.stack.update(application.stack.deployments[0])

    with served(tmp_path, without, FILES) as application:
        change(application, with_url())
        url = url_of(application)
        assert httpx.get(f"{url}text").text == "hello"

        change(application, without)

        assert application.stack.function_urls == []
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{url}text")
