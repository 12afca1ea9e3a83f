"""How calls are signed: quickly with the dummy credentials, and really with any others."""

import re
from typing import Any

import boto3
import pytest

from stepwire_local.account.isolation import ACCESS_KEY, REGION

boto: Any = boto3
SIGNED = re.compile(r"AWS4-HMAC-SHA256 Credential=(\w+)/\d{8}/\S+/sqs/aws4_request, .*Signature=(\w+)")


def signature(**credentials: str) -> tuple[str, ...]:
    """Return who signs a call, and with what."""
    sent: list[Any] = []
    client = boto.client("sqs", REGION, **credentials)

    def note(request: Any, **_: object) -> None:
        sent.append(request)

    client.meta.events.register_first("before-send", note)
    client.list_queues()
    header = sent[0].headers["Authorization"]
    found = SIGNED.fullmatch(header.decode() if isinstance(header, bytes) else header)
    assert found is not None
    return found.groups()


@pytest.mark.usefixtures("account")
def test_a_call_with_the_dummies_names_its_caller_and_has_no_signature() -> None:
    assert signature() == (ACCESS_KEY, "none")


@pytest.mark.usefixtures("account")
def test_a_call_with_other_credentials_is_signed() -> None:
    key, found = signature(aws_access_key_id="AKIDEXAMPLE", aws_secret_access_key="secret")

    assert key == "AKIDEXAMPLE"
    assert re.fullmatch("[0-9a-f]{64}", found)
