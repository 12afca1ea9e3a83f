"""The AWS clients: each is built once per process, when it is first needed.

The rule: of botocore, only its errors are loaded before the first client. A request that calls nothing of AWS is
answered in less time than the import of the rest takes.
"""

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from stepwire.aws.throttling import give_up_after_silence, give_up_when_throttled

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


def dynamodb_client() -> "DynamoDBClient":
    """Return a DynamoDB client for requests: short timeouts."""
    return _client("dynamodb", _FOR_REQUESTS)


def patient_dynamodb_client() -> "DynamoDBClient":
    """Return a DynamoDB client for events: longer timeouts and more retries."""
    return _client("dynamodb", _FOR_EVENTS)


def step_functions_client() -> "SFNClient":
    """Return a Step Functions client for requests: short timeouts, and no retry of throttled reads."""
    client: SFNClient = _client("stepfunctions", _FOR_REQUESTS)
    for operation in _POSTPONABLE:
        client.meta.events.register_first(f"needs-retry.sfn.{operation}", give_up_when_throttled)
    return client


def patient_step_functions_client() -> "SFNClient":
    """Return a Step Functions client for events: longer timeouts and more retries."""
    return _client("stepfunctions", _FOR_EVENTS)


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


def sts_client() -> Any:
    """Return a client of the Security Token Service, at the Region's own endpoint."""
    return _client("sts", _FOR_REQUESTS)


def s3_client() -> "S3Client":
    """Return an S3 client."""
    return _client("s3", _FOR_S3)


def secrets_manager_client() -> "SecretsManagerClient":
    """Return a Secrets Manager client."""
    return _client("secretsmanager", _FOR_REQUESTS)


def ssm_client() -> Any:
    """Build a client of Systems Manager."""
    return _client("ssm", _FOR_EVENTS)


def tagging_client() -> Any:
    """Build a client of the Resource Groups Tagging API."""
    return _client("resourcegroupstaggingapi", _FOR_EVENTS)


def events_client() -> "EventBridgeClient":
    """Return an EventBridge client."""
    return _client("events", _FOR_EVENTS)


def sqs_client() -> Any:
    """Return a client of SQS."""
    return _client("sqs", _FOR_REQUESTS)


def read_service_models(*services: str) -> None:
    """Load the models of services into the session, which is most of the time that a first client takes.

    The clients built for this are discarded: a snapshot must not contain a client with credentials.
    """
    from botocore import UNSIGNED  # noqa: PLC0415

    for service in services:
        _client(service, {"signature_version": UNSIGNED})  # loads no credentials


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
