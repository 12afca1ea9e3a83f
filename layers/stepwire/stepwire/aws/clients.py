"""The AWS clients, and the weather that they meet: throttling, internal errors and silence.

A client is built when it is first needed. The rule: of botocore, only its errors are loaded before the first client. A
request that calls nothing of AWS is answered in less time than the import of the rest takes.

Weather meets any version of this server and passes. The rule: it is no fault of a release, and is told by types, codes
and statuses, never by a message. Throttled calls are retried a few times where a request cannot do without them, and
postponed where it can.
"""

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - botocore's

from stepwire.errors import AtQuota, NeedsOperator, StartUnclear, StepwireError, StoreBusy, WorkflowsUnavailable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_stepfunctions import SFNClient

MODELS: Final = Path(__file__).with_name("models")
"""Models of AWS services with the operations that Stepwire calls, and no others: `layers/models.py`."""

# Options of botocore's `Config`.
# An MCP client waits for the response. A call takes at most 9 seconds: two attempts without an answer of 1 + 3 and a
# pause, or two that are refused at once, pauses of 1 and 2, and one without an answer (`give_up_after_silence`). The
# three calls that make a task, each at its slowest, fit into the 29 seconds of a request (`waiting.TIME_TO_ANSWER`).
_FOR_REQUESTS: Final[dict[str, Any]] = {
    "connect_timeout": 1,
    "read_timeout": 3,
    "retries": {"mode": "standard", "total_max_attempts": 3},
}
# No client waits for the handling of an event. A call takes at most 15 seconds.
_FOR_EVENTS: Final[dict[str, Any]] = {
    "connect_timeout": 2,
    "read_timeout": 5,
    "retries": {"mode": "standard", "total_max_attempts": 4},
}
# By default boto3 presigns with Signature Version 2 in Regions that support it, and for the global endpoint.
_FOR_S3: Final[dict[str, Any]] = {
    **_FOR_REQUESTS,
    "signature_version": "s3v4",
    "s3": {"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
}
# Calls that a reader can postpone: retrying them at once would only use more of an exhausted quota.
_POSTPONABLE: Final = ("DescribeExecution", "GetExecutionHistory", "ListExecutions", "DescribeMapRun")
# boto3 may not build two clients at the same time in one session.
_LOCK: Final = threading.Lock()
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


def _client(service: str, options: dict[str, Any], **more: Any) -> Any:
    """Build a client with these options of botocore's `Config`."""
    from botocore.config import Config  # noqa: PLC0415 - the rule of this module

    with _LOCK:
        client = builder()(service, config=Config(**options), **more)
    client.meta.events.register_first("needs-retry", give_up_after_silence)
    return client


@cache
def builder() -> Callable[..., Any]:
    """Return what builds clients: of botocore alone and the cut models in the layer, or of boto3 where none were cut.

    Nothing is cut where functions run from source. There, boto3's session is the one that they share.
    """
    if not MODELS.is_dir():
        import boto3  # noqa: PLC0415

        return cast(Any, boto3).client
    from botocore.loaders import Loader  # noqa: PLC0415
    from botocore.session import Session  # noqa: PLC0415

    session = Session()
    session.register_component("data_loader", Loader([str(MODELS)], include_default_search_paths=False))
    return session.create_client


# A client for requests has short timeouts; a patient one, for events, longer timeouts and more retries.
dynamodb_client: "Callable[[], DynamoDBClient]" = partial(_client, "dynamodb", _FOR_REQUESTS)
patient_dynamodb_client: "Callable[[], DynamoDBClient]" = partial(_client, "dynamodb", _FOR_EVENTS)
patient_step_functions_client: "Callable[[], SFNClient]" = partial(_client, "stepfunctions", _FOR_EVENTS)
sts_client: Callable[[], Any] = partial(_client, "sts", _FOR_REQUESTS)  # at the Region's own endpoint
s3_client: "Callable[[], S3Client]" = partial(_client, "s3", _FOR_S3)
secrets_manager_client: "Callable[[], SecretsManagerClient]" = partial(_client, "secretsmanager", _FOR_REQUESTS)
sqs_client: Callable[[], Any] = partial(_client, "sqs", _FOR_REQUESTS)
ssm_client: Callable[[], Any] = partial(_client, "ssm", _FOR_EVENTS)
tagging_client: Callable[[], Any] = partial(_client, "resourcegroupstaggingapi", _FOR_EVENTS)
events_client: "Callable[[], EventBridgeClient]" = partial(_client, "events", _FOR_EVENTS)


def step_functions_client() -> "SFNClient":
    """Return a Step Functions client for requests: short timeouts, and no retry of throttled reads."""
    client: SFNClient = _client("stepfunctions", _FOR_REQUESTS)
    for operation in _POSTPONABLE:
        client.meta.events.register_first(f"needs-retry.sfn.{operation}", give_up_when_throttled)
    return client


def sync_step_functions_client(longest: timedelta) -> "SFNClient":
    """Return a Step Functions client for executions that a request waits for: one attempt, and so long."""
    options: dict[str, Any] = {
        "connect_timeout": 1,
        "read_timeout": longest.total_seconds(),
        "retries": {"total_max_attempts": 1},
        # With an endpoint of its own, `sync-` in front of its name would be another host.
        "inject_host_prefix": "AWS_ENDPOINT_URL" not in os.environ,
    }
    return _client("stepfunctions", options)


def step_functions_client_elsewhere(region: str, credentials: Any) -> "SFNClient":
    """Return a Step Functions client of a Region with the credentials of a role there."""
    return _client(
        "stepfunctions",
        _FOR_REQUESTS,
        region_name=region,
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
    )


def read_service_models(*services: str) -> None:
    """Load the models of services into the session, which is most of the time that a first client takes.

    The clients built for this are discarded: a snapshot must not contain a client with credentials.
    """
    from botocore import UNSIGNED  # noqa: PLC0415

    for service in services:
        _client(service, {"signature_version": UNSIGNED})  # loads no credentials


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
                status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
                return status >= _SERVER_ERROR or code_of(error) in _PASSING
            case WorkflowsUnavailable() | StartUnclear() if error.__cause__ is None:
                return True  # it answers, but with something that is not so yet
            case StepwireError():
                error = error.__cause__
            case _:
                return False
    return False


def code_of(error: Exception) -> str:
    """Return the code of an AWS error; "unknown" of one that AWS did not answer with."""
    return error.response.get("Error", {}).get("Code", "unknown") if isinstance(error, ClientError) else "unknown"


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
