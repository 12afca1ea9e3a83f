"""The clients of AWS: built when the first request needs one, and once for all in a process."""

import threading
from typing import TYPE_CHECKING, Final

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

# A client waits for the answer: a call takes at most 9 seconds, two tries of 1 + 3 and a pause of 1 between them. The
# three calls that make a task, each at its slowest, fit into the 29 seconds of a request (`waiting.TIME_TO_ANSWER`).
_FOR_REQUESTS: Final = Config(connect_timeout=1, read_timeout=3, retries={"mode": "standard", "total_max_attempts": 2})
# Nobody waits for what events bring.
_FOR_EVENTS: Final = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
# By default boto3 signs URLs with Signature Version 2 in the Regions that still know it, for the global host.
_S3_CONFIG: Final = _FOR_REQUESTS.merge(
    Config(signature_version="s3v4", s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"})
)
# A client that signs nothing asks for no credentials either.
_NOBODYS: Final = Config(signature_version=UNSIGNED)
# What a reader asks on the side: a quota that is used up is not used up more by asking again at once.
_LOOKS: Final = ("DescribeExecution", "GetExecutionHistory", "ListExecutions")
# boto3 may not build two clients at the same time in one session.
_LOCK: Final = threading.Lock()


def dynamodb_client() -> "DynamoDBClient":
    """Build a client of DynamoDB, for requests."""
    with _LOCK:
        return boto3.client("dynamodb", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def patient_dynamodb_client() -> "DynamoDBClient":
    """Build a client of DynamoDB, for events."""
    with _LOCK:
        return boto3.client("dynamodb", config=_FOR_EVENTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def step_functions_client() -> "SFNClient":
    """Build a client of Step Functions, for requests: a look that is throttled is not repeated."""
    with _LOCK:
        client = boto3.client("stepfunctions", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there
    for operation in _LOOKS:
        client.meta.events.register_first(f"needs-retry.sfn.{operation}", give_up_when_throttled)
    return client


def patient_step_functions_client() -> "SFNClient":
    """Build a client of Step Functions, for events."""
    with _LOCK:
        return boto3.client("stepfunctions", config=_FOR_EVENTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def s3_client() -> "S3Client":
    """Build a client of S3."""
    with _LOCK:
        return boto3.client("s3", config=_S3_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def secrets_manager_client() -> "SecretsManagerClient":
    """Build a client of Secrets Manager."""
    with _LOCK:
        return boto3.client("secretsmanager", config=_FOR_REQUESTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def events_client() -> "EventBridgeClient":
    """Build a client of EventBridge."""
    with _LOCK:
        return boto3.client("events", config=_FOR_EVENTS)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def read_service_models(*services: str) -> None:
    """Let the session read what a service can do, which is most of the time that a first client takes.

    The clients that it is read for are thrown away: none that signs, and no credentials, may be in a snapshot.
    """
    with _LOCK:
        boto3.setup_default_session()
        for service in services:
            boto3.client(service, config=_NOBODYS)  # pyright: ignore[reportUnknownMemberType, reportCallIssue, reportArgumentType] - the stubs want a literal
