"""The composition root: builds each Lambda function from the engine and the AWS adapters.

Importing a handler builds nothing. The first event, `warm` or `prepare` builds what is needed, once.
"""

import os
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

from stepwire.aws.clients import (
    dynamodb_client,
    patient_dynamodb_client,
    patient_step_functions_client,
    read_service_models,
    s3_client,
    secrets_manager_client,
    step_functions_client,
)
from stepwire.aws.gateway.http_events import request_of, response_of
from stepwire.aws.publishing.audit_log import load_metrics, write_audit_entry
from stepwire.aws.s3 import PresignedUrls
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import (
    McpSettings,
    check_scopes,
    read_mcp_settings,
    read_sweep_interval,
    read_table_name,
)
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.aws.storage.table_stream import expired_task_of
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.aws.storage.wait_slots import DynamoDbWaitSlots
from stepwire.aws.workflows.callbacks import question_of
from stepwire.aws.workflows.status_events import ForeignEvent, MalformedProgress, execution_event_of
from stepwire.aws.workflows.step_functions import StepFunctionsWorkflows
from stepwire.background.execution_events import ExecutionEvents, ExecutionStatusChange
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests
from stepwire.background.sweep import CHECK_BURST, CHECKS_PER_SECOND, Sweep
from stepwire.catalog.live import LiveCatalog
from stepwire.catalog.tools import Catalog, read_catalog
from stepwire.engine.allowance import Allowance
from stepwire.engine.dialogue import Dialogue
from stepwire.engine.operations import Operations
from stepwire.engine.polls import PollLimit
from stepwire.engine.recorder import Recorder
from stepwire.engine.upkeep import Intervals, Upkeep
from stepwire.engine.waiting import Waiting, WaitLimiter
from stepwire.errors import AccessDenied, AtQuota, NotSignedIn
from stepwire.server.kit import Kit
from stepwire.server.mcp_server import McpServer, refusal

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

    from stepwire.engine.express import ExpressCalls

_LINK_LIFETIME: Final = timedelta(minutes=15)
_LONGEST_CHECK: Final = timedelta(seconds=60)  # reserved at the end of the sweep's invocation, to finish a check


class SystemClock:
    """The system's clock."""

    def now(self) -> datetime:
        """Return the current time."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Block for that many seconds."""
        time.sleep(seconds)


def client_elsewhere(region: str, role: str) -> "SFNClient":
    """Return the Step Functions client of a Region under a role; most functions never need one."""
    from stepwire.aws.elsewhere import client_elsewhere  # noqa: PLC0415

    return client_elsewhere(region, role)


class McpHandler:
    """Handles function mcp: answers requests from API Gateway."""

    def __call__(self, event: dict[str, Any], context: object) -> dict[str, Any]:
        """Return the response to one request."""
        deadline = deadline_of(context)
        try:
            caller = self._settings.sign_in.caller_of(event)
        except AccessDenied as error:
            self._logger.warning("a sign-in is insufficient", fault=type(error).__name__, detail=error.data)
            return response_of(refusal(error))
        except NotSignedIn as error:
            self._logger.error("the request has no identity: configure an authorizer on the route")  # noqa: TRY400 - no fault
            return response_of(refusal(error))
        return response_of(self._server.handle(request_of(event, caller, deadline)))

    def warm(self) -> None:
        """Build what needs no AWS call, so that a wrong setting or manifest fails before the first request."""
        _ = self._server

    def prepare(self) -> None:
        """Build everything that a snapshot may contain (`stepwire.aws.snapshot`)."""
        _ = self._server
        self._built_in.compile_schemas()
        read_service_models("dynamodb", "stepfunctions", "secretsmanager")
        load_metrics()

    @cached_property
    def _settings(self) -> McpSettings:
        return read_mcp_settings(os.environ)

    @cached_property
    def _built_in(self) -> Catalog:
        """The tools that are part of this release."""
        settings = self._settings
        catalog = read_catalog(settings.catalog.read_text(encoding="utf-8"), settings.state_machines)
        check_scopes(os.environ, settings.access, catalog)
        return catalog

    @cached_property
    def _server(self) -> McpServer:
        settings = self._settings
        recorder = _recorder(settings.table_name, dynamodb_client)
        workflows = StepFunctionsWorkflows(step_functions_client, self._report, client_elsewhere)
        upkeep = Upkeep(recorder, workflows, settings.intervals, self._report)
        wait_slots = DynamoDbWaitSlots(settings.table_name, dynamodb_client)
        limiter = WaitLimiter(wait_slots, settings.waits, secrets.token_bytes, self._report)
        secret = Secret(settings.secret_arn, secrets_manager_client)
        operations = Operations(
            recorder,
            workflows,
            secrets.token_bytes,
            upkeep,
            settings.limits,
            PresignedUrls(_LINK_LIFETIME, s3_client),
            self._report,
            Waiting(recorder, upkeep, limiter, self._report),
            settings.execution_prefix,
        )
        express = cache(lambda: self._express(operations))
        kit = Kit(
            catalog=LiveCatalog(
                self._built_in,
                DynamoDbCatalog(settings.table_name, dynamodb_client),
                recorder.now,
                self._report,
            ),
            operations=operations,
            express=lambda call, deadline: express().run(call, deadline),
            dialogue=Dialogue(recorder, upkeep, self._report),
            patience=settings.patience,
            secret=secret,
            other_secrets=secret.others,
            fetch_tools=settings.fetch_tools,
            resuming=settings.resuming,
            polls=PollLimit(settings.polls_per_second, recorder.clock),
            report=self._report,
            access=settings.access,
        )
        return McpServer(kit, settings.allowed_origins, self._report_failure)

    def _express(self, operations: Operations) -> "ExpressCalls":
        """Build what runs tools of type EXPRESS; most requests need none of it."""
        from stepwire.aws.clients import sync_step_functions_client  # noqa: PLC0415
        from stepwire.aws.storage.call_rate import DynamoDbCallRate  # noqa: PLC0415
        from stepwire.aws.workflows.express import StepFunctionsExpress  # noqa: PLC0415
        from stepwire.engine.express import ExpressCalls  # noqa: PLC0415

        settings = self._settings
        return ExpressCalls(
            operations,
            DynamoDbCallRate(settings.table_name, dynamodb_client),
            StepFunctionsExpress(lambda: sync_step_functions_client(settings.patience.unresumable_request)),
            settings.patience.unresumable_request,
        )

    @cached_property
    def _logger(self) -> Logger:
        return Logger()

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a request met a fault", "check postponed", self._logger)

    def _report_failure(self, fault: Exception) -> None:
        log_fault(fault, "a request met a fault", "request throttled", self._logger)


class ExecutionEventsHandler:
    """Handles function execution_events: records EventBridge's events about executions."""

    def __call__(self, event: dict[str, Any], _context: object) -> None:
        """Record one status change or progress report."""
        try:
            received = execution_event_of(event)
        except ForeignEvent:  # a rule was changed; a retry would fail the same way
            Logger().warning(
                "an event is neither an execution status change nor progress: check the rule's event pattern"
            )
            return
        except MalformedProgress as error:  # a retry would fail the same way
            Logger().warning("a workflow's progress event is not valid", fault=str(error))
            return
        if isinstance(received, ExecutionStatusChange):
            self._events.record(received)
        else:
            self._events.record_progress(received)

    @cached_property
    def _events(self) -> ExecutionEvents:
        recorder = _recorder(read_table_name(os.environ), patient_dynamodb_client)
        return ExecutionEvents(
            recorder, StepFunctionsWorkflows(patient_step_functions_client, self._report, client_elsewhere)
        )

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "an execution could not be read", "check postponed", Logger())


class InputRequestsHandler:
    """Handles function input_requests: records the questions of workflow states."""

    def __call__(self, event: dict[str, Any], _context: object) -> None:
        """Record one question."""
        self._requests.record(question_of(event))

    @cached_property
    def _requests(self) -> InputRequests:
        recorder = _recorder(read_table_name(os.environ), patient_dynamodb_client)
        from stepwire.aws.workflows.nested import NestedExecutions  # noqa: PLC0415 - of this function alone

        workflows = StepFunctionsWorkflows(patient_step_functions_client)
        return InputRequests(recorder, workflows, NestedExecutions(patient_step_functions_client))


class ExpirationsHandler:
    """Handles function expirations: cleans up after expired tasks in the table's stream."""

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Process a batch; records from the first failure on are delivered again."""
        for record in event["Records"]:
            try:
                task = expired_task_of(record)
                if task is not None:
                    self._expirations.record(task)
            except Exception as fault:  # noqa: BLE001 - the records before it are done, and it is delivered again
                log_fault(fault, "an expired task could not be looked after", "check postponed", Logger())
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
        return {"batchItemFailures": []}

    @cached_property
    def _expirations(self) -> Expirations:
        store = DynamoDbTaskStore(read_table_name(os.environ), patient_dynamodb_client)
        return Expirations(store, self._workflows, write_audit_entry)

    @cached_property
    def _workflows(self) -> StepFunctionsWorkflows:
        return StepFunctionsWorkflows(patient_step_functions_client, elsewhere=client_elsewhere)


class SweepHandler:
    """Handles function sweep: checks the tasks that no client reads, on a schedule."""

    def __call__(self, _event: dict[str, Any], context: object) -> None:
        """Check due tasks until shortly before this invocation times out."""
        deadline = deadline_of(context)
        swept = self._sweep.run(deadline and deadline - _LONGEST_CHECK)
        self._logger.info(
            "neglected tasks were looked after", tasks=swept.checked, running=swept.running, done=swept.is_done
        )

    @cached_property
    def _sweep(self) -> Sweep:
        interval = read_sweep_interval(os.environ)
        recorder = _recorder(read_table_name(os.environ), dynamodb_client)
        workflows = StepFunctionsWorkflows(step_functions_client, self._report, client_elsewhere)
        return Sweep(
            recorder,
            Upkeep(recorder, workflows, Intervals(repair=interval, state=timedelta()), self._report),
            Expirations(recorder.store, workflows, write_audit_entry),
            interval,
            self._report,
            self._pace,
        )

    @cached_property
    def _pace(self) -> Allowance:
        return Allowance(CHECKS_PER_SECOND, CHECK_BURST)

    @cached_property
    def _logger(self) -> Logger:
        return Logger()

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a neglected task could not be looked after", "check postponed", self._logger)
        if isinstance(fault, AtQuota):
            self._pace.pause(SystemClock().now())


def _recorder(table_name: str, build_client: Callable[[], Any]) -> Recorder:
    return Recorder(DynamoDbTaskStore(table_name, build_client), SystemClock(), write_audit_entry)


def deadline_of(context: Any) -> datetime | None:
    """Return when Lambda ends the invocation; None without a Lambda context."""
    if context is None:
        return None
    return SystemClock().now() + timedelta(milliseconds=context.get_remaining_time_in_millis())


def log_fault(fault: Exception, where: str, at_quota: str, logger: Logger) -> None:
    """Log a fault with the message `where`; a quota error with `at_quota`, which no deployment alarm counts."""
    # Only types, codes and the place in the code: a message may contain arguments or results.
    kind, place, aws_error = type(fault).__name__, _place(fault), _aws_error(fault)
    if isinstance(fault, AtQuota):
        logger.warning(at_quota, fault=kind, place=place, aws_error=aws_error)
    else:
        logger.error(where, fault=kind, place=place, aws_error=aws_error)


def _aws_error(fault: BaseException) -> str | None:
    """Return the code of the AWS error that the fault is, or was raised from."""
    for error in (fault, fault.__cause__):
        if isinstance(error, ClientError):
            return error.response.get("Error", {}).get("Code")
    return None


def _place(fault: Exception) -> str:
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "unknown"
