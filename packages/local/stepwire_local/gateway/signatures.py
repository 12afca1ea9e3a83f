"""Requests with an AWS signature, as function URLs with the sign-in AWS_IAM want them.

The rule: a signature is required and not verified, because there is one account, and its keys are dummies.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_CREDENTIAL: Final = re.compile(r"Credential=(?P<key>[^/\s]+)(?:/|%2F)\d{8}(?:/|%2F)[^/\s]+?(?:/|%2F)lambda(?:/|%2F)")


@dataclass(frozen=True)
class SignatureAuthorizer:
    """Lets in whoever signs their request."""

    account: str


def caller_of(
    authorizer: SignatureAuthorizer, headers: Sequence[tuple[str, str]], query: str
) -> Mapping[str, Any] | None:
    """Return what a function is told of the caller; None if the request has no signature."""
    given = next((value for name, value in headers if name.lower() == "authorization"), "")
    found = _CREDENTIAL.search(given) or _CREDENTIAL.search(query.replace("X-Amz-Credential=", "Credential="))
    if found is None:
        return None
    known = {
        "accessKey": found["key"],
        "accountId": authorizer.account,
        "callerId": found["key"],
        "cognitoIdentity": None,
        "principalOrgId": None,
        "userArn": f"arn:aws:iam::{authorizer.account}:user/local",
        "userId": found["key"],
    }
    return {"iam": known}
