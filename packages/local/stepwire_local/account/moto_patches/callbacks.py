"""Patches of task tokens: SendTaskSuccess, SendTaskFailure, SendTaskHeartbeat."""
# ruff: noqa: SLF001 - the defects are in moto's private attributes

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from moto.core.exceptions import AWSError
from moto.core.responses import EmptyResult
from moto.stepfunctions import responses
from moto.stepfunctions.exceptions import InvalidToken
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_callback import (
    StateTaskServiceCallback,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task import StateTask
from moto.stepfunctions.parser.asl.eval.callback.callback import (
    CallbackEndpoint,
    CallbackOutcomeFailure,
    CallbackOutcomeSuccess,
    HeartbeatTimeoutError,
)

_Replace = Callable[[object, str, object], None]

_lock = threading.Lock()


class _InvalidOutput(AWSError):
    TYPE = "InvalidOutput"


class _TaskTimedOut(AWSError):
    TYPE = "TaskTimedOut"


def tokens_count_once(replace: _Replace) -> None:
    """Patch: Check the output, accept one answer per token, and answer a used token with TaskTimedOut.

    Defect: SendTaskSuccess and SendTaskFailure drop the cause, accept output that is not JSON, accept a second
    answer, and report a used token as unknown.
    """

    def send_task_success(self: Any) -> EmptyResult:
        token, output = self._get_param("taskToken"), self._get_param("output")
        _check_json(output)
        return _answer(self, CallbackOutcomeSuccess(callback_id=token, output=output))

    def send_task_failure(self: Any) -> EmptyResult:
        token, error, cause = self._get_param("taskToken"), self._get_param("error"), self._get_param("cause")
        return _answer(self, CallbackOutcomeFailure(callback_id=token, error=error, cause=cause))

    replace(responses.StepFunctionResponse, "send_task_success", send_task_success)
    replace(responses.StepFunctionResponse, "send_task_failure", send_task_failure)


def heartbeats_find_their_task(replace: _Replace) -> None:
    """Patch: Look for the token in the executions that have started, and accept a heartbeat of any waiting task.

    Defect: SendTaskHeartbeat fails while any execution is starting, and for each task without HeartbeatSeconds.
    """

    def send_task_heartbeat(self: Any) -> EmptyResult:
        _waiting(self.stepfunction_backend, self._get_param("taskToken")).notify_heartbeat()
        return EmptyResult()

    replace(responses.StepFunctionResponse, "send_task_heartbeat", send_task_heartbeat)


def tokens_live_for_one_attempt(replace: _Replace) -> None:
    """Patch: Create a token for each attempt, and invalidate it when the attempt ends.

    Defect: A retried task gets the used token of its previous attempt, and an answer after the task's timeout may
    be accepted.
    """
    service: Any = StateTaskServiceCallback
    original = service._evaluate_with_timeout

    def _evaluate_with_timeout(self: Any, env: Any) -> None:
        callback = _callback_of_this_attempt(env)
        if callback is not None:
            callback.attempt = env
        try:
            original(self, env)
        finally:
            if callback is not None:
                callback.interrupt_all()

    replace(service, "_evaluate_with_timeout", _evaluate_with_timeout)


def _callback_of_this_attempt(env: Any) -> Any:
    """Return the callback for the task's token, with a new token if the last one is spent; None without a token."""
    context, pool = env.states.context_object, env.callback_pool_manager
    task = context.context_object_data.get("Task")
    callback = pool.get(task["Token"]) if task else None
    if callback is not None and callback._notify_event.is_set():
        return pool.add(context.update_task_token())
    return callback


def early_answers_end_the_wait(replace: _Replace) -> None:
    """Patch: End the wait at once if the token has already been answered.

    Defect: If a function answers the token before it returns, the state keeps waiting until a heartbeat is missed.
    """
    original: Any = CallbackEndpoint.setup_heartbeat_endpoint

    def setup_heartbeat_endpoint(self: Any, heartbeat_seconds: int) -> Any:
        endpoint = original(self, heartbeat_seconds)
        if self._notify_event.is_set():
            endpoint.notify()
        return endpoint

    replace(CallbackEndpoint, "setup_heartbeat_endpoint", setup_heartbeat_endpoint)


def missed_heartbeats_have_two_names(replace: _Replace) -> None:
    """Patch: Let the error of a missed heartbeat match States.HeartbeatTimeout too.

    Defect: Retry and Catch for States.HeartbeatTimeout match nothing, only those for States.Timeout.
    """
    for owner in (StateTask, StateTaskService):
        replace(owner, "_get_timed_out_failure_event", _with_two_names(owner))


def _with_two_names(owner: Any) -> Callable[[Any, Any], Any]:
    original = owner._get_timed_out_failure_event

    def _get_timed_out_failure_event(self: Any, env: Any) -> Any:
        event = original(self, env)
        if isinstance(sys.exc_info()[1], HeartbeatTimeoutError):
            event.error_name = _MissedHeartbeat(StatesErrorNameType.StatesTimeout)
        return event

    return _get_timed_out_failure_event


class _MissedHeartbeat(StatesErrorName):
    """States.Timeout, because of a heartbeat."""

    def matches(self, error_name: str | None) -> bool:
        return error_name == StatesErrorNameType.StatesHeartbeatTimeout.to_name() or super().matches(error_name)

    def __eq__(self, other: object) -> bool:
        # Python asks a subclass with a method of its own before the class of the name that a definition has.
        return isinstance(other, ErrorName) and self.matches(other.error_name)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # as that of the class above


def _answer(self: Any, outcome: Any) -> EmptyResult:
    with _lock:
        _waiting(self.stepfunction_backend, outcome.callback_id).notify(outcome)
    return EmptyResult()


def _waiting(backend: Any, token: str) -> Any:
    """Return the callback that waits for this token.

    Raises:
        TaskTimedOut: the token was answered, or its task or execution has ended.
        InvalidToken: the token was never issued.
    """
    for execution in backend._get_executions():
        program = execution.exec_worker.env if execution.exec_worker else None
        callback = program.callback_pool_manager.get(token) if program else None
        if callback is None:
            continue
        if execution.status != "RUNNING" or not _is_awaited(callback):
            raise _TaskTimedOut("Task Timed Out: 'Provided task does not exist anymore'")
        return callback
    raise InvalidToken


def _is_awaited(callback: Any) -> bool:
    """Return whether an answer still counts: there is none yet, and no parallel branch has failed."""
    attempt = getattr(callback, "attempt", None)
    return not callback._notify_event.is_set() and (attempt is None or attempt.is_running())


def _check_json(output: str) -> None:
    try:
        json.loads(output)
    except ValueError:
        raise _InvalidOutput("Invalid Output: 'not JSON'") from None


PATCHES = (
    tokens_count_once,
    heartbeats_find_their_task,
    tokens_live_for_one_attempt,
    early_answers_end_the_wait,
    missed_heartbeats_have_two_names,
)
