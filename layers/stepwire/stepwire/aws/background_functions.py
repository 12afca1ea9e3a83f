"""The composition root of the functions for which no client waits: events, questions, expirations and the sweep."""

import os
from collections.abc import Iterator
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from stepwire.aws.bootstrap import (
    SystemClock,
    client_elsewhere,
    deadline_of,
    log_fault,
    new_logger,
    recorder_of,
    wake_ups,
)
from stepwire.aws.clients import (
    dynamodb_client,
    patient_dynamodb_client,
    patient_step_functions_client,
    step_functions_client,
)
from stepwire.aws.publishing.audit_log import write_audit_entry
from stepwire.aws.publishing.wake_ups import arm_to_wake, task_to_wake
from stepwire.aws.settings import read_sweep_interval, read_table_name
from stepwire.aws.storage.table_stream import expired_task_of
from stepwire.aws.storage.task_store import DynamoDbTaskStore
from stepwire.aws.workflows.callbacks import question_of
from stepwire.aws.workflows.status_events import ForeignEvent, MalformedProgress, execution_event_of
from stepwire.aws.workflows.step_functions import StepFunctionsWorkflows
from stepwire.background.execution_events import ExecutionEvents, ExecutionStatusChange
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests
from stepwire.background.sweep import CHECK_BURST, CHECKS_PER_SECOND, Sweep
from stepwire.engine.allowance import Allowance
from stepwire.engine.upkeep import Intervals, Upkeep
from stepwire.errors import AtQuota

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

_LONGEST_CHECK: Final = timedelta(seconds=60)  # reserved at the end of the sweep's invocation, to finish a check


class ExecutionEventsHandler:
    """Handles function execution_events: records EventBridge's events about executions, and wakes tasks."""

    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any] | None:
        """Record one status change or progress report, begin the attempts of tasks that a queue wakes, or obey."""
        if "stepwire_command" in event:
            from stepwire.aws.operator_commands import obeyed  # noqa: PLC0415 - operators seldom command

            return obeyed(event["stepwire_command"], self._events)
        if "Records" in event:
            return {"batchItemFailures": [one for record in event["Records"] for one in self._wake(record)]}
        self._record(event)
        return None

    def _wake(self, message: dict[str, Any]) -> Iterator[dict[str, str]]:
        """Begin the attempt of a task; yield what makes the queue deliver the message again."""
        try:
            self._events.attempts.wake(task_to_wake(message), arm_to_wake(message))
        except Exception as fault:  # noqa: BLE001 - the other messages of the batch have nothing to do with it
            log_fault(fault, "an attempt could not be begun", "check postponed", new_logger())
            yield {"itemIdentifier": message["messageId"]}

    def _record(self, event: dict[str, Any]) -> None:
        try:
            received = execution_event_of(event)
        except ForeignEvent:  # a rule was changed; a retry would fail the same way
            new_logger().warning(
                "an event is neither an execution status change nor progress: check the rule's event pattern"
            )
            return
        except MalformedProgress as error:  # a retry would fail the same way
            new_logger().warning("a workflow's progress event is not valid", fault=str(error))
            return
        if isinstance(received, ExecutionStatusChange):
            self._events.record(received)
        else:
            self._events.record_progress(received)

    @cached_property
    def _events(self) -> ExecutionEvents:
        recorder = recorder_of(read_table_name(os.environ), patient_dynamodb_client)
        workflows = StepFunctionsWorkflows(patient_step_functions_client, self._report, client_elsewhere)
        return ExecutionEvents(recorder, workflows, self._report, wake_ups())

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "an execution could not be read", "check postponed", new_logger())


class InputRequestsHandler:
    """Handles function input_requests: records the questions of workflow states."""

    def __call__(self, event: dict[str, Any], _context: object) -> None:
        """Record one question."""
        self._requests.record(question_of(event))

    @cached_property
    def _requests(self) -> InputRequests:
        recorder = recorder_of(read_table_name(os.environ), patient_dynamodb_client)
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
                log_fault(fault, "an expired task could not be looked after", "check postponed", new_logger())
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
        recorder = recorder_of(read_table_name(os.environ), dynamodb_client)
        workflows = StepFunctionsWorkflows(step_functions_client, self._report, client_elsewhere)
        return Sweep(
            recorder,
            Upkeep(
                recorder,
                workflows,
                Intervals(interval, timedelta(), 0),
                self._report,
                describe_calls=None,
                wake_ups=wake_ups(),
            ),
            Expirations(recorder.store, workflows, write_audit_entry),
            interval,
            self._report,
            self._pace,
        )

    @cached_property
    def _pace(self) -> Allowance:
        return Allowance(CHECKS_PER_SECOND, CHECK_BURST)

    @cached_property
    def _logger(self) -> "Logger":
        return new_logger()

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a neglected task could not be looked after", "check postponed", self._logger)
        if isinstance(fault, AtQuota):
            self._pace.pause(SystemClock().now())
