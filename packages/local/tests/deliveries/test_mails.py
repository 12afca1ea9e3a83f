"""A mail is shown with its subject and text, and sent to nobody."""

from pathlib import Path
from typing import Any, Final

import pytest

from packages.local.tests.applications import function, served
from stepwire_local.stack import FunctionError

SENDS: Final = """
import boto3

def handler(event, context):
    client = boto3.client(event["service"])
    return getattr(client, event["method"])(**event["parameters"])["MessageId"]
"""
TO: Final = {"ToAddresses": ["ann@example.com"]}
TEXT: Final = {"Subject": {"Data": "An order"}, "Body": {"Text": {"Data": "Say yes:\n https://an.example/yes"}}}
RAW: Final = (
    "From: shop@example.com\nTo: ann@example.com\nSubject: An order\nContent-Type: text/plain; charset=utf-8\n"
    "Content-Transfer-Encoding: base64\n\nU2F5IHllczoKIGh0dHBzOi8vYW4uZXhhbXBsZS95ZXM=\n"
)
MAILS: Final[dict[str, dict[str, Any]]] = {
    "SES": {
        "service": "ses",
        "method": "send_email",
        "parameters": {"Source": "shop@example.com", "Destination": TO, "Message": TEXT},
    },
    "SES, raw": {"service": "ses", "method": "send_raw_email", "parameters": {"RawMessage": {"Data": RAW}}},
    "SES v2": {
        "service": "sesv2",
        "method": "send_email",
        "parameters": {"FromEmailAddress": "shop@example.com", "Destination": TO, "Content": {"Simple": TEXT}},
    },
}


@pytest.mark.parametrize("name", MAILS)
def test_a_mail_has_a_line_with_its_subject_and_text(tmp_path: Path, name: str) -> None:
    sender = function("sends", Policies=[{"SESCrudPolicy": {"IdentityName": "example.com"}}])

    with served(tmp_path, {"Sender": sender}, {"sends/app.py": SENDS}) as application:
        sent = application.stack.invoke("Sender", MAILS[name])
        (line,) = application.told

    assert sent
    assert (line.kind, line.source, line.target) == ("mail", "shop@example.com", "ann@example.com")
    assert line.about == (
        "not delivered: no mail leaves this machine. Subject: An order. Text: Say yes: https://an.example/yes"
    )


def test_a_role_without_the_permission_cannot_send(tmp_path: Path, refusals: list[str]) -> None:
    with (
        served(tmp_path, {"Sender": function("sends")}, {"sends/app.py": SENDS}) as application,
        pytest.raises(FunctionError, match="is not authorized to perform: ses:SendEmail on resource: "),
    ):
        application.stack.invoke("Sender", MAILS["SES"])
    refusals.clear()
