"""Patches of the life of an execution: start, end, stop, describe, history.

moto's classes are `Any` here on purpose: the proofs check this code, not the type checker.
"""
# ruff: noqa: SLF001 - the defects are in moto's private attributes

import base64
import binascii
import json
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from moto.core.exceptions import AWSError
from moto.core.responses import ActionResult
from moto.stepfunctions import responses
from moto.stepfunctions.exceptions import InvalidExecutionInput, InvalidName
from moto.stepfunctions.parser import api
from moto.stepfunctions.parser import models as running
from moto.stepfunctions.parser.asl.eval import environment
from moto.stepfunctions.parser.asl.eval.program_state import ProgramStopped
from moto.stepfunctions.parser.asl.parse import asl_parser
from moto.stepfunctions.parser.asl.parse.preprocessor import Preprocessor
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str
from moto.stepfunctions.parser.backend import execution as backend

from stepwire_local.account.status_events import courier, started_by

_Replace = Callable[[object, str, object], None]

_LONGEST_INPUT = 262_144  # bytes
_LONGEST_NAME = 80  # characters
_EXECUTION_DATA = frozenset(("input", "inputDetails", "output", "outputDetails"))
_STARTING = 1.0  # seconds that a program may take to build its environment

# Makes the first end of an execution and the first start of a name win.
lock = threading.RLock()


def definitions_are_read_apart(replace: _Replace) -> None:
    """Patch: Give each parser a query language of its own.

    Defect: Parsers of definitions share the query language: a definition that is parsed concurrently, or was
    rejected before, changes that of another.
    """

    def __init__(self: Any) -> None:  # noqa: N807  # it replaces the class's own
        self._query_language_per_scope = []

    replace(Preprocessor, "__init__", __init__)


def definitions_are_parsed_once(replace: _Replace) -> None:
    """Patch: Cache the syntax tree of each definition.

    Defect: Each execution parses its definition again, which takes longer than most executions.
    """
    parser: Any = asl_parser.AmazonStateLanguageParser
    original = parser.parse

    def parse(definition: str) -> tuple[Any, Any]:
        tree = _tree_of(original, definition)
        # The program holds the state of an execution, so each execution gets its own program from the shared tree.
        return Preprocessor().visit(tree), tree

    replace(parser, "parse", staticmethod(parse))


@lru_cache(maxsize=256)
def _tree_of(parse: Callable[[str], tuple[Any, Any]], definition: str) -> Any:
    """Return the syntax tree of a definition, also for the accounts of this process that come later."""
    return parse(definition)[1]


def names_are_made_up_and_unique(replace: _Replace) -> None:
    """Patch: Generate a missing name, validate a given one, and start one execution at a time.

    Defect: StartExecution without a name gives an ARN that ends in ":None", two concurrent starts with one name may
    both succeed, and names are not validated.
    """
    original: Any = running.StepFunctionsParserBackend.start_execution

    def start_execution(
        self: Any,
        state_machine_arn: str,
        name: str | None = None,
        execution_input: str | None = None,
        trace_header: Any = None,
    ) -> Any:
        if name is not None:
            _check_name(self, name)
        with lock:
            return original(self, state_machine_arn, name or str(uuid.uuid4()), execution_input, trace_header)

    replace(running.StepFunctionsParserBackend, "start_execution", start_execution)


def executions_are_never_redriven(replace: _Replace) -> None:
    """Patch: Refuse it with ExecutionNotRedrivable: its engine cannot go on from a failed state.

    Defect: RedriveExecution is not implemented, which is an error that no service returns.
    """

    def redrive_execution(self: Any) -> ActionResult:
        self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
        raise _NotRedrivable("The local stack does not redrive executions.", "ExecutionNotRedrivable", 400)

    replace(responses.StepFunctionResponse, "redrive_execution", redrive_execution)


class _NotRedrivable(AWSError):
    """An execution cannot be redriven."""


def _check_name(self: Any, name: str) -> None:
    if not 1 <= len(name) <= _LONGEST_NAME or any(character.isspace() for character in name):
        raise InvalidName(f"Invalid Name: '{name}'")
    self._validate_name(name)  # the forbidden characters; it raises InvalidName too


def inputs_are_checked(replace: _Replace) -> None:
    """Patch: Reject it with InvalidExecutionInput.

    Defect: StartExecution accepts an input above the limit of 262,144 bytes.
    """
    original: Any = responses.StepFunctionResponse.start_execution

    def start_execution(self: Any) -> Any:
        text: str = self._get_param("input", if_none="{}")
        if len(text.encode()) > _LONGEST_INPUT:
            raise InvalidExecutionInput(f"Invalid State Machine Execution Input: longer than {_LONGEST_INPUT} bytes")
        return original(self)

    replace(responses.StepFunctionResponse, "start_execution", start_execution)


def errors_carry_their_code(replace: _Replace) -> None:
    """Patch: Use the name of the error as its code and as its default message.

    Defect: Errors of the ASL parser reach the client with an empty code, or raise TypeError if they have no
    message.
    """
    for error in vars(api).values():
        if isinstance(error, type) and issubclass(error, AWSError) and error is not AWSError:
            replace(error, "__init__", _coded(error))


def _coded(error: Any) -> Any:
    code: str = error.__dict__.get("code", error.__name__)

    def __init__(self: Any, message: str = code) -> None:  # noqa: N807  # it replaces the class's own
        AWSError.__init__(self, message, code, 400)

    return __init__


def ends_are_final_and_reported(replace: _Replace) -> None:
    """Patch: Report each change of status, and keep the first end.

    Defect: EventBridge gets no status change events, and a program that ends late overwrites an earlier end, such
    as a stop.
    """
    communication: Any = backend.BaseExecutionWorkerCommunication
    original_end, original_start = communication._reflect_execution_status, backend.Execution.start

    def reflect(self: Any) -> None:
        with lock:
            if self.execution.exec_status is not api.ExecutionStatus.RUNNING:
                return
            original_end(self)
        courier.report(self.execution)

    def start(self: Any) -> None:
        self.exec_status = api.ExecutionStatus.RUNNING
        courier.report(self)  # before the program runs: an end is never reported before its start
        original_start(self)

    replace(communication, "_reflect_execution_status", reflect)
    replace(backend.Execution, "start", start)


def stopping_is_immediate(replace: _Replace) -> None:
    """Patch: Mark the execution as ABORTED at once, with its error and cause, and interrupt its waiting states.

    Defect: StopExecution does not stop an execution that waits for a task token; its response has no stopDate; the
    error and the cause are lost.
    """
    original_error: Any = environment.Environment.set_error

    def stop_execution(self: Any) -> ActionResult:
        execution = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
        stop(execution, error=self._get_param("error"), cause=self._get_param("cause"))
        return ActionResult({"stopDate": execution.stop_date})

    def set_error(self: Any, error: Any) -> None:
        # An interrupted state reports a timeout, although the stop came first.
        if not isinstance(self._program_state, ProgramStopped):
            original_error(self, error)

    replace(responses.StepFunctionResponse, "stop_execution", stop_execution)
    replace(environment.Environment, "set_error", set_error)


def stop(execution: Any, *, error: str | None = None, cause: str | None = None) -> None:
    """Mark an execution as ABORTED at once; its threads notice and end later."""
    with lock:
        if execution.exec_status is not api.ExecutionStatus.RUNNING:
            return
        execution.exec_status = api.ExecutionStatus.ABORTED
        execution.stop_date = datetime.now(UTC)
        execution.error, execution.cause = error, cause
    courier.report(execution)
    _interrupt(execution)


def _interrupt(execution: Any) -> None:
    program = _program(execution)
    if program is None:
        return
    program.set_stop(stop_date=execution.stop_date, error=execution.error, cause=execution.cause)
    for callback in list(program.callback_pool_manager._pool.values()):
        callback.interrupt_all()


def _program(execution: Any) -> Any:
    """Return the environment of the execution's program once it runs: it would ignore an earlier stop."""
    until = time.monotonic() + _STARTING
    while time.monotonic() < until:
        program = execution.exec_worker.env if execution.exec_worker else None
        if program is not None and program._program_state is not None:
            return program
        time.sleep(0.001)
    return None


def describing_tells_all(replace: _Replace) -> None:
    """Patch: Build the response from the execution itself.

    Defect: DescribeExecution leaves out stopDate after a timeout and an output that is null, and raises TypeError
    if the output contains a date.
    """

    def describe_execution(self: Any) -> ActionResult:
        execution = self.stepfunction_backend.describe_execution(self._get_param("executionArn"))
        with lock:  # moto sets the status before it sets the output
            return ActionResult(_description(execution))

    replace(responses.StepFunctionResponse, "describe_execution", describe_execution)


def _description(execution: Any) -> dict[str, Any]:
    described: dict[str, Any] = {
        "executionArn": execution.execution_arn,
        "stateMachineArn": execution.state_machine_arn,
        "name": execution.name,
        "status": execution.status,
        "startDate": execution.start_date,
        "input": execution.execution_input,
        "inputDetails": {"included": True},
        "redriveCount": 0,
        **{name: arn for name, arn in started_by(execution).items() if arn is not None},
    }
    if execution.status != "RUNNING":
        described["stopDate"] = execution.stop_date
    if execution.status == "SUCCEEDED":
        described |= {"output": output_of(execution), "outputDetails": {"included": True}}
    endings = {"error": execution.error, "cause": execution.cause}
    return described | {name: value for name, value in endings.items() if value is not None}


def output_of(execution: Any) -> str:
    """Return the output of an execution that succeeded, as JSON text."""
    return to_json_str(execution.output, separators=(",", ":"))


def history_comes_in_pages(replace: _Replace) -> None:
    """Patch: Sort the events and return one page of them.

    Defect: GetExecutionHistory ignores maxResults, nextToken and reverseOrder.
    """
    original: Any = responses.StepFunctionResponse.get_execution_history

    def get_execution_history(self: Any) -> ActionResult:
        events: list[Any] = list(original(self).result["events"])
        if self._get_param("reverseOrder"):
            events.reverse()
        size = int(self._get_param("maxResults") or 0) or 100
        first = _offset(self._get_param("nextToken"))
        page: dict[str, Any] = {"events": events[first : first + size]}
        if first + size < len(events):
            page["nextToken"] = base64.b64encode(json.dumps(first + size).encode()).decode()
        return ActionResult(page)

    replace(responses.StepFunctionResponse, "get_execution_history", get_execution_history)


def history_can_leave_out_data(replace: _Replace) -> None:
    """Patch: Remove inputs and outputs from the events.

    Defect: GetExecutionHistory ignores includeExecutionData=False.
    """
    original: Any = responses.StepFunctionResponse.get_execution_history

    def get_execution_history(self: Any) -> ActionResult:
        page: dict[str, Any] = original(self).result
        if self._get_param("includeExecutionData", if_none=True):
            return ActionResult(page)
        return ActionResult({**page, "events": [_without_data(event) for event in page["events"]]})

    replace(responses.StepFunctionResponse, "get_execution_history", get_execution_history)


def _without_data(event: dict[str, Any]) -> dict[str, Any]:
    return {name: _bare(value) if isinstance(value, dict) else value for name, value in event.items()}


def _bare(details: Any) -> dict[str, Any]:
    return {name: value for name, value in details.items() if name not in _EXECUTION_DATA}


def _offset(token: str | None) -> int:
    if token is None:
        return 0
    try:
        return int(base64.b64decode(token, validate=True))
    except (binascii.Error, ValueError):
        raise api.InvalidToken from None


PATCHES = (
    definitions_are_parsed_once,
    definitions_are_read_apart,
    names_are_made_up_and_unique,
    inputs_are_checked,
    errors_carry_their_code,
    ends_are_final_and_reported,
    stopping_is_immediate,
    executions_are_never_redriven,
    describing_tells_all,
    history_comes_in_pages,
    history_can_leave_out_data,
)
