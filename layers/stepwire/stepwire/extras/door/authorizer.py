"""The composition root of function authorizer: a REST API asks it whose requests it passes on.

It does for a REST API what the JWT authorizer does for an HTTP API, by the same rules (`access_tokens`). It has no
permissions in AWS, and asks nobody but the issuer for its keys. The caller of a bad token gets the same response
whatever is bad; the log has the reason, and nothing of a token.
"""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from stepwire.aws.invocations import SystemClock, builds_once, new_logger
from stepwire.aws.issuer_documents import Unanswered
from stepwire.aws.settings import read_list, required
from stepwire.extras.door.access_tokens import Rules, TokenRefused, verified_claims
from stepwire.extras.door.bearer_tokens import VERIFIED, digest_of, token_in
from stepwire.extras.door.issuer_keys import IssuerKeys

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger


class AuthorizerHandler:
    """Handles function authorizer, of type TOKEN; its results are not cached, because a token may end at any second."""

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Return a policy that allows the request, or none."""
        token, at = token_in(str(event.get("authorizationToken") or "")), SystemClock().now()
        try:
            verified_claims(token, self._rules, lambda kid: self._keys.key_of(kid, at), at)
        except TokenRefused as refusal:
            self._logger.info("a token is refused", reason=str(refusal))
            return _policy("Deny", event)
        # Only which token was verified: the function reads its claims from the request, however many there are.
        return _policy("Allow", event) | {"context": {VERIFIED: digest_of(token)}}

    @cached_property
    def _rules(self) -> Rules:
        return Rules(required(os.environ, "ISSUER"), frozenset(read_list(os.environ, "AUDIENCES")))

    @cached_property
    def _keys(self) -> IssuerKeys:
        return IssuerKeys(self._rules.issuer, self._report)

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()

    def _report(self, fault: Unanswered) -> None:
        self._logger.error("the issuer's keys cannot be read", reason=str(fault))


def _policy(effect: str, event: Mapping[str, Any]) -> dict[str, Any]:
    statement = {"Effect": effect, "Action": "execute-api:Invoke", "Resource": event["methodArn"]}
    return {"principalId": "caller", "policyDocument": {"Version": "2012-10-17", "Statement": [statement]}}
