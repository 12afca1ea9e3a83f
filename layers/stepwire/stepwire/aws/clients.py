"""The clients of AWS: built when the first request needs one, and once for all in a process."""

import threading
from typing import TYPE_CHECKING, Final

import boto3
from botocore import UNSIGNED
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_events import EventBridgeClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_secretsmanager import SecretsManagerClient
    from mypy_boto3_stepfunctions import SFNClient

# A request has 29 seconds in all; three tries of at most 5 leave time to answer.
_CONFIG: Final = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 3})
# By default boto3 signs URLs with Signature Version 2 in the Regions that still know it, for the global host.
_S3_CONFIG: Final = _CONFIG.merge(
    Config(signature_version="s3v4", s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"})
)
# A client that signs nothing asks for no credentials either.
_NOBODYS: Final = Config(signature_version=UNSIGNED)
# boto3 may not build two clients at the same time in one session.
_LOCK: Final = threading.Lock()


def dynamodb_client() -> "DynamoDBClient":
    """Build a client of DynamoDB."""
    with _LOCK:
        return boto3.client("dynamodb", config=_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def step_functions_client() -> "SFNClient":
    """Build a client of Step Functions."""
    with _LOCK:
        return boto3.client("stepfunctions", config=_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def s3_client() -> "S3Client":
    """Build a client of S3."""
    with _LOCK:
        return boto3.client("s3", config=_S3_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def secrets_manager_client() -> "SecretsManagerClient":
    """Build a client of Secrets Manager."""
    with _LOCK:
        return boto3.client("secretsmanager", config=_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def events_client() -> "EventBridgeClient":
    """Build a client of EventBridge."""
    with _LOCK:
        return boto3.client("events", config=_CONFIG)  # pyright: ignore[reportUnknownMemberType] - not all stubs are there


def read_service_models(*services: str) -> None:
    """Let the session read what a service can do, which is most of the time that a first client takes.

    The clients that it is read for are thrown away: none that signs, and no credentials, may be in a snapshot.
    """
    with _LOCK:
        boto3.setup_default_session()
        for service in services:
            boto3.client(service, config=_NOBODYS)  # pyright: ignore[reportUnknownMemberType, reportCallIssue, reportArgumentType] - the stubs want a literal
