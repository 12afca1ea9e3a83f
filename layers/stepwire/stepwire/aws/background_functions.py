"""The composition root of the functions for which no client waits: events, questions, expirations and the sweep."""

import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

from stepwire.aws.bootstrap import ports_of
from stepwire.aws.clients import (
    dynamodb_client,
    is_weather,
    patient_dynamodb_client,
    patient_step_functions_client,
    step_functions_client,
)
from stepwire.aws.invocations import SystemClock, builds_once, deadline_of, log_fault, new_logger, waited_out
from stepwire.aws.queues import wake_up_of
from stepwire.aws.settings import required
from stepwire.aws.storage.items import expired_task_of
from stepwire.aws.storage.table import Table
from stepwire.aws.workflow_events import (
    ForeignEvent,
    MalformedProgress,
    NestedExecutions,
    execution_event_of,
    question_of,
)
from stepwire.background.execution_events import ExecutionEvents, ExecutionStatusChange
from stepwire.background.expirations import Expirations
from stepwire.background.input_requests import InputRequests, Question
from stepwire.background.sweep import CHECK_BURST, CHECKS_PER_SECOND, INTERVAL, Sweep
from stepwire.engine.assembly import Ports, Settings, assemble
from stepwire.engine.limiter import Allowance
from stepwire.errors import AtQuota, ForeignQuestion, NotRecorded, WorkflowsUnavailable
from stepwire.tracing import follow

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

_TIME_TO_ASK: Final = timedelta(seconds=50)  # two calls that get no answer, and one more that fails the state
_LONGEST_CHECK: Final = timedelta(seconds=60)  # reserved at the end of the sweep's invocation, to finish a check


def _patient_ports(report: Callable[[Exception], None]) -> Ports:
    """Return the ports of a function that repeats calls for longer than a client would wait."""
    table = Table(required(os.environ, "TABLE_NAME"), patient_dynamodb_client)
    return ports_of(table, patient_step_functions_client, report)


class ExecutionEventsHandler:
    """Handles function execution_events: records EventBridge's events about executions, and wakes tasks."""

    @builds_once
    def __call__(self, event: dict[str, Any], context: object) -> dict[str, Any] | None:
        """Record one status change or progress report, or begin the attempts of tasks that a queue wakes."""
        if "Records" in event:
            return {"batchItemFailures": [one for record in event["Records"] for one in self._wake(record)]}
        self._record(event, context)
        return None

    def _wake(self, message: dict[str, Any]) -> Iterator[dict[str, str]]:
        """Begin the attempt of a task; yield what makes the queue deliver the message again."""
        follow(None)
        try:
            self._events.engine.runs.wake(*wake_up_of(message))
        except Exception as fault:  # noqa: BLE001 - the other messages of the batch have nothing to do with it
            log_fault(fault, "an attempt could not be begun", "check postponed", new_logger())
            yield {"itemIdentifier": message["messageId"]}

    def _record(self, event: dict[str, Any], context: object) -> None:
        """Record what an event reports, unless it is none of ours or not valid: a retry would fail the same way."""
        try:
            received = execution_event_of(event)
        except ForeignEvent:  # a rule was changed
            new_logger().warning(
                "an event is neither an execution status change nor progress: check the rule's event pattern"
            )
            return
        except MalformedProgress as error:
            new_logger().warning("a workflow's progress event is not valid", fault=str(error))
            return
        events = self._events
        if isinstance(received, ExecutionStatusChange):
            act = partial(events.record, received)
        else:
            act = partial(events.record_progress, received)
        waited_out(act, context, self._report, events.engine.recorder.clock)

    @cached_property
    def _events(self) -> ExecutionEvents:
        return ExecutionEvents(assemble(_patient_ports(self._report)))

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "an execution could not be read", "check postponed", new_logger())


class InputRequestsHandler:
    """Handles function input_requests: records the questions of workflow states."""

    @builds_once
    def __call__(self, event: dict[str, Any], context: object) -> None:
        """Record one question.

        Raises:
            NotRecorded: neither could it be recorded nor its state be failed. The state fails with this error.
        """
        question, requests = question_of(event), self._requests
        try:
            waited_out(
                lambda: requests.record(question), context, self._report, requests.engine.recorder.clock, _TIME_TO_ASK
            )
        except ForeignQuestion:
            raise
        except Exception as fault:  # noqa: BLE001 - no word of AWS reaches the state, whose error a caller may read
            self._report(fault)
            self._refuse(question, fault)

    def _refuse(self, question: Question, fault: Exception) -> None:
        """Fail the state so that its `Retry` asks again. Of weather, that is no failure of this function."""
        if not is_weather(fault):
            raise NotRecorded from None
        try:
            self._requests.engine.ports.workflows.fail_callback(
                question.token, NotRecorded.__name__, str(NotRecorded())
            )
        except WorkflowsUnavailable as unavailable:
            self._report(unavailable)
            raise NotRecorded from None

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "a question could not be recorded", "check postponed", new_logger())

    @cached_property
    def _requests(self) -> InputRequests:
        engine = assemble(_patient_ports(self._report))
        return InputRequests(engine, NestedExecutions(patient_step_functions_client))


class ExpirationsHandler:
    """Handles function expirations: cleans up after expired tasks in the table's stream."""

    @builds_once
    def __call__(self, event: dict[str, Any], _context: object) -> dict[str, Any]:
        """Process a batch; records from the first failure on are delivered again."""
        for record in event["Records"]:
            try:
                task = expired_task_of(record)
                if task is not None:
                    self._expirations.record(task)
            except Exception as fault:  # noqa: BLE001 - the records before it are done, and it is delivered again
                self._report(fault)
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
        return {"batchItemFailures": []}

    @cached_property
    def _expirations(self) -> Expirations:
        return Expirations(assemble(_patient_ports(self._report)))

    def _report(self, fault: Exception) -> None:
        log_fault(fault, "an expired task could not be looked after", "check postponed", new_logger())


class SweepHandler:
    """Handles function sweep: checks the tasks that no client reads, on a schedule."""

    @builds_once
    def __call__(self, _event: dict[str, Any], context: object) -> None:
        """Check due tasks until shortly before this invocation times out."""
        deadline = deadline_of(context, SystemClock().now())
        swept = waited_out(
            lambda: self._sweep.run(deadline and deadline - _LONGEST_CHECK), context, self._report, SystemClock()
        )
        self._logger.info(
            "neglected tasks were looked after",
            tasks=swept.checked,
            running=swept.running,
            done=swept.is_done,
            longest_wait=int(swept.longest_wait.total_seconds()),
        )

    @cached_property
    def _sweep(self) -> Sweep:
        table = Table(required(os.environ, "TABLE_NAME"), dynamodb_client)
        ports = ports_of(table, step_functions_client, self._report)
        return Sweep(assemble(ports, Settings.of_sweep(INTERVAL)), self._pace)

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
