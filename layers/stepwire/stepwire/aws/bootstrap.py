"""The ports of a function on AWS, as function mcp and the functions for which no client waits have them."""

import os
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from stepwire.audit import Audit
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import s3_client, sqs_client
from stepwire.aws.invocations import SystemClock
from stepwire.aws.queues import SqsWakeUps
from stepwire.aws.s3 import LargeResults, Objects, PresignedUrls
from stepwire.aws.settings import read_large_results_bucket
from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.aws.storage.usage import DynamoDbWaitSlots
from stepwire.engine.assembly import Ports
from stepwire.engine.ports import WakeUps
from stepwire.engine.runs import NoWakeUps

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient


_LINK_LIFETIME: Final = timedelta(minutes=15)


def ports_of(
    table_name: str,
    dynamodb: "Callable[[], DynamoDBClient]",
    step_functions: "Callable[[], SFNClient]",
    report: Callable[[Exception], None],
    audit: Audit = write_audit_entry,
) -> Ports:
    """Return the ports of a function: the adapters of AWS, the system's clock and the audit log."""
    table = Table(table_name, dynamodb)
    return Ports(
        task_store(table, large_results),
        StepFunctionsWorkflows(step_functions, report, client_elsewhere),
        SystemClock(),
        os.urandom,
        DynamoDbWaitSlots(table),
        PresignedUrls(_LINK_LIFETIME, s3_client),
        report,
        audit,
        wake_ups(),
        Objects(s3_client),
    )


def large_results() -> LargeResults:
    """Return the results in the bucket of the stack; most functions never need them."""
    return LargeResults(read_large_results_bucket(os.environ), s3_client())


def wake_ups() -> WakeUps:
    """Return what wakes tasks for their next attempt, at the queue in WAKE_UPS_URL; without it, readers begin them."""
    url = os.environ.get("WAKE_UPS_URL", "")
    return SqsWakeUps(url, sqs_client) if url else NoWakeUps()


def client_elsewhere(region: str, role: str) -> "SFNClient":
    """Return the Step Functions client of a Region under a role; most functions never need one."""
    from stepwire.aws.elsewhere import client_elsewhere  # noqa: PLC0415

    return client_elsewhere(region, role)
