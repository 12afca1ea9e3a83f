"""Workflows on Step Functions: start, describe, complete callbacks, stop; and run one of type EXPRESS.

Starting is idempotent by name and input, so a start whose response was lost is simply retried. A refusal is certain
only if it answers the first attempt: before a retry, an earlier attempt may have succeeded. A call of type EXPRESS is
sent once: Step Functions runs a repeated one again.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 - botocore's, not Python's
    HTTPClientError,
    ReadTimeoutError,
)
from msgspec import Struct
from msgspec.structs import replace

from stepwire.aws.clients import THROTTLED, code_of, is_weather
from stepwire.errors import (
    KeyDenied,
    NoEndInTime,
    RedriveRefused,
    RoleDenied,
    StartRefused,
    StartRefusedForNow,
    StartThrottled,
    StartUnclear,
    StopRefused,
    StopThrottled,
    WorkflowsThrottled,
    WorkflowsUnavailable,
)
from stepwire.tasks.events import StateEntered
from stepwire.tasks.outcomes import (
    Aborted,
    ExecutionEnd,
    ExecutionFailed,
    ExecutionState,
    Missing,
    Running,
    Succeeded,
    TimedOut,
    Unreadable,
)
from stepwire.tasks.task import Execution, ItemCount

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

# Reasons that a caller may see; operators find the details in CloudTrail.
_REASONS: Final = {
    "StateMachineDoesNotExist": "its state machine no longer exists",
    "InvalidArn": "its state machine is in another Region",
    "StateMachineDeleting": "its state machine is being deleted",
    "InvalidExecutionInput": "Step Functions does not accept the arguments as input",
    "ExecutionLimitExceeded": "too many workflows are running; try again later",
    "ThrottlingException": "too many workflows are being started; try again in a few seconds",
    "AccessDeniedException": "this server may not start its state machine",
    "AccessDenied": "this server may not assume the role of its state machine",
    "KmsAccessDeniedException": "this server may not use the key of its state machine",
    "KmsInvalidStateException": "the key of its state machine is disabled",
    "KmsThrottlingException": "too many workflows are being started; try again in a few seconds",
    "StateMachineTypeNotSupported": "its state machine is of another type than when the tool was registered",
}

# How many of the newest events are searched for a state's name: the most that one read of minimal cost returns.
_NEWEST_EVENTS: Final = 25
_EVENTS_OF_PASSED_STATES: Final = 250  # enough for fifty states, once for a task that has ended
_SERVER_ERROR: Final = 500  # HTTP statuses from here on
# Pages of running executions: 100,000 executions, 15 MB.
_MOST_PAGES: Final = 100
# The ARN of a task that another Region has left is none here.
_MISSING: Final = frozenset({"ExecutionDoesNotExist", "InvalidArn"})
_EXPRESS: Final = ":express:"  # in the ARN of an execution
_KEY_DENIED: Final = frozenset({"KmsAccessDeniedException", "KmsInvalidStateException"})
_ROLE_DENIAL: Final = "AccessDenied"  # STS's; Step Functions' own is AccessDeniedException
_NOT_STOPPED: Final = {
    _ROLE_DENIAL: "this server may not assume the role of its state machine",
    "AccessDeniedException": "this server may not stop it",
    "KmsAccessDeniedException": "this server may not use the key of its state machine",
    "KmsInvalidStateException": "the key of its state machine is disabled",
}
# An operator who does not allow it does not want it: the manifest says whether the execution is started anew then.
_NOT_REDRIVEN: Final = frozenset(
    {"ExecutionNotRedrivable", "ExecutionDoesNotExist", "ValidationException", "AccessDeniedException"}
)
_UNREADABLE: Final = "its error cannot be read, because this server may not use the key of its state machine"
_LAST_EVENTS: Final = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"})
_MAP_RUN_ENDS: Final = frozenset({"MapRunSucceeded", "MapRunFailed", "MapRunAborted"})
_NO_LONGER_WAITING: Final = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
_TEMPORARY: Final = THROTTLED | {"ExecutionLimitExceeded"}


def ignore(_fault: Exception) -> None:
    """Report nothing."""


def nowhere(region: str, _role: str) -> Any:
    """Refuse a state machine elsewhere: this function calls none."""
    raise StartRefused(f"this server runs no state machines in {region} by a role")


class StepFunctionsWorkflows(Struct, frozen=True, dict=True):
    """`Workflows` on Step Functions. The client is built on the first call."""

    build_client: "Callable[[], SFNClient]"
    report: Callable[[Exception], None] = ignore
    """Receives what only an operator can mend, and callers get an answer in spite of."""
    elsewhere: "Callable[[str, str], SFNClient]" = nowhere
    """Returns the client of a Region under a role."""

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    def _client_for(self, execution: Execution) -> "SFNClient":
        if not execution.role:
            return self._client
        return self.elsewhere(region_of(execution.state_machine_arn), execution.role)

    def start(self, execution: Execution, input_text: str, trace_header: str | None = None) -> None:
        trace: dict[str, Any] = {} if trace_header is None else {"traceHeader": trace_header}
        try:
            begun = self._client_for(execution).start_execution(
                stateMachineArn=execution.started_arn, name=execution.name, input=input_text, **trace
            )
        except ClientError as error:
            if code_of(error) != "ExecutionAlreadyExists":
                raise start_error(error) from error
        except (ConnectionError, HTTPClientError) as error:
            raise StartUnclear from error
        except BotoCoreError as error:  # nothing was sent
            raise StartRefused("this server is not set up to call Step Functions") from error
        else:
            # To follow an Express execution would find nothing, and start it again and again.
            if _EXPRESS in begun.get("executionArn", ""):
                raise StartRefused("its state machine is of type EXPRESS now; one run of it has begun")

    def redrive(self, execution: Execution, token: str) -> None:
        try:
            self._client_for(execution).redrive_execution(executionArn=execution_arn_of(execution), clientToken=token)
        except (ClientError, BotoCoreError) as error:
            raise RedriveRefused if code_of(error) in _NOT_REDRIVEN else _unavailable(error) from error

    def describe(self, execution: Execution) -> ExecutionState:
        try:
            return self._described(execution)
        except KeyDenied as denied:
            self.report(denied)
            return _without_data(self._described(execution, includedData="METADATA_ONLY"))

    def _described(self, execution: Execution, **more: Any) -> ExecutionState:
        arn = execution_arn_of(execution)
        found = unless_missing(lambda: self._client_for(execution).describe_execution(executionArn=arn, **more))
        return Missing() if found is None else state_of(found)

    def current_state(self, execution: Execution) -> StateEntered | None:
        """Return the state entered last, if it is among the newest events; of a Distributed Map, with its items."""
        events = self._newest_events(execution, _NEWEST_EVENTS)
        states, map_run = _states_in(events), _map_run_in(events)
        if not states or events[0]["type"] in _LAST_EVENTS:
            return None
        return StateEntered(states[-1], self._items_of(execution, map_run) if map_run else None, states)

    def passed_states(self, execution: Execution) -> tuple[str, ...]:
        """Return the names of the states that are among the newest events."""
        return _states_in(self._newest_events(execution, _EVENTS_OF_PASSED_STATES))

    def _newest_events(self, execution: Execution, most: int) -> Any:
        """Return the newest events of an execution's history in reverse order; none if there is no execution."""
        history = unless_missing(
            lambda: self._client_for(execution).get_execution_history(
                executionArn=execution_arn_of(execution), reverseOrder=True, maxResults=most, includeExecutionData=False
            )
        )
        return () if history is None else history["events"]

    def _items_of(self, execution: Execution, map_run_arn: str) -> ItemCount | None:
        """Return the items of a running Distributed Map; None without an answer: the state's name is shown alone."""
        try:
            counts = self._client_for(execution).describe_map_run(mapRunArn=map_run_arn)["itemCounts"]
        except (ClientError, BotoCoreError):
            return None
        failed = counts["failed"] + counts["timedOut"] + counts["aborted"]
        return ItemCount(counts["succeeded"] + failed, counts["total"], failed)

    def list_running(self, state_machine_arn: str) -> Iterator[frozenset[str]]:
        """Yield the names of the running executions, 1,000 per call."""
        asked: dict[str, Any] = {"stateMachineArn": state_machine_arn, "statusFilter": "RUNNING", "maxResults": 1000}
        try:
            for _ in range(_MOST_PAGES):
                page = self._client.list_executions(**asked)
                yield frozenset(one["name"] for one in page["executions"])
                if "nextToken" not in page:
                    return
                asked["nextToken"] = page["nextToken"]
        except (ClientError, BotoCoreError) as error:
            raise _unavailable(error) from error

    def waits(self, token: str) -> bool:
        """Tell whether a state still waits for a callback. A heartbeat changes nothing of a state without a limit."""
        try:
            self._client.send_task_heartbeat(taskToken=token)
        except (ClientError, BotoCoreError) as error:
            return _is_waiting_after(error)
        return True

    def complete_callback(self, token: str, output: str) -> bool:
        try:
            self._client.send_task_success(taskToken=token, output=output)
        except (ClientError, BotoCoreError) as error:
            metadata = error.response.get("ResponseMetadata", {}) if isinstance(error, ClientError) else {}
            # Of a retry by the SDK, the first attempt may have been taken.
            return _is_waiting_after(error) or metadata.get("RetryAttempts", 0) > 0
        return True

    def fail_callback(self, token: str, error: str, cause: str) -> None:
        try:
            self._client.send_task_failure(taskToken=token, error=error, cause=cause)
        except (ClientError, BotoCoreError) as fault:
            _is_waiting_after(fault)

    def stop(self, execution: Execution, cause: str) -> bool:
        try:
            self._client_for(execution).stop_execution(
                executionArn=execution_arn_of(execution), error="Stepwire.Cancelled", cause=cause
            )
        except ClientError as error:
            if (code := code_of(error)) in THROTTLED:
                raise StopThrottled from error
            if code in _NOT_STOPPED:
                raise StopRefused(_NOT_STOPPED[code]) from error
            if code not in _MISSING:
                raise
            return False
        return True


def unless_missing(read: Callable[[], Any], missing: frozenset[str] = _MISSING) -> Any:
    """Return what Step Functions answers; None if its error says that there is no such execution.

    Raises:
        WorkflowsUnavailable: no answer, or any other error.
    """
    try:
        return read()
    except (ClientError, BotoCoreError) as error:
        if code_of(error) in missing:
            return None
        raise _unavailable(error) from error


def _is_waiting_after(error: ClientError | BotoCoreError) -> bool:
    """Return False for the errors of a state that no longer waits; all others may be temporary."""
    if code_of(error) not in _NO_LONGER_WAITING:
        raise _unavailable(error) from error
    return False


def _states_in(events: Any) -> tuple[str, ...]:
    """Return the names of the states entered, oldest first, from events in reverse order."""
    entered = (event["stateEnteredEventDetails"] for event in reversed(events) if "stateEnteredEventDetails" in event)
    return tuple(details["name"] for details in entered)


def _map_run_in(events: Any) -> str | None:
    """Return the ARN of the Distributed Map that runs, from events in reverse order: none has ended since it began."""
    for event in events:
        if event["type"] in _MAP_RUN_ENDS:
            return None
        for details in ("mapRunStartedEventDetails", "mapRunRedrivenEventDetails"):
            if details in event:
                return event[details]["mapRunArn"]
    return None


def region_of(arn: str) -> str:
    """Return the Region that an ARN names."""
    return arn.split(":")[3]


def execution_arn_of(execution: Execution) -> str:
    """Return the ARN of an execution."""
    return f"{execution.state_machine_arn.replace(':stateMachine:', ':execution:', 1)}:{execution.name}"


def execution_of(execution_arn: str) -> Execution:
    """Return the execution of an ARN."""
    state_machine_arn, _, name = execution_arn.rpartition(":")
    return Execution(state_machine_arn.replace(":execution:", ":stateMachine:", 1), name)


def state_of(report: Any) -> ExecutionState:
    """Return the state in a response of DescribeExecution or in the detail of a status event, which share a format."""
    count = report.get("redriveCount")
    redrives = count if isinstance(count, int) else 0
    is_redrivable = report.get("redriveStatus") != "NOT_REDRIVABLE"
    why_not = "" if is_redrivable else report.get("redriveStatusReason") or "Step Functions gives no reason"
    match report["status"]:
        case "SUCCEEDED":
            return Succeeded(_whole(report.get("output")), redrives)
        case "FAILED":
            error, cause = _whole(report.get("error")) or "", _whole(report.get("cause")) or ""
            return ExecutionFailed(error, cause, redrives, why_not)
        case "TIMED_OUT":
            return TimedOut(redrives, why_not)
        case "ABORTED":
            return Aborted(redrives, why_not)
        case _:  # RUNNING, PENDING_REDRIVE
            return Running(redrives)


def _without_data(state: ExecutionState) -> ExecutionState:
    """Return the state of an execution whose data may not be read."""
    match state:
        case Succeeded():
            return Unreadable()
        case ExecutionFailed():
            return replace(state, error="", cause=_UNREADABLE)
        case _:
            return state


def _whole(text: str | None) -> str | None:
    """Return the text with ? for lone surrogates, which JSON may contain and DynamoDB does not accept."""
    return text and text.encode(errors="replace").decode()


def start_error(error: ClientError) -> StartRefused | StartUnclear:
    """Return what an error of a start means: certain only if it answers the first attempt."""
    metadata = error.response.get("ResponseMetadata")
    retries = None if metadata is None else metadata.get("RetryAttempts", 0)
    is_first_attempt = metadata is not None and retries == 0 and metadata["HTTPStatusCode"] < _SERVER_ERROR
    if not is_first_attempt:
        return StartThrottled() if code_of(error) in THROTTLED else StartUnclear()
    refused = StartRefusedForNow if code_of(error) in _TEMPORARY else StartRefused
    return refused(_REASONS.get(code_of(error), f"Step Functions refused it ({code_of(error)})"))


def _unavailable(error: ClientError | BotoCoreError) -> WorkflowsUnavailable:
    code = code_of(error)
    if code in _KEY_DENIED:
        return KeyDenied()
    if code == _ROLE_DENIAL:
        return RoleDenied()
    is_throttled = isinstance(error, ClientError) and is_weather(error)
    return WorkflowsThrottled() if is_throttled else WorkflowsUnavailable()


class StepFunctionsExpress(Struct, frozen=True, dict=True):
    """`SyncWorkflows` on Step Functions. The client, which must not retry, is built on the first call."""

    build_client: "Callable[[], SFNClient]"

    @cached_property
    def _client(self) -> "SFNClient":
        return self.build_client()

    def run(self, execution: Execution, input_text: str, trace_header: str | None = None) -> ExecutionEnd:
        trace: dict[str, Any] = {} if trace_header is None else {"traceHeader": trace_header}
        try:
            ended = self._client.start_sync_execution(
                stateMachineArn=execution.started_arn, name=execution.name, input=input_text, **trace
            )
        except ClientError as error:
            raise start_error(error) from error
        except ConnectionError as error:  # nothing was sent
            raise StartRefused("Step Functions could not be reached; try again") from error
        except ReadTimeoutError as error:
            raise NoEndInTime from error
        except HTTPClientError as error:
            raise StartUnclear from error
        except BotoCoreError as error:  # nothing was sent
            raise StartRefused("this server is not set up to call Step Functions") from error
        state = state_of(ended)
        if isinstance(state, Running | Missing):
            raise StartUnclear
        return state
