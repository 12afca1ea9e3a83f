"""The composition root: what each function is made of.

A handler builds nothing when it is imported; the first event, `warm` or `prepare` builds what it needs, once.
"""

import os
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Final

from aws_lambda_powertools import Logger
from botocore.exceptions import ClientError

from stepwire.allowance import Allowance
from stepwire.aws.api_gateway import request_of, response_of
from stepwire.aws.audit import load_metrics, write_down
from stepwire.aws.callbacks import question_of
from stepwire.aws.clients import (
    dynamodb_client,
    patient_dynamodb_client,
    patient_step_functions_client,
    read_service_models,
    s3_client,
    secrets_manager_client,
    step_functions_client,
)
from stepwire.aws.dynamodb import DynamoDbTaskStore
from stepwire.aws.eventbridge import ForeignEvent, MalformedProgress, news_of
from stepwire.aws.places import DynamoDbPlaces
from stepwire.aws.s3 import PresignedUrls
from stepwire.aws.secrets_manager import Secret
from stepwire.aws.settings import McpSettings, check_scopes, read_mcp_settings, read_sweep_interval, read_table_name
from stepwire.aws.step_functions import StepFunctionsWorkflows
from stepwire.aws.streams import expired_task_of
from stepwire.catalog import read_catalog
from stepwire.dialogue import Dialogue
from stepwire.errors import AccessDenied, AtQuota, NotSignedIn
from stepwire.execution_events import ExecutionEvents, StatusChange
from stepwire.expirations import Expirations
from stepwire.input_requests import InputRequests
from stepwire.methods import Kit
from stepwire.operations import Operations
from stepwire.polls import PollLimit
from stepwire.recorder import Recorder
from stepwire.server import McpServer, refusal
from stepwire.sweep import LOOKS_AT_ONCE, LOOKS_PER_SECOND, Sweep
from stepwire.upkeep import Intervals, Upkeep
from stepwire.waiting import Waiting, WaitingRoom

_LINKS_GOOD_FOR: Final = timedelta(minutes=15)
_LONGEST_LOOK: Final = timedelta(seconds=60)  # what is left of the sweep's invocation for the look that is under way


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """Tell the time."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        time.sleep(seconds)


class McpHandler:
    """Answers the events that API Gateway sends to function mcp."""

    def __call__(self, event: dict[str, Any], context: object) -> dict[str, Any]:
        """Answer one request."""
        deadline = deadline_of(context)
        try:
            caller = self._settings.sign_in.caller_of(event)
        except AccessDenied as error:
            self._logger.warning("a sign-in is not enough", fault=type(error).__name__, detail=error.data)
            return response_of(refusal(error))
        except NotSignedIn as error:
            self._logger.error("no identity came with the request: the route has no authorizer")  # noqa: TRY400 - nothing broke
            return response_of(refusal(error))
        return response_of(self._server.handle(request_of(event, caller, deadline)))

    def warm(self) -> None:
        """Build what needs no AWS, so that a wrong setting or manifest shows before the first request."""
        _ = self._server

    def prepare(self) -> None:
        """Build all that a snapshot may hold, by the rule of `stepwire.aws.snapshot`."""
        self._server.kit.catalog.compile_schemas()
        read_service_models("dynamodb", "stepfunctions", "secretsmanager")
        load_metrics()

    @cached_property
    def _settings(self) -> McpSettings:
        return read_mcp_settings(os.environ)

    @cached_property
    def _server(self) -> McpServer:
        settings = self._settings
        catalog = read_catalog(settings.catalog.read_text(encoding="utf-8"), settings.state_machines)
        check_scopes(os.environ, settings.access, catalog)
        recorder = _recorder(settings.table_name, dynamodb_client)
        workflows = StepFunctionsWorkflows(step_functions_client)
        upkeep = Upkeep(recorder, workflows, settings.intervals, self._report)
        places = DynamoDbPlaces(settings.table_name, dynamodb_client)
        room = WaitingRoom(places, settings.waits, secrets.token_bytes, self._report)
        secret = Secret(settings.secret_arn, secrets_manager_client)
        kit = Kit(
            catalog=catalog,
            operations=Operations(
                recorder,
                workflows,
                secrets.token_bytes,
                upkeep,
                settings.limits,
                PresignedUrls(_LINKS_GOOD_FOR, s3_client),
                self._report,
                Waiting(recorder, upkeep, room, self._report),
            ),
            dialogue=Dialogue(recorder, upkeep, self._report),
            patience=settings.patience,
            secret=secret,
            other_secrets=secret.others,
            no_resume=settings.no_resume,
            polls=PollLimit(settings.polls_per_second, recorder.clock),
            report=self._report,
            access=settings.access,
        )
        return McpServer(kit, settings.allowed_origins, self._report_failure)

    @cached_property
    def _logger(self) -> Logger:
        return Logger()

    def _report(self, fault: Exception) -> None:
        log_trouble(fault, "a request met a fault", "check postponed", self._logger)

    def _report_failure(self, fault: Exception) -> None:
        log_trouble(fault, "a request met a fault", "request throttled", self._logger)


class ExecutionEventsHandler:
    """Records the events that EventBridge sends to function execution_events."""

    def __call__(self, event: dict[str, Any], _context: object) -> None:
        """Record one status change, or one step of progress."""
        try:
            news = news_of(event)
        except ForeignEvent:  # a rule was changed: it would come again, and be no other
            Logger().warning("an event is neither of an execution's status nor of its progress")
            return
        except MalformedProgress as error:  # delivered again, it would be no better
            Logger().warning("a workflow reports progress that cannot be read", fault=str(error))
            return
        if isinstance(news, StatusChange):
            self._events.record(news)
        else:
            self._events.record_progress(news)

    @cached_property
    def _events(self) -> ExecutionEvents:
        recorder = _recorder(read_table_name(os.environ), patient_dynamodb_client)
        return ExecutionEvents(recorder, StepFunctionsWorkflows(patient_step_functions_client))


class InputRequestsHandler:
    """Records what states of a workflow ask that invoke function input_requests, and wait."""

    def __call__(self, event: dict[str, Any], _context: object) -> None:
        """Record one question."""
        self._requests.record(question_of(event))

    @cached_property
    def _requests(self) -> InputRequests:
        recorder = _recorder(read_table_name(os.environ), patient_dynamodb_client)
        return InputRequests(recorder, StepFunctionsWorkflows(patient_step_functions_client))


class ExpirationsHandler:
    """Looks after tasks that expired while they ran, as the stream of their table tells."""

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Take a batch; what could not be looked after comes again, from the first that failed."""
        for record in event["Records"]:
            try:
                task = expired_task_of(record)
                if task is not None:
                    self._expirations.record(task)
            except Exception as fault:  # noqa: BLE001 - those before it are done, and it comes again
                log_trouble(fault, "an expired task could not be looked after", "check postponed", Logger())
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
        return {"batchItemFailures": []}

    @cached_property
    def _expirations(self) -> Expirations:
        store = DynamoDbTaskStore(read_table_name(os.environ), patient_dynamodb_client)
        return Expirations(store, StepFunctionsWorkflows(patient_step_functions_client), write_down)


class SweepHandler:
    """Looks after the tasks that nobody reads, whenever its schedule calls it."""

    def __call__(self, _event: dict[str, Any], context: object) -> None:
        """Look after them for as long as this invocation may run."""
        deadline = deadline_of(context)
        swept = self._sweep.run(deadline and deadline - _LONGEST_LOOK)
        self._logger.info(
            "neglected tasks were looked after", tasks=swept.looked_after, running=swept.running, done=swept.is_done
        )

    @cached_property
    def _sweep(self) -> Sweep:
        interval = read_sweep_interval(os.environ)
        recorder = _recorder(read_table_name(os.environ), dynamodb_client)
        workflows = StepFunctionsWorkflows(step_functions_client)
        return Sweep(
            recorder,
            Upkeep(recorder, workflows, Intervals(repair=interval, state=timedelta()), self._report),
            Expirations(recorder.store, workflows, write_down),
            interval,
            self._report,
            self._pace,
        )

    @cached_property
    def _pace(self) -> Allowance:
        return Allowance(LOOKS_PER_SECOND, LOOKS_AT_ONCE)

    @cached_property
    def _logger(self) -> Logger:
        return Logger()

    def _report(self, fault: Exception) -> None:
        log_trouble(fault, "a neglected task could not be looked after", "check postponed", self._logger)
        if isinstance(fault, AtQuota):
            self._pace.pause(SystemClock().now())


def _recorder(table_name: str, build_client: Callable[[], Any]) -> Recorder:
    return Recorder(DynamoDbTaskStore(table_name, build_client), SystemClock(), write_down)


def deadline_of(context: Any) -> datetime | None:
    """Say when Lambda cuts an invocation off; None where nobody does."""
    if context is None:
        return None
    return SystemClock().now() + timedelta(milliseconds=context.get_remaining_time_in_millis())


def log_trouble(fault: Exception, where: str, at_quota: str, logger: Logger) -> None:
    """Write down what went wrong: in the words `where`; or `at_quota`, which no alarm of a release counts."""
    # Types, codes and the place; never a message, which may hold arguments or results.
    kind, place, aws_error = type(fault).__name__, _place(fault), _aws_error(fault)
    if isinstance(fault, AtQuota):
        logger.warning(at_quota, fault=kind, place=place, aws_error=aws_error)
    else:
        logger.error(where, fault=kind, place=place, aws_error=aws_error)


def _aws_error(fault: BaseException) -> str | None:
    """Give the code of the AWS error that the fault is, or came from."""
    for error in (fault, fault.__cause__):
        if isinstance(error, ClientError):
            return error.response.get("Error", {}).get("Code")
    return None


def _place(fault: Exception) -> str:
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_qualname}:{trace.tb_lineno}" if trace else "unknown"
