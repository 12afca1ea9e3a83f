"""The composition root of function approvals: the page on which people decide questions with a link.

It is public, so it has the permissions for one vote and no more. No link, form, claim or token is in its log.
"""

import base64
import binascii
import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from stepwire.aws.bootstrap import ports_of, refuses_of
from stepwire.aws.clients import dynamodb_client, secrets_manager_client, step_functions_client
from stepwire.aws.gateway import SignIn, caller_with_claims
from stepwire.aws.invocations import builds_once, log_fault, new_logger
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.storage.table import Table
from stepwire.catalog.access import Access
from stepwire.engine.assembly import assemble
from stepwire.engine.ports import refuses_nobody
from stepwire.errors import AccessDenied
from stepwire.extras.approvals import approvals_over
from stepwire.extras.approvals.audiences import approver_of
from stepwire.extras.approvals.page.links import LinkMode, origin_of
from stepwire.extras.approvals.page.markup import HEADERS
from stepwire.extras.approvals.page.page import ApprovalPage, PageRequest
from stepwire.extras.approvals.page.pages import note_page
from stepwire.extras.approvals.page.settings import ApprovalSettings, read_approval_settings
from stepwire.extras.approvals.page.signing_in import IssuerUnavailable, SigningIn, SignInRefused
from stepwire.extras.approvals.rules import Approver
from stepwire.extras.approvals.storage import DynamoDbInbox
from stepwire.json_text import JsonObject, as_object

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

_FAILED: Final = 500


class ApprovalsHandler:
    """Handles function approvals: answers browsers of approvers."""

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Return the answer to one request."""
        try:
            answer = self._page.answer(request_in(event))
        except Exception as fault:  # noqa: BLE001 - a person gets a page, whatever happens
            self._report(fault)
            said = "Nothing is lost: what was decided before, stays decided. Open the link again in a minute."
            return _response(_FAILED, note_page("That did not work", said, self._settings.brand))
        body = "" if event["requestContext"]["http"]["method"] == "HEAD" else answer.html
        return _response(answer.status, body, answer.headers, answer.cookies)

    @cached_property
    def _settings(self) -> ApprovalSettings:
        return read_approval_settings(os.environ)

    @cached_property
    def _page(self) -> ApprovalPage:
        settings = self._settings
        table = Table(settings.table_name, dynamodb_client)
        ports = ports_of(table, step_functions_client, self._report)
        secret = Secret(settings.secret_arn, secrets_manager_client)
        return ApprovalPage(
            approvals_over(assemble(ports), DynamoDbInbox(table)),
            settings.mode,
            origin_of(settings.resource),
            settings.brand,
            secret,
            lambda: secrets_of(secret),
            self._signing_in(secret) if settings.mode is LinkMode.SIGN_IN else None,
            refuses_of(table, self._report) or refuses_nobody,
        )

    def _signing_in(self, secret: Secret) -> SigningIn | None:
        from stepwire.extras.approvals.page.issuer import HttpsIssuer  # noqa: PLC0415 - with links alone, nobody is asked

        settings = self._settings
        if settings.client is None:
            return None
        return SigningIn(
            settings.client,
            HttpsIssuer(settings.client.issuer),
            secret,
            lambda: secrets_of(secret),
            os.urandom,
            lambda claims: approver_by(claims, settings.sign_in, settings.access),
        )

    def _report(self, fault: Exception) -> None:
        if isinstance(fault, IssuerUnavailable):
            self._logger.error("nobody can sign in to decide", reason=str(fault))
        else:
            log_fault(fault, "an approver could not be answered", "check postponed", self._logger)

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()


def secrets_of(secret: Secret) -> Iterator[bytes]:
    """Yield the secret, and after it, at the cost of a call now and then, those before and after its rotation."""
    yield secret()
    yield from secret.others()


def approver_by(claims: JsonObject, sign_in: SignIn, access: Access) -> Approver:
    """Return the person whom an access token names: the same as in function mcp, by the same rules.

    Raises:
        SignInRefused: the token could not call the endpoint either.
    """
    try:
        caller = caller_with_claims(sign_in, claims)
        access.check(caller.scopes)
    except AccessDenied as error:
        raise SignInRefused("Your account may not use this endpoint. Ask whoever runs it.") from error
    return approver_of(caller, access.prefix)


def request_in(event: Mapping[str, Any]) -> PageRequest:
    """Return the request that an event of API Gateway carries."""
    body = str(event.get("body") or "").encode(errors="surrogatepass")
    if event.get("isBase64Encoded"):
        try:
            body = base64.b64decode(body, validate=True)
        except binascii.Error:
            body = b""
    headers: Mapping[str, str] = event.get("headers") or {}
    return PageRequest(
        method=event["requestContext"]["http"]["method"],
        link=as_object(event.get("pathParameters")).get("link") or "",
        query=str(event.get("rawQueryString") or ""),
        headers={name.lower(): value for name, value in headers.items()},
        cookies=dict(one.partition("=")[::2] for one in event.get("cookies") or ()),
        body=body,
    )


def _response(
    status: int, body: str, headers: Mapping[str, str] = HEADERS, cookies: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "statusCode": status,
        "headers": dict(headers),
        "cookies": list(cookies),
        "body": body,
        "isBase64Encoded": False,
    }
