"""Patches of task tokens: SendTaskSuccess, SendTaskFailure, SendTaskHeartbeat."""
# ruff: noqa: SLF001 - what is to be mended lies inside

import json
import threading
from collections.abc import Callable
from typing import Any

from moto.core.exceptions import AWSError
from moto.core.responses import EmptyResult
from moto.stepfunctions import responses
from moto.stepfunctions.exceptions import InvalidToken
from moto.stepfunctions.parser.asl.eval.callback.callback import CallbackOutcomeFailure, CallbackOutcomeSuccess

_Replace = Callable[[object, str, object], None]

_lock = threading.Lock()


class _InvalidOutput(AWSError):
    TYPE = "InvalidOutput"


class _TaskTimedOut(AWSError):
    TYPE = "TaskTimedOut"


def tokens_count_once(replace: _Replace) -> None:
    """Tokens: causes are dropped; an output that is not JSON and a second answer are taken; old tokens are unknown."""

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
    """Heartbeats: one execution that is just starting makes all fail; a task without HeartbeatSeconds refuses them."""

    def send_task_heartbeat(self: Any) -> EmptyResult:
        _waiting(self.stepfunction_backend, self._get_param("taskToken")).notify_heartbeat()
        return EmptyResult()

    replace(responses.StepFunctionResponse, "send_task_heartbeat", send_task_heartbeat)


def _answer(self: Any, outcome: Any) -> EmptyResult:
    with _lock:
        _waiting(self.stepfunction_backend, outcome.callback_id).notify(outcome)
    return EmptyResult()


def _waiting(backend: Any, token: str) -> Any:
    """Return the callback that waits for this token.

    Raises:
        TaskTimedOut: it was answered, or its task or execution has ended.
        InvalidToken: nobody ever issued it.
    """
    for execution in backend._get_executions():
        program = execution.exec_worker.env if execution.exec_worker else None
        callback = program.callback_pool_manager.get(token) if program else None
        if callback is None:
            continue
        if execution.status != "RUNNING" or callback._notify_event.is_set():
            raise _TaskTimedOut("Task Timed Out: 'Provided task does not exist anymore'")
        return callback
    raise InvalidToken


def _check_json(output: str) -> None:
    try:
        json.loads(output)
    except ValueError:
        raise _InvalidOutput("Invalid Output: 'not JSON'") from None


PATCHES = (tokens_count_once, heartbeats_find_their_task)
