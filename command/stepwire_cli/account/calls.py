"""Calls to AWS: paced, retried while they are throttled, and with errors in one line."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from botocore import xform_name
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
    ProfileNotFound,
    TokenRetrievalError,
)
from botocore.parsers import ResponseParserError

from stepwire.aws.throttling import THROTTLED
from stepwire_cli.account.errors import (
    AccountError,
    NoCredentials,
    NoRegion,
    NotAllowed,
    NotThere,
    TooBusy,
    Unreachable,
)
from stepwire_cli.account.pacing import Pacer

_MOST_TRIES: Final = 8
_DENIED: Final = frozenset(
    {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "KmsAccessDeniedException"}
)
_EXPIRED: Final = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "InvalidSignatureException",
    }
)
_MISSING: Final = frozenset(
    {"StateMachineDoesNotExist", "ExecutionDoesNotExist", "ResourceNotFound", "InvalidArn", "ParameterNotFound"}
)
_NO_STACK: Final = re.compile(r"[Ss]tack.*does not exist")
_LONGEST: Final = 200  # characters of AWS's own words


@dataclass(frozen=True)
class Calls:
    """AWS of one account and Region. Threads may share it."""

    build_client: Callable[[str], Any]
    """Builds a client of boto3 for a service."""
    pacer: Pacer
    _clients: dict[str, Any] = field(default_factory=dict[str, Any])

    def call(self, service: str, operation: str, **parameters: Any) -> Any:
        """Return the answer to one call.

        Args:
            service: as boto3 names it.
            operation: as the API names it, e.g. `DescribeExecution`.
            parameters: of the call.

        Raises:
            AccountError: it was refused.
        """
        name = f"{service}:{operation}"
        try:
            act = partial(getattr(self._client(service), xform_name(operation)), **parameters)
            for _ in range(_MOST_TRIES):
                self.pacer.take(name)
                try:
                    answer = act()
                except ClientError as error:
                    if _code(error) not in THROTTLED:
                        raise
                    self.pacer.throttled(name)
                else:
                    self.pacer.worked(name)
                    return answer
        except (BotoCoreError, ClientError, ResponseParserError) as error:
            raise told(error, name, _subject(parameters)) from None
        raise TooBusy(
            f"AWS throttles {name} of this account: others use its quota; try again later, or with fewer names"
        )

    def pages(self, service: str, operation: str, token: str, **parameters: Any) -> Iterator[Any]:
        """Yield the answers to a call that has pages.

        Args:
            service: as boto3 names it.
            operation: as the API names it.
            token: name of the parameter, and of the member of the answer, that leads to the next page.
            parameters: of the call.
        """
        more: dict[str, Any] = {}
        while True:
            page = self.call(service, operation, **parameters, **more)
            yield page
            if not page.get(token):
                return
            more = {token: page[token]}

    def requests(self, service: str) -> dict[str, tuple[str, ...]]:
        """Return the members of each request that the installed boto3 knows of a service, by operation."""
        model = self._client(service).meta.service_model
        shapes = {name: model.operation_model(name).input_shape for name in model.operation_names}
        return {name: () if shape is None else tuple(shape.members) for name, shape in shapes.items()}

    def _client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.build_client(service)
        return self._clients[service]


def told(error: Exception, operation: str, subject: str = "") -> AccountError:
    """Return an error of boto3 as one line that says what to do."""
    if isinstance(error, ClientError):
        return _refused(error, operation, subject)
    if isinstance(error, NoRegionError):
        return NoRegion("no Region: add --region, or set AWS_REGION")
    if isinstance(error, ProfileNotFound):
        return NoCredentials(f"{error}: `aws configure list-profiles` lists those there are")
    if isinstance(error, NoCredentialsError | PartialCredentialsError | TokenRetrievalError):
        return NoCredentials("no credentials for AWS: sign in (`aws sso login`), add --profile, or set AWS_PROFILE")
    if isinstance(error, ResponseParserError):
        return Unreachable(f"what answers {operation} is not AWS: is there a proxy, or a wrong AWS_ENDPOINT_URL?")
    words = " ".join(str(error).split())[:_LONGEST]
    return Unreachable(f"AWS cannot be reached for {operation}: {words}")


def _refused(error: ClientError, operation: str, subject: str) -> AccountError:
    code, words = _code(error), " ".join(str(error.response.get("Error", {}).get("Message", "")).split())[:_LONGEST]
    if code in _EXPIRED:
        return NoCredentials("the credentials for AWS are not valid, or have expired: sign in again")
    if code in _DENIED:
        key = ", and the key that encrypts it" if code.startswith("Kms") else ""
        return NotAllowed(
            f"{subject or 'the account'}: these credentials may not {_action(operation)}{key}: add the permission"
        )
    if code in _MISSING or _NO_STACK.search(words):
        return NotThere(f"{subject}: there is none in this account and Region")
    return AccountError(f"{subject or 'the account'}: {operation} was refused: {code}: {words}")


def _action(operation: str) -> str:
    service, _, name = operation.partition(":")
    services = {"stepfunctions": "states", "resourcegroupstaggingapi": "tag"}
    return f"{services.get(service, service)}:{name}"


def _subject(parameters: dict[str, Any]) -> str:
    names = ("stateMachineArn", "executionArn", "resourceArn", "StackName", "Name", "Path")
    return next((str(parameters[name]) for name in names if name in parameters), "")


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))
