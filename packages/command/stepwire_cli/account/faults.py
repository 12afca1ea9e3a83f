"""Errors of boto3 as errors of the command: one line, what is wrong and what to do.

The rule: decide by the type or the code of an error, never by its message.
"""

from collections.abc import Mapping
from typing import Any, Final

from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from stepwire_cli.account.errors import AccountError, NoCredentials, NoRegion, NotAllowed, NotThere, Unreachable

OF_AWS: Final = (BotoCoreError, ClientError, ResponseParserError, ValueError)
"""What boto3 raises if AWS cannot be asked, or refuses. A wrong URL is a `ValueError`."""
_LONGEST: Final = 200  # characters of AWS's own words
_SIGN_IN: Final = "sign in (`aws sso login`, `aws login`, `aws configure`), add --profile, or set AWS_PROFILE"
_PROFILES: Final = "`aws configure list-profiles` lists those there are"
_NETWORK: Final = "check the network, HTTPS_PROXY and --region"
_OVER: Final = (exceptions.SSOError, exceptions.TokenRetrievalError, exceptions.LoginError)

# The first that an error is an instance of. {words} are boto3's own, {operation} is what was asked.
_FAULTS: Final[tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[AccountError], str], ...]] = (
    (exceptions.NoRegionError, NoRegion, "no Region: add --region, or set AWS_REGION"),
    (exceptions.InvalidRegionError, NoRegion, "{words}: correct --region or AWS_REGION"),
    (exceptions.ProfileNotFound, NoCredentials, "{words}: " + _PROFILES),
    (exceptions.NoCredentialsError, NoCredentials, "no credentials for AWS: " + _SIGN_IN),
    (exceptions.PartialCredentialsError, NoCredentials, "a part of the credentials for AWS is missing: " + _SIGN_IN),
    (_OVER, NoCredentials, "the session with AWS is over: " + _SIGN_IN),
    (exceptions.CredentialRetrievalError, NoCredentials, "the credentials for AWS cannot be had: {words}"),
    (exceptions.ProxyConnectionError, Unreachable, "the proxy cannot be reached: check HTTPS_PROXY: {words}"),
    (
        (exceptions.ConnectionError, exceptions.HTTPClientError),
        Unreachable,
        "AWS cannot be reached for {operation}: " + _NETWORK + ": {words}",
    ),
    (
        ResponseParserError,
        Unreachable,
        "what answers {operation} is not AWS: is there a proxy, or a wrong AWS_ENDPOINT_URL?",
    ),
    ((BotoCoreError, ValueError), AccountError, "the configuration of AWS cannot be used for {operation}: {words}"),
)
_DENIED: Final = frozenset(
    {
        "403",
        "AccessDenied",
        "AccessDeniedException",
        "AWS.SimpleQueueService.AccessDenied",
        "AuthorizationError",
        "KmsAccessDeniedException",
        "UnauthorizedOperation",
    }
)
_EXPIRED: Final = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_MISSING: Final = frozenset(
    {
        "404",
        "ExecutionDoesNotExist",
        "InvalidArn",
        "NoSuchBucket",
        "ParameterNotFound",
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "ResourceNotFound",
        "ResourceNotFoundException",
        "StateMachineDoesNotExist",
    }
)
_SERVICES: Final = {"stepfunctions": "states", "resourcegroupstaggingapi": "tag", "dynamodbstreams": "dynamodb"}
_PERMISSIONS: Final = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
    "s3:ListObjectsV2": "s3:ListBucket",
    "s3:ListObjectVersions": "s3:ListBucketVersions",
    "s3:DeleteObjects": "s3:DeleteObject",
}
"""Those that have another name than their operation."""
_NAMES: Final = (
    "stateMachineArn", "stateMachineAliasArn", "executionArn", "resourceArn", "mapRunArn", "RoleArn", "StackName",
    "TableName", "Name", "Path", "QueueUrl", "FunctionName", "Bucket", "UserPoolId",
)  # fmt: skip


def told(error: Exception, operation: str, parameters: Mapping[str, Any] | None = None) -> AccountError:
    """Return an error of boto3 as one line that says what to do.

    Args:
        error: of boto3 or botocore.
        operation: what was asked, as `service:Operation`; the Operation alone where the service is not known.
        parameters: of the call; they name what it was about.
    """
    if isinstance(error, ClientError):
        return _refused(error, operation or error.operation_name, parameters or {})
    words = in_a_line(error)
    for kind, made, text in _FAULTS:
        if isinstance(error, kind):
            return made(text.format(words=words, operation=operation or "a client"))
    raise error


def _no_such_stack(name: str, operation: str) -> NotThere:
    kind = "" if operation.endswith("ListStackResources") else " of Stepwire"
    return NotThere(
        f"there is no stack {name}{kind} in this account and Region: check the name, --region and --profile; "
        "`aws cloudformation describe-stacks --query 'Stacks[].StackName'` lists the stacks"
    )


def in_a_line(error: Exception) -> str:
    """Return the words of an error, on one line and cut to a length."""
    return " ".join(str(error).split()).rstrip(".")[:_LONGEST]


def code_of(error: ClientError) -> str:
    """Return the code of a refusal."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _refused(error: ClientError, operation: str, parameters: Mapping[str, Any]) -> AccountError:
    code, words = code_of(error), " ".join(str(error.response.get("Error", {}).get("Message", "")).split())[:_LONGEST]
    subject = next((str(parameters[name]) for name in _NAMES if name in parameters), "")
    if code in _EXPIRED:
        return NoCredentials(f"the credentials for AWS are not valid, or have expired ({code}): sign in again")
    if code in _DENIED and operation == "sts:AssumeRole":
        return NotAllowed(
            f"{subject} may not be assumed: these credentials need sts:AssumeRole on it, and its trust policy must "
            "name their account and the external id (the output ExternalId of the endpoint's stack)"
        )
    if code in _DENIED:
        key = ", and the key that encrypts it" if code.startswith("Kms") else ""
        return NotAllowed(
            f"{subject or 'the account'}: these credentials may not {_action(operation)}{key}: add the permission"
        )
    # CloudFormation has no other code for a stack that is not there.
    if code == "ValidationError" and "StackName" in parameters and _is_look(operation):
        return _no_such_stack(subject, operation)
    if code in _MISSING:
        return NotThere(f"{subject or operation}: there is none in this account and Region")
    return AccountError(f"{subject or 'the account'}: {operation} was refused: {code}: {words}")


def _is_look(operation: str) -> bool:
    return operation.rpartition(":")[2].startswith(("Describe", "Get", "List"))


def _action(operation: str) -> str:
    if operation in _PERMISSIONS:
        return _PERMISSIONS[operation]
    service, colon, name = operation.partition(":")
    return f"{_SERVICES.get(service, service)}:{name}" if colon else operation
