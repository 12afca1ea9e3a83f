"""The weather of AWS: throttling, internal errors and silence, which meet any version of this server and pass.

The rule: weather is no fault of a release. It is told by types, codes and statuses, never by a message. Throttled calls
are retried a few times where a request cannot do without them, and postponed where it can.
"""

from typing import Any, Final

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's

from stepwire.errors import AtQuota, NeedsOperator, StartUnclear, StepwireError, StoreBusy, WorkflowsUnavailable

THROTTLED: Final = frozenset(
    {
        "KmsThrottlingException",
        "RequestLimitExceeded",
        "RequestThrottledException",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
"""The error codes of a call that was refused because a request quota is exhausted."""
_PASSING: Final = THROTTLED | {
    "BandwidthLimitExceeded",
    "InternalFailure",
    "InternalServerError",
    "PriorRequestNotComplete",
    "ProvisionedThroughputExceededException",
    "RequestTimeout",
    "RequestTimeoutException",
    "SlowDown",
    "TransactionInProgressException",
}
_SERVER_ERROR: Final = 500  # HTTP statuses from here on
_LONGEST_CHAIN: Final = 5  # errors that were raised from each other


def is_weather(fault: BaseException) -> bool:
    """Tell whether a fault is weather, or was raised from such a fault: it passes without anybody's help."""
    error: BaseException | None = fault
    for _ in range(_LONGEST_CHAIN):
        match error:
            case None | NeedsOperator():
                return False
            case AtQuota() | StoreBusy() | HTTPClientError() | ConnectionError():
                return True
            case ClientError():
                return _passes(error)
            case WorkflowsUnavailable() | StartUnclear() if error.__cause__ is None:
                return True  # it answers, but with something that is not so yet
            case StepwireError():
                error = error.__cause__
            case _:
                return False
    return False


def _passes(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return status >= _SERVER_ERROR or code_of(error) in _PASSING


def code_of(error: ClientError) -> str:
    """Return the code of an AWS error."""
    return error.response.get("Error", {}).get("Code", "unknown")


def give_up_when_throttled(
    response: tuple[object, dict[str, Any]] | None, operation: Any = None, attempts: int = 1, **_: object
) -> None:
    """Raise instead of retrying a throttled call; a handler of botocore's event `needs-retry`.

    Raises:
        ClientError: the response says that the call was throttled.
    """
    parsed = response[1] if response else {}
    if parsed.get("Error", {}).get("Code") in THROTTLED:
        raise _error_of(parsed, operation, attempts)


def give_up_after_silence(
    request_dict: Any,
    attempts: int,
    response: tuple[object, dict[str, Any]] | None = None,
    caught_exception: Exception | None = None,
    operation: Any = None,
    **_: object,
) -> None:
    """Retry a call once at most after it got no answer, which takes seconds; a handler of `needs-retry`.

    A refusal takes milliseconds, so such a call may be retried as often as the client is configured to.

    Raises:
        Exception: what the last attempt of the call got.
    """
    context = request_dict["context"]
    if isinstance(caught_exception, HTTPClientError | ConnectionError):
        context["stepwire_silent"] = True
    if attempts == 1 or "stepwire_silent" not in context:
        return
    if caught_exception is not None:
        raise caught_exception
    parsed = response[1] if response else {}
    if "Error" in parsed:
        raise _error_of(parsed, operation, attempts)


def _error_of(parsed: dict[str, Any], operation: Any, attempts: int) -> ClientError:
    # As botocore counts it: before a retry, an earlier attempt may have succeeded.
    parsed.setdefault("ResponseMetadata", {})["RetryAttempts"] = attempts - 1
    return ClientError(parsed, operation.name)  # pyright: ignore[reportArgumentType] - parsed as botocore parses it
