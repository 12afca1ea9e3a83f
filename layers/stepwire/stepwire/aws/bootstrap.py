"""The ports of a function on AWS, as function mcp and the functions for which no client waits have them."""

import os
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import TYPE_CHECKING

from stepwire.audit import Audit
from stepwire.aws.audit_log import write_audit_entry
from stepwire.aws.clients import s3_client, sqs_client
from stepwire.aws.invocations import SystemClock
from stepwire.aws.queues import SqsWakeUps
from stepwire.aws.s3 import LargeResults, Objects
from stepwire.aws.settings import is_on, read_extras, required
from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.aws.storage.limiter import DynamoDbWaitSlots
from stepwire.aws.storage.table import Table
from stepwire.aws.storage.task_store import task_store
from stepwire.composition import switched_on
from stepwire.engine.assembly import Ports
from stepwire.engine.ports import Gate, Refuses
from stepwire.engine.recorder import Recorder
from stepwire.engine.runs import NoWakeUps
from stepwire.hooks import Router

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient


def ports_of(
    table: Table,
    step_functions: "Callable[[], SFNClient]",
    report: Callable[[Exception], None],
    audit: Audit = write_audit_entry,
) -> Ports:
    """Return the ports of a function: the adapters of AWS, the system's clock and the audit log."""
    objects, queue_url = Objects(s3_client), os.environ.get("WAKE_UPS_URL", "")
    # Most functions never need the bucket of the stack.
    large_results = cache(lambda: LargeResults(required(os.environ, "LARGE_RESULTS_BUCKET"), s3_client()))
    return Ports(
        task_store(table, large_results),
        StepFunctionsWorkflows(step_functions, report, client_elsewhere),
        SystemClock(),
        os.urandom,
        DynamoDbWaitSlots(table),
        objects.sign,
        report,
        _with_spans(audit),
        SqsWakeUps(queue_url, sqs_client) if queue_url else NoWakeUps(),  # without a queue, readers begin attempts
        objects.read,
        gate_of(read_extras(os.environ), table),
        routers_of(read_extras(os.environ)),
    )


def gate_of(extras: Collection[str], table: Table) -> Callable[[Recorder, Ports], Gate] | None:
    """Return what builds the gate, of the extra of these that has one; None: runs begin at once."""
    return next((one.gate.build(table) for one in switched_on(extras) if one.gate is not None), None)


def routers_of(extras: Collection[str]) -> Mapping[str, Router]:
    """Return what puts questions to others than the callers, by the extra, of those of these that do."""
    return {one.name: one.router for one in switched_on(extras) if one.router is not None}


def refuses_of(table: Table, report: Callable[[Exception], None]) -> Refuses | None:
    """Return what tells whom an operator refuses, of the extra that is on in this function; None: nobody can be."""
    return next((one.refuses(table, report) for one in switched_on(read_extras(os.environ)) if one.refuses), None)


def _with_spans(audit: Audit) -> Audit:
    """Return the audit; with spans on, it writes those of tasks too."""
    if not is_on(os.environ, "SPANS"):
        return audit
    from stepwire.aws.spans import with_tasks  # noqa: PLC0415 - off by default

    return with_tasks(audit)


def client_elsewhere(region: str, role: str) -> "SFNClient":
    """Return the Step Functions client of a Region under a role; most functions never need one."""
    from stepwire.aws.elsewhere import client_elsewhere  # noqa: PLC0415

    return client_elsewhere(region, role)
