"""Calls to AWS by functions in Node.js reach the account here, and are judged by the function's role."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from packages.local.tests.lambdas.node.conftest import function, template
from stepwire_local import LocalStack

# As an SDK does, but without one: a request with a signature that nobody checks.
CODE = """
const https = require("node:https");
exports.handler = ({ service, host, method, path, headers, body }) => new Promise((done, failed) => {
  const scope = `${process.env.AWS_ACCESS_KEY_ID}/20260101/us-east-1/${service}/aws4_request`;
  const authorization = `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=none`;
  const sent = https.request({ host, method, path, headers: { authorization, ...headers } }, (response) => {
    let text = "";
    response.on("data", (part) => (text += part)).on("end", () => done({ status: response.statusCode, text }));
  });
  sent.on("error", failed).end(body);
});
"""
TABLE, BUCKET = (
    {"Type": "AWS::Serverless::SimpleTable"},
    {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "box"}},
)
COMMON: Mapping[str, Any] = {"Runtime": "nodejs20.x", "CodeUri": "src", "Handler": "app.handler", "Timeout": 10}
POLICIES = [{"DynamoDBCrudPolicy": {"TableName": {"Ref": "Table"}}}, {"S3CrudPolicy": {"BucketName": {"Ref": "Box"}}}]
FUNCTIONS = {"May": function({**COMMON, "Policies": POLICIES}), "MayNot": function(COMMON)}


@pytest.fixture(scope="module")
def stack(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    resources = {"Table": TABLE, "Box": BUCKET, **FUNCTIONS}
    with LocalStack(template(tmp_path_factory.mktemp("calls"), {"src/app.js": CODE}, resources)) as served:
        yield served


def dynamodb(operation: str, **parameters: Any) -> Mapping[str, Any]:
    """Return an event that makes the function call DynamoDB."""
    headers = {"X-Amz-Target": f"DynamoDB_20120810.{operation}", "Content-Type": "application/x-amz-json-1.0"}
    host, body = "dynamodb.us-east-1.amazonaws.com", json.dumps(parameters)
    return {"service": "dynamodb", "host": host, "method": "POST", "path": "/", "headers": headers, "body": body}


def s3(host: str, method: str, path: str, body: str = "") -> Mapping[str, Any]:
    """Return an event that makes the function call S3."""
    return {"service": "s3", "host": host, "method": method, "path": path, "headers": {}, "body": body}


def test_a_call_that_the_role_allows_is_answered(stack: LocalStack) -> None:
    table = stack.physical_ids["Table"]

    put = stack.invoke("May", dynamodb("PutItem", TableName=table, Item={"id": {"S": "a"}}))

    assert put["status"] == 200
    assert stack.client("dynamodb").scan(TableName=table)["Items"] == [{"id": {"S": "a"}}]


def test_a_call_that_the_role_does_not_allow_is_refused(stack: LocalStack, refusals: list[str]) -> None:
    refused = stack.invoke("MayNot", dynamodb("Scan", TableName=stack.physical_ids["Table"]))
    refusals.clear()

    told = json.loads(refused["text"])
    assert (refused["status"], told["__type"]) == (400, "AccessDeniedException")
    assert "is not authorized to perform: dynamodb:Scan on resource: arn:aws:dynamodb:" in told["message"]


@pytest.mark.parametrize(
    ("host", "path"), [("s3.amazonaws.com", "/box/a/b"), ("box.s3.us-east-1.amazonaws.com", "/a/b")]
)
def test_a_bucket_is_in_the_path_or_in_the_host(stack: LocalStack, host: str, path: str) -> None:
    put = stack.invoke("May", s3(host, "PUT", path, "text"))
    got = stack.invoke("May", s3(host, "GET", path))

    assert (put["status"], got["status"], got["text"]) == (200, 200, "text")
    assert stack.client("s3").get_object(Bucket="box", Key="a/b")["Body"].read() == b"text"


def test_a_refusal_of_s3_is_xml(stack: LocalStack, refusals: list[str]) -> None:
    refused = stack.invoke("MayNot", s3("s3.amazonaws.com", "GET", "/box/a/b"))
    refusals.clear()

    assert refused["status"] == 403
    assert "<Error><Code>AccessDenied</Code><Message>User: " in refused["text"]


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (dynamodb("DescribeExport", ExportArn="a"), "dynamodb.DescribeExport is not simulated on this machine"),
        (dynamodb("Nonsense"), "is not simulated"),
        ({**dynamodb("Scan"), "service": "nonsense"}, "is not simulated"),
    ],
)
def test_a_call_that_is_not_simulated_says_so(stack: LocalStack, event: Mapping[str, Any], why: str) -> None:
    answer = stack.invoke("May", event)

    assert answer["status"] == 501
    assert why in json.loads(answer["text"])["message"]


def test_the_key_of_a_role_is_good_for_nothing_without_its_stack(stack: LocalStack) -> None:
    variables = stack.functions["May"].settings.variables
    credential = f"Credential=LOCALROLE{'0' * 16}/20260101/us-east-1/dynamodb/aws4_request"

    answer = httpx.post(variables["AWS_ENDPOINT_URL"], headers={"authorization": credential}, content=b"{}")

    assert (answer.status_code, answer.json()["__type"]) == (403, "InvalidClientTokenId")
