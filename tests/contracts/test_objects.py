"""Reading objects that workflows have left in S3, on a simulated S3."""

from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from stepwire.aws.clients import s3_client
from stepwire.aws.s3 import Objects
from stepwire.errors import ObjectsUnavailable, ObjectUnreadable
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client


@pytest.fixture
def bucket(aws: None) -> Iterator[str]:
    """A bucket with an object of ten bytes."""
    client: Any = aws_client("s3", REGION)
    client.create_bucket(Bucket="reports")
    client.put_object(Bucket="reports", Key="a/out.json", Body=b'{"a": "b"}')
    yield "reports"
    client.delete_object(Bucket="reports", Key="a/out.json")
    client.delete_bucket(Bucket="reports")


def test_an_object_is_read(bucket: str) -> None:
    assert Objects(s3_client).read(bucket, "a/out.json", 10) == b'{"a": "b"}'


@pytest.mark.parametrize(
    ("where", "key", "most", "reason"),
    [
        ("reports", "a/out.json", 9, "it has 10 bytes, and at most 9 can be returned"),
        ("reports", "a/other.json", 10, "there is no such object"),
        ("no-reports", "a/out.json", 10, "there is no such object"),
    ],
)
def test_an_object_that_cannot_be_read_has_a_reason(bucket: str, where: str, key: str, most: int, reason: str) -> None:
    with pytest.raises(ObjectUnreadable, match=reason):
        Objects(s3_client).read(where, key, most)


class Failing:
    """An S3 that answers with an error."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def get_object(self, **_: object) -> None:
        raise self.error


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "of AWS, about arn:aws:s3:::reports"}}, "GetObject")


@pytest.mark.parametrize("code", ["AccessDenied", "InvalidObjectState"])
def test_an_object_that_may_not_be_read_is_refused_without_the_words_of_aws(code: str) -> None:
    client: Any = Failing(refused(code))

    with pytest.raises(ObjectUnreadable) as fault:
        Objects(lambda: client).read("reports", "a/out.json", 10)

    assert str(fault.value) == "it is not there, or this server may not read it"


@pytest.mark.parametrize(
    "error", [refused("SlowDown"), refused("InternalError"), ReadTimeoutError(endpoint_url="https://s3")], ids=repr
)
def test_an_s3_that_does_not_answer_is_asked_again(error: Exception) -> None:
    client: Any = Failing(error)

    with pytest.raises(ObjectsUnavailable):
        Objects(lambda: client).read("reports", "a/out.json", 10)
