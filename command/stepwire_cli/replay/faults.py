"""Why AWS cannot be reached, in one line that says what to do.

The rule: decide by the type or code of an error, never by its message.
"""

from typing import Final

from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError

_SIGN_IN: Final = "Sign in (`aws sso login`, `aws configure`), or set AWS_PROFILE."
_REGION: Final = "Set the stack's, as in `AWS_DEFAULT_REGION=eu-central-1 make replay STACK=name`, or AWS_PROFILE."
_NETWORK: Final = "Check the network, HTTPS_PROXY, and the Region."
# The first that an error is an instance of.
_CURES: Final[tuple[tuple[type[BotoCoreError], str], ...]] = (
    (exceptions.NoRegionError, f"No AWS Region is set. {_REGION}"),
    (exceptions.InvalidRegionError, f"The AWS Region is not one. {_REGION}"),
    (exceptions.NoCredentialsError, f"There are no AWS credentials. {_SIGN_IN}"),
    (exceptions.PartialCredentialsError, f"A part of the AWS credentials is missing. {_SIGN_IN}"),
    (exceptions.CredentialRetrievalError, f"The AWS credentials cannot be had. {_SIGN_IN}"),
    (exceptions.SSOError, f"The AWS session is over. {_SIGN_IN}"),
    (exceptions.TokenRetrievalError, f"The AWS session is over. {_SIGN_IN}"),
    (exceptions.ProfileNotFound, "AWS_PROFILE names no profile. `aws configure list-profiles` lists them."),
    (exceptions.ProxyConnectionError, "The proxy cannot be reached. Check HTTPS_PROXY."),
    (exceptions.ConnectionError, f"AWS cannot be reached. {_NETWORK}"),
    (exceptions.HTTPClientError, f"AWS cannot be reached. {_NETWORK}"),
)
_BAD_CREDENTIALS: Final = frozenset(
    (
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    )
)
_DENIED: Final = frozenset(("AccessDenied", "AccessDeniedException", "AWS.SimpleQueueService.AccessDenied"))


def cure_of(error: BotoCoreError | ClientError, stack: str) -> str:
    """Return the cause of an error and what to do."""
    if isinstance(error, ClientError):
        return _of_a_refusal(error, stack)
    cure = next((words for kind, words in _CURES if isinstance(error, kind)), "Check the configuration of the AWS CLI.")
    return f"{cure} ({_in_a_line(error)})"


def _of_a_refusal(error: ClientError, stack: str) -> str:
    code = error.response.get("Error", {}).get("Code", "")
    if code in _BAD_CREDENTIALS:
        return f"AWS does not take the credentials ({code}). {_SIGN_IN}"
    if code in _DENIED:
        return (
            f"These credentials may not {error.operation_name}. docs/operations.md, Replay a dead letter, lists what "
            f"it needs. ({_in_a_line(error)})"
        )
    if error.operation_name == "DescribeStackResource" and code == "ValidationError":
        return (
            f"There is no stack {stack!r} of Stepwire in this Region and account. "
            "`aws cloudformation describe-stacks --query 'Stacks[].StackName'` lists the stacks."
        )
    return f"AWS refuses {error.operation_name}. ({_in_a_line(error)})"


def _in_a_line(error: Exception) -> str:
    return " ".join(str(error).split())
