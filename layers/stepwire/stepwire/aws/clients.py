"""The AWS clients: each is built once per process, when it is first needed."""

import os
import threading
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, cast

import boto3
from botocore import UNSIGNED
from botocore.config import Config

from stepwire.aws.throttling import give_up_when_throttled

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_stepfunctions import SFNClient

# An MCP client waits for the response. A call takes at most 9 seconds: two attempts of 1 + 3 and a pause of 1. The
# three calls that make a task, each at its slowest, fit into the 29 seconds of a request (`waiting.TIME_TO_ANSWER`).
_FOR_REQUESTS: Final = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 2})
# No client waits for the handling of an event.
_FOR_EVENTS: Final = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
# By default boto3 presigns with Signature Version 2 in Regions that support it, and for the global endpoint.
_S3_CONFIG: Final = _FOR_REQUESTS.merge(
    Config(signature_version="s3v4", s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"})
)
# A client that does not sign requests loads no credentials.
_UNSIGNED: Final = Config(signature_version=UNSIGNED)
# Calls that a reader can postpone: retrying them at once would only use more of an exhausted quota.
_POSTPONABLE: Final = ("DescribeExecution", "GetExecutionHistory", "ListExecutions", "DescribeMapRun")
# boto3 may not build two clients at the same time in one session.
_LOCK: Final = threading.Lock()


def dynamodb_client() -> "DynamoDBClient":
    """Return a DynamoDB client for requests: short timeouts."""
    with _LOCK:
        return boto3.client("dynamodb", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def patient_dynamodb_client() -> "DynamoDBClient":
    """Return a DynamoDB client for events: longer timeouts and more retries."""
    with _LOCK:
        return boto3.client("dynamodb", config=_FOR_EVENTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def step_functions_client() -> "SFNClient":
    """Return a Step Functions client for requests: short timeouts, and no retry of throttled reads."""
    with _LOCK:
        client = boto3.client("stepfunctions", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
    for operation in _POSTPONABLE:
        client.meta.events.register_first(f"needs-retry.sfn.{operation}", give_up_when_throttled)
    return client


def patient_step_functions_client() -> "SFNClient":
    """Return a Step Functions client for events: longer timeouts and more retries."""
    with _LOCK:
        return boto3.client("stepfunctions", config=_FOR_EVENTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def sync_step_functions_client(longest: timedelta) -> "SFNClient":
    """Return a Step Functions client for executions that a request waits for: one attempt, and so long."""
    # With an endpoint of its own, `sync-` in front of its name would be another host.
    has_prefix = "AWS_ENDPOINT_URL" not in os.environ
    config = Config(
        connect_timeout=1,
        read_timeout=longest.total_seconds(),
        retries={"total_max_attempts": 1},
        inject_host_prefix=has_prefix,
    )
    with _LOCK:
        return boto3.client("stepfunctions", config=config)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def step_functions_client_elsewhere(region: str, credentials: Any) -> "SFNClient":
    """Return a Step Functions client of a Region with the credentials of a role there."""
    with _LOCK:
        session = boto3.session.Session(
            credentials["AccessKeyId"], credentials["SecretAccessKey"], credentials["SessionToken"], region
        )
        return session.client("stepfunctions", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def sts_client() -> Any:
    """Return a client of the Security Token Service, at the Region's own endpoint."""
    with _LOCK:
        return cast(Any, boto3).client("sts", config=_FOR_REQUESTS)


def s3_client() -> "S3Client":
    """Return an S3 client."""
    with _LOCK:
        return boto3.client("s3", config=_S3_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def secrets_manager_client() -> "SecretsManagerClient":
    """Return a Secrets Manager client."""
    with _LOCK:
        return boto3.client("secretsmanager", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def ssm_client() -> Any:
    """Build a client of Systems Manager."""
    with _LOCK:
        return cast(Any, boto3).client("ssm", config=_FOR_EVENTS)


def tagging_client() -> Any:
    """Build a client of the Resource Groups Tagging API."""
    with _LOCK:
        return cast(Any, boto3).client("resourcegroupstaggingapi", config=_FOR_EVENTS)


def events_client() -> "EventBridgeClient":
    """Return an EventBridge client."""
    with _LOCK:
        return boto3.client("events", config=_FOR_EVENTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def read_service_models(*services: str) -> None:
    """Load the models of services into the session, which is most of the time that a first client takes.

    The clients built for this are discarded: a snapshot must not contain a client with credentials.
    """
    with _LOCK:
        boto3.setup_default_session()
        for service in services:
            boto3.client(service, config=_UNSIGNED)  # pyright: ignore[reportUnknownMemberType, reportCallIssue, reportArgumentType] - the stubs want a literal
