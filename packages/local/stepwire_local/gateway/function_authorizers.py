"""A Lambda authorizer of type TOKEN, which a REST API asks about each request: its event, and what its answer means.

Pure. The source is the API Gateway developer guide, "Use API Gateway Lambda authorizers". Not served: authorizers of
type REQUEST, and results that are kept.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

from stepwire_local.lambdas.functions import Function
from stepwire_local.lambdas.invocations import Failed, Outcome

_UNAUTHORIZED = "Unauthorized"  # an error with this message is a 401, by the guide
_CONTEXT_VALUES = (str, int, float, bool)


@dataclass(frozen=True)
class FunctionAuthorizer:
    """An authorizer: its function, and the header with the token."""

    function: Function
    header: str = "authorization"
    pattern: str = ""
    """What the header must match; otherwise, the function is not asked. Empty: anything."""


class Unauthorized(Exception):
    """There is no token, or the function says with an error that nobody has signed in."""


class Denied(Exception):
    """The function's policy does not allow the request."""


class Broken(Exception):
    """The function failed, or its answer is none."""


def token_in(authorizer: FunctionAuthorizer, headers: Sequence[tuple[str, str]]) -> str:
    """Return the header with the token.

    Raises:
        Unauthorized: it is missing, or does not match the pattern.
    """
    found = next((value for name, value in headers if name.lower() == authorizer.header), "")
    if not found or (authorizer.pattern and not re.search(authorizer.pattern, found)):
        raise Unauthorized
    return found


def event(token: str, method_arn: str) -> dict[str, Any]:
    """Return the event of the function."""
    return {"type": "TOKEN", "methodArn": method_arn, "authorizationToken": token}


def context_in(outcome: Outcome, method_arn: str) -> dict[str, Any]:
    """Return what the next function gets to know of the caller: texts, whatever the authorizer gave.

    Raises:
        Unauthorized, Denied, Broken: the request goes no further.
    """
    answer: Any = json.loads(outcome.payload)
    if isinstance(outcome, Failed):
        raise Unauthorized if answer.get("errorMessage") == _UNAUTHORIZED else Broken
    try:
        effects = _effects(answer["policyDocument"]["Statement"], method_arn)
        given = cast("Mapping[str, Any]", answer.get("context") or {})
        principal = str(answer["principalId"])
    except (AttributeError, KeyError, TypeError) as error:
        raise Broken from error
    if not all(isinstance(value, _CONTEXT_VALUES) for value in given.values()):
        raise Broken
    if effects != {"Allow"}:
        raise Denied
    texts = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in given.items()}
    return {"principalId": principal, **texts}


def _effects(statements: Sequence[Mapping[str, Any]], method_arn: str) -> set[str]:
    """Return the effects of the statements about a request."""
    return {
        str(one["Effect"])
        for one in statements
        if one["Action"] == "execute-api:Invoke"
        and any(fnmatchcase(method_arn, pattern) for pattern in _listed(one["Resource"]))
    }


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]
