"""Secrets of a template: given or generated, and read by a function as in AWS."""

import json
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from stepwire_local import LocalStack, TemplateError

HANDLER = """
import os
import boto3

def handler(event, context):
    answer = boto3.client("secretsmanager").get_secret_value(SecretId=os.environ["SECRET"])
    return {"arn": answer["ARN"], "name": answer["Name"], "value": answer["SecretString"]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "f").mkdir()
    (tmp_path / "f" / "app.py").write_text(HANDLER, encoding="utf-8")
    return tmp_path


def template(folder: Path, **properties: Any) -> Path:
    """Write a template of one secret and a function that reads it."""
    reader = {
        "CodeUri": "f",
        "Handler": "app.handler",
        "Runtime": "python3.13",
        "Environment": {"Variables": {"SECRET": {"Ref": "Secret"}}},
        "Policies": [{"AWSSecretsManagerGetSecretValuePolicy": {"SecretArn": {"Ref": "Secret"}}}],
    }
    resources = {
        "Secret": {"Type": "AWS::SecretsManager::Secret", "Properties": properties},
        "Reader": {"Type": "AWS::Serverless::Function", "Properties": reader},
    }
    outputs = {"Ref": {"Value": {"Ref": "Secret"}}, "Id": {"Value": {"Fn::GetAtt": ["Secret", "Id"]}}}
    body = {"Transform": "AWS::Serverless-2016-10-31", "Resources": resources, "Outputs": outputs}
    path = folder / "template.yaml"
    path.write_text(yaml.safe_dump(body), encoding="utf-8")
    return path


def value(folder: Path, **properties: Any) -> str:
    with LocalStack(template(folder, **properties)) as stack:
        return stack.invoke("Reader", {})["value"]


def test_a_handler_reads_a_secret_by_its_arn(folder: Path) -> None:
    with LocalStack(template(folder, Name="signing-key", SecretString="s3cret", KmsKeyId="alias/a", Tags=[])) as stack:
        seen = stack.invoke("Reader", {})

    assert (seen["name"], seen["value"]) == ("signing-key", "s3cret")
    assert seen["arn"].startswith("arn:aws:secretsmanager:us-east-1:123456789012:secret:signing-key-")
    assert stack.outputs == {"Ref": seen["arn"], "Id": seen["arn"]}
    assert not any("Secret: " in note for note in stack.not_served)


def test_a_generated_password_has_the_requested_length_and_characters(folder: Path) -> None:
    password = value(folder, GenerateSecretString={"PasswordLength": 64, "ExcludePunctuation": True})

    assert len(password) == 64
    assert password.isalnum()


def test_numbers_and_booleans_may_be_strings(folder: Path) -> None:
    wanted = {
        "PasswordLength": "40",
        "ExcludePunctuation": "true",
        "ExcludeUppercase": "false",
        "ExcludeCharacters": "1",
    }

    password = value(folder, GenerateSecretString=wanted)

    assert len(password) == 40
    assert set(password) <= set(string.ascii_letters + string.digits) - {"1"}


def test_each_generated_password_has_32_random_characters(folder: Path) -> None:
    first, second = (value(folder, GenerateSecretString={}) for _ in range(2))

    assert (len(first), len(second)) == (32, 32)
    assert first != second


def test_a_password_can_be_part_of_an_object(folder: Path) -> None:
    wanted = {"SecretStringTemplate": '{"user": "admin"}', "GenerateStringKey": "password", "PasswordLength": 20}

    secret = json.loads(value(folder, GenerateSecretString=wanted))

    assert (secret["user"], len(secret["password"])) == ("admin", 20)


@pytest.mark.parametrize("properties", [{}, {"Name": {"Fn::Sub": "${AWS::StackName}/key"}}])
def test_concurrent_stacks_have_separate_secrets(folder: Path, properties: dict[str, Any]) -> None:
    path = template(folder, GenerateSecretString={}, **properties)

    with LocalStack(path) as first, LocalStack(path) as second:
        secrets = [stack.invoke("Reader", {}) for stack in (first, second)]

    assert len({secret["arn"] for secret in secrets}) == 2
    assert len({secret["value"] for secret in secrets}) == 2


@pytest.mark.parametrize(
    ("properties", "words"),
    [
        ({"SecretString": "a", "GenerateSecretString": {}}, "not both"),
        ({"GenerateSecretString": {"SecretStringTemplate": "{}"}}, "need each other"),
        ({"GenerateSecretString": {"GenerateStringKey": "a"}}, "need each other"),
        ({"GenerateSecretString": {"GenerateStringKey": "a", "SecretStringTemplate": "[1]"}}, "not a JSON object"),
        ({"GenerateSecretString": {"GenerateStringKey": "a", "SecretStringTemplate": "{"}}, "not a JSON object"),
        ({"GenerateSecretString": {"Length": 8}}, "has no Length"),
        ({"GenerateSecretString": {"PasswordLength": 2}}, "Secret: "),
    ],
)
def test_a_wrong_secret_is_an_error_that_says_why(folder: Path, properties: dict[str, Any], words: str) -> None:
    with pytest.raises(TemplateError, match=words):
        value(folder, **properties)
