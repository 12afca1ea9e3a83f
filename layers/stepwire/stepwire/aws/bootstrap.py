"""The composition root: builds function mcp from the engine and the AWS adapters, and what all functions share.

The functions for which no client waits are in `background_functions`, so that function mcp does not import them.
Importing a handler builds nothing. The first event, `warm` or `prepare` builds what is needed, once.
"""

import importlib
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, TypeVar

from stepwire.audit import Audit
from stepwire.aws.clients import (
    dynamodb_client,
    read_service_models,
    s3_client,
    secrets_manager_client,
    sqs_client,
    step_functions_client,
)
from stepwire.aws.gateway.http_events import request_of, response_of
from stepwire.aws.publishing.audit_log import SampledPolls, write_audit_entry
from stepwire.aws.publishing.wake_ups import SqsWakeUps
from stepwire.aws.s3 import Objects, PresignedUrls
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import (
    McpSettings,
    check_scopes,
    read_large_results_bucket,
    read_mcp_settings,
)
from stepwire.aws.snapshot import builds_once
from stepwire.aws.storage.published_catalog import DynamoDbCatalog
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.aws.storage.wait_slots import DynamoDbWaitSlots
from stepwire.aws.workflows.step_functions import StepFunctionsWorkflows
from stepwire.catalog.published import LiveCatalog
from stepwire.catalog.tools import Catalog, read_catalog
from stepwire.engine.assembly import Engine, Ports, Settings, assemble
from stepwire.engine.polls import PollLimit
from stepwire.engine.ports import Clock, WakeUps
from stepwire.engine.recorder import Recorder
from stepwire.engine.runs import NoWakeUps
from stepwire.errors import AccessDenied, AtQuota, NeedsOperator, NotSignedIn
from stepwire.server.kit import Kit
from stepwire.server.mcp_server import McpServer, refusal

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_stepfunctions import SFNClient

    from stepwire.aws.storage.large_results import LargeResults
    from stepwire.engine.express import ExpressCalls
    from stepwire.subscriptions.subscribing import Events

AWS_BUSY: Final = "AWS throttles or does not answer"
"""The log message of weather; the metric `Weather` counts it (`operations.yaml`)."""
_Result = TypeVar("_Result")
_FIRST_PAUSE: Final = 1.0  # seconds
_LONGEST_PAUSE: Final = 5.0
_LINK_LIFETIME: Final = timedelta(minutes=15)


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


def new_logger() -> "Logger":
    """Return the logger of this function; most requests log nothing, and Powertools takes its time to load."""
    from aws_lambda_powertools import Logger  # noqa: PLC0415

    return Logger()


class McpHandler:
    """Handles function mcp: answers requests from API Gateway."""

    @builds_once
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
        _ = self._logger
        importlib.import_module("pydantic_core")  # reads what is not small (`stepwire.json_text`)

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
        audit = SampledPolls(settings.polls_per_log_line)
        ports = ports_of(settings.table_name, dynamodb_client, step_functions_client, self._report, audit)
        engine = assemble(
            ports, Settings(settings.intervals, settings.limits, settings.waits, settings.execution_prefix)
        )
        secret = Secret(settings.secret_arn, secrets_manager_client)
        express = cache(lambda: self._express(engine))
        kit = Kit(
            catalog=self._catalog(engine.recorder),
            operations=engine.operations,
            express=lambda call, deadline: express().run(call, deadline),
            dialogue=engine.dialogue,
            patience=settings.patience,
            secret=secret,
            other_secrets=secret.others,
            resuming=settings.resuming,
            polls=PollLimit(settings.polls_per_second, ports.clock),
            report=self._report,
            access=settings.access,
            events=cache(lambda: self._events(engine)) if settings.events else None,
            is_weather=is_weather,
        )
        return McpServer(kit, settings.allowed_origins, self._report_failure)

    def _catalog(self, recorder: Recorder) -> Catalog:
        if not self._settings.registered_tools:
            return self._built_in
        published = DynamoDbCatalog(self._settings.table_name, dynamodb_client)
        return LiveCatalog(self._built_in, published, recorder.now, self._report)

    def _events(self, engine: Engine) -> "Events":
        """Build what MCP Events need; most requests need none of it."""
        from stepwire.aws.event_services import events_of  # noqa: PLC0415

        return events_of(self._settings.table_name, engine)

    def _express(self, engine: Engine) -> "ExpressCalls":
        """Build what runs tools of type EXPRESS; most requests need none of it."""
        from stepwire.aws.clients import sync_step_functions_client  # noqa: PLC0415
        from stepwire.aws.storage.call_rate import DynamoDbCallRate  # noqa: PLC0415
        from stepwire.aws.workflows.express import StepFunctionsExpress  # noqa: PLC0415

        patience = self._settings.patience.unresumable_request
        rate = DynamoDbCallRate(self._settings.table_name, dynamodb_client)
        workflows = StepFunctionsExpress(lambda: sync_step_functions_client(patience))
        return engine.express(rate, workflows, patience)

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a request met a fault", "check postponed", self._logger)

    def _report_failure(self, fault: Exception) -> None:
        log_fault(fault, "a request met a fault", "request throttled", self._logger)


def ports_of(
    table_name: str,
    dynamodb: "Callable[[], DynamoDBClient]",
    step_functions: "Callable[[], SFNClient]",
    report: Callable[[Exception], None],
    audit: Audit = write_audit_entry,
) -> Ports:
    """Return the ports of a function: the adapters of AWS, the system's clock and the audit log."""
    return Ports(
        DynamoDbTaskStore(table_name, dynamodb, large_results),
        StepFunctionsWorkflows(step_functions, report, client_elsewhere),
        SystemClock(),
        os.urandom,
        DynamoDbWaitSlots(table_name, dynamodb),
        PresignedUrls(_LINK_LIFETIME, s3_client),
        report,
        audit,
        wake_ups(),
        Objects(s3_client),
    )


def large_results() -> "LargeResults":
    """Return the results in the bucket of the stack; most functions never need them."""
    from stepwire.aws.storage.large_results import LargeResults  # noqa: PLC0415 - few results are so large

    return LargeResults(read_large_results_bucket(os.environ), s3_client())


def wake_ups() -> WakeUps:
    """Return what wakes tasks for their next attempt, at the queue in WAKE_UPS_URL; without it, readers begin them."""
    url = os.environ.get("WAKE_UPS_URL", "")
    return SqsWakeUps(url, sqs_client) if url else NoWakeUps()


def deadline_of(context: Any, clock: Clock | None = None) -> datetime | None:
    """Return when Lambda ends the invocation; None without a Lambda context."""
    if context is None:
        return None
    return (clock or SystemClock()).now() + timedelta(milliseconds=context.get_remaining_time_in_millis())


def is_weather(fault: BaseException) -> bool:
    """Tell whether a fault is AWS's and passes by itself (`stepwire.aws.throttling`)."""
    from stepwire.aws.throttling import is_weather  # noqa: PLC0415 - needs botocore, and only faults need it

    return is_weather(fault)


def waited_out(
    act: Callable[[], _Result],
    context: Any,
    report: Callable[[Exception], None],
    clock: Clock,
    needs: timedelta = timedelta(seconds=15),
) -> _Result:
    """Return what an act returns; while AWS throttles it or does not answer, do it again until little time is left.

    Args:
        act: what is done; it has the same effect twice as once.
        context: of the invocation, which says how much time is left.
        report: receives the weather that was waited out.
        clock: measures the pauses.
        needs: time that must be left for another try.
    """
    deadline, pause = deadline_of(context, clock), _FIRST_PAUSE
    while True:
        try:
            return act()
        except Exception as fault:
            if deadline is None or clock.now() > deadline - needs or not is_weather(fault):
                raise
            report(fault)
        clock.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def log_fault(fault: Exception, where: str, at_quota: str, logger: "Logger") -> None:
    """Log a fault with the message `where`; weather with others, which no deployment alarm counts.

    A quota error of Step Functions has the message `at_quota`, all other weather the message `AWS_BUSY`.
    """
    # Only types, codes and the place in the code: a message may contain arguments or results.
    kind, place, aws_error = type(fault).__name__, _place(fault), _aws_error(fault)
    if isinstance(fault, NeedsOperator):
        logger.error("a permission is missing", fault=kind, place=place, aws_error=aws_error)
    elif isinstance(fault, AtQuota):
        logger.warning(at_quota, fault=kind, place=place, aws_error=aws_error)
    elif is_weather(fault):
        logger.warning(AWS_BUSY, met_as=where, fault=kind, place=place, aws_error=aws_error)
    else:
        logger.error(where, fault=kind, place=place, aws_error=aws_error)


def _aws_error(fault: BaseException) -> str | None:
    """Return the code of the AWS error that the fault is, or was raised from."""
    from botocore.exceptions import ClientError  # noqa: PLC0415 - only faults need it

    for error in (fault, fault.__cause__):
        if isinstance(error, ClientError):
            return error.response.get("Error", {}).get("Code")
    return None


def _place(fault: Exception) -> str:
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "unknown"
