"""Patches of Task states that nothing here can run: a stub answers, or the state fails and says how to give it one.

A task of a state machine that no stack has registered (`stepwire_local/stubs/owners.py`) is moto's own, unchanged.
"""
# ruff: noqa: SLF001 - moto's private methods decide what a task does

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from moto.stepfunctions.parser.api import HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import (
    ILLEGAL_CUSTOM_ERROR_PREFIX,
    CustomErrorName,
)
from moto.stepfunctions.parser.asl.component.common.error_name.error_equals_decl import ErrorEqualsDecl
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.state.exec.state_task import state_task_factory
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import state_task_service_factory
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.resource import ResourceCondition
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import StateTaskService
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_unsupported import (
    StateTaskServiceUnsupported,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task_activitiy import StateTaskActivity
from moto.stepfunctions.parser.asl.component.state.exec.state_task.state_task_lambda import StateTaskLambda
from moto.stepfunctions.parser.asl.eval.environment import Environment
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.mocking.mock_config import MockedResponseReturn

from stepwire_local.account import stub_machines, tasks
from stepwire_local.account.moto_patches.branches import FinalError, runtime_error
from stepwire_local.account.tasks import Task
from stepwire_local.stubs import owners
from stepwire_local.stubs.book import Call, Stub
from stepwire_local.stubs.names import suggested
from stepwire_local.stubs.owners import Owned
from stepwire_local.stubs.replies import Answer, Failure, Unusable

_Replace = Callable[[object, str, object], None]

_MACHINE_PARTS: Final = 7  # of an ARN; a version follows
_TASK_FAILED: Final = (HistoryEventType.TaskFailed, "taskFailedEventDetails")
_FUNCTION_FAILED: Final = (HistoryEventType.LambdaFunctionFailed, "lambdaFunctionFailedEventDetails")
_UNKNOWN: Final[type[Exception]] = cast("Any", state_task_service_factory).RecognitionException


@dataclass(frozen=True)
class _Asked:
    """A task of an execution, and the stub that answers for it."""

    task: Task
    owner: Owned
    stub: Stub


class Answered(dict[str, Any]):
    """The answer of a stub, which nothing changes any more."""


def stubs_answer_tasks(replace: _Replace) -> None:
    """Patch: Take the answer of the task's stub; without one, fail with States.Runtime and name the stub to give.

    Defect: A task of a service that is not simulated fails with words about moto or waits for a job that does not end.

    Ours: Stubs belong to this local stack; moto has mocked responses, in a file of their own form.
    """
    service, function = cast("Any", StateTaskService), cast("Any", StateTaskLambda)
    before, parameters = service._before_eval_execution, function._eval_parameters

    def _before_eval_execution(
        self: Any, env: Any, resource_runtime_part: Any, raw_parameters: Any, state_credentials: Any
    ) -> None:
        before(self, env, resource_runtime_part, raw_parameters, state_credentials)
        _decide(self, env, raw_parameters)

    def _eval_parameters(self: Any, env: Any) -> dict[str, Any]:
        found: dict[str, Any] = parameters(self, env)
        _decide(self, env, found)
        return found

    replace(StateTaskService, "_before_eval_execution", _before_eval_execution)
    replace(StateTaskLambda, "_eval_parameters", _eval_parameters)
    _use_the_mocked_mode(replace)


def _use_the_mocked_mode(replace: _Replace) -> None:
    """Let moto's own way to mock states carry the answers: it skips the call, and the wait for a job or a token."""
    is_mocked, response = Environment.is_mocked_mode, Environment.get_current_mocked_response

    def is_mocked_mode(self: Any) -> bool:
        return hasattr(self, "stubbed") or is_mocked(self)

    def get_current_mocked_response(self: Any) -> Any:
        if not hasattr(self, "stubbed"):
            return response(self)
        asked: _Asked = self.stubbed
        return MockedResponseReturn(0, 0, _result(asked.task, _answer(self, asked)))

    replace(Environment, "is_mocked_mode", is_mocked_mode)
    replace(Environment, "get_current_mocked_response", get_current_mocked_response)


def activities_have_stubs(replace: _Replace) -> None:
    """Patch: Take the answer of the activity's stub; without one, fail and name the stub to give.

    Defect: An activity never exists, and nothing catches the error that says so.

    Ours: Stubs belong to this local stack.
    """
    activity = cast("Any", StateTaskActivity)
    original, from_error = activity._eval_execution, activity._from_error

    def _eval_execution(self: Any, env: Any) -> None:
        if owners.owned(_machine(env)) is None:
            original(self, env)
            return
        given = self._eval_parameters(env=env)
        _decide(self, env, {"Input": given})
        env.stack.append(_answer(env, env.stubbed))

    def _from_error(self: Any, env: Any, ex: Exception) -> Any:
        return ex.failure_event if isinstance(ex, FailureEventException) else from_error(self, env, ex)

    replace(StateTaskActivity, "_eval_execution", _eval_execution)
    replace(StateTaskActivity, "_from_error", _from_error)


def any_service_may_be_named(replace: _Replace) -> None:
    """Patch: Accept the state, for a stub to answer.

    Defect: A definition that names a service moto does not know, such as `http:invoke`, is refused, and .sync of
    services like Athena too.
    """
    original: Any = cast("Any", state_task_factory).state_task_service_for
    initialise: Any = StateTaskServiceUnsupported.__init__

    def state_task_service_for(service_name: str) -> Any:
        try:
            return original(service_name)
        except _UNKNOWN:
            return StateTaskServiceUnsupported()

    def __init__(self: Any) -> None:  # noqa: N807  # theirs
        initialise(self)
        self._supported_integration_patterns = {
            ResourceCondition.WaitForTaskToken,
            ResourceCondition.Sync,
            ResourceCondition.Sync2,
        }

    replace(state_task_factory, "state_task_service_for", state_task_service_for)
    replace(StateTaskServiceUnsupported, "__init__", __init__)


def runtime_errors_are_final(replace: _Replace) -> None:
    """Patch: Let States.ALL match no States.Runtime of a task that cannot run here.

    Defect: States.ALL retries and catches States.Runtime, which in AWS always ends the execution. moto gives that name
    to errors that have others in AWS too, so not all of them are final.

    Ours: It is about tasks without a stub; moto must first give the other errors their names.
    """
    original: Any = cast("Any", ErrorEqualsDecl)._eval_body

    def _eval_body(self: Any, env: Any) -> None:
        name = env.stack[-1]
        if isinstance(name.error_name, FinalError) and name not in self.error_names:
            env.stack.pop()
            env.stack.append(False)
            return
        original(self, env)

    replace(ErrorEqualsDecl, "_eval_body", _eval_body)


def _decide(state: Any, env: Any, parameters: Mapping[str, Any]) -> None:
    """Note the stub that answers for a task of an execution.

    Raises:
        FailureEventException: it has none, and cannot run here.
    """
    asked = _asked(state, env, parameters)
    if asked is not None:
        env.stubbed = asked


def answer_for(state: Any, env: Any, parameters: Mapping[str, Any]) -> Answer | None:
    """Return what the stub answers for what reads the items of a Map; None if it has none and can run here.

    Raises:
        FailureEventException: it has none and cannot run here, or the stub throws.
    """
    asked = _asked(state, env, parameters)
    return None if asked is None else Answer(_answer(env, asked))


def _asked(state: Any, env: Any, parameters: Mapping[str, Any]) -> _Asked | None:
    whose = owners.owned(_machine(env))
    if whose is None:
        return None
    context = env.states.context_object.context_object_data
    task = Task(_machine(env), context["State"]["Name"], state.resource.resource_arn, parameters)
    is_whole = task.resource == stub_machines.RESOURCE
    stub = whose.book.find([*whose.names, task.machine] if is_whole else tasks.names_of(task))
    if stub is not None:
        return _Asked(task, whose, stub)
    if task.nested is not None:
        stub_machines.ensure(task.nested, whose.book)
    if is_whole:
        raise _failed(env, task, Unusable(f"{whose.name} has no stub: {suggested(whose.name)}"))
    reason = tasks.problem(task, env.aws_execution_details.role_arn)
    if reason is not None:
        raise _failed(env, task, Unusable(f"{reason}: {suggested(tasks.best_name(task))}"))
    return None


def _machine(env: Any) -> str:
    arn: str = env.states.context_object.context_object_data["StateMachine"]["Id"]
    return ":".join(arn.split(":")[:_MACHINE_PARTS])


def _answer(env: Any, asked: _Asked) -> Any:
    outcome = asked.owner.book.ask(asked.stub, Call(_given(asked.task), _context(env, asked), env.is_running))
    if isinstance(outcome, Failure | Unusable):
        raise _failed(env, asked.task, outcome)
    return outcome.value


def _given(task: Task) -> Any:
    """Return the input of a stub: what the function or the activity gets, else the evaluated parameters."""
    if task.operation == "lambda.invoke":
        return _plain(task.parameters.get("Payload"))
    if task.resource == stub_machines.RESOURCE or task.action == "activity":
        return task.parameters["Input"]
    return task.parameters


def _plain(payload: Any) -> Any:
    return json.loads(payload) if isinstance(payload, bytes) else payload


def _context(env: Any, asked: _Asked) -> dict[str, Any]:
    """Return what a script may want to know beside its input."""
    data = env.states.context_object.context_object_data
    return {
        "name": asked.stub.name,
        "action": asked.task.action,
        "resource": asked.task.resource,
        "parameters": asked.task.parameters,
        "state_machine": asked.owner.name,
        "state": asked.task.state,
        "attempt": data["State"]["RetryCount"],
        "execution": data["Execution"]["Id"],
        "token": data["Task"]["Token"] if asked.task.awaits_token else None,
    }


def _result(task: Task, answer: Any) -> Any:
    """Return the result of a task whose stub gave an answer: what a function returns is the payload of its result."""
    if task.operation == "lambda.invoke" and not task.awaits_token:
        return {"ExecutedVersion": "$LATEST", "Payload": answer, "StatusCode": 200}
    if task.operation.startswith("stepfunctions.") and isinstance(answer, dict):
        return Answered(cast("dict[str, Any]", answer))
    return answer


def _failed(env: Any, task: Task, outcome: Failure | Unusable) -> FailureEventException:
    name, cause = _name_and_cause(outcome)
    is_function = task.operation == "lambda.invoke" and not task.resource.startswith("arn:aws:states:")
    kind, details = _FUNCTION_FAILED if is_function else _TASK_FAILED
    described = {"error": name.error_name, "cause": cause}
    event: Any = cast("Any", EventDetails)(**{details: described})
    return FailureEventException(FailureEvent(env, name, kind, event))


def _name_and_cause(outcome: Failure | Unusable) -> tuple[Any, str]:
    if isinstance(outcome, Unusable):
        return runtime_error(), outcome.reason
    if not outcome.error.startswith(ILLEGAL_CUSTOM_ERROR_PREFIX):
        return CustomErrorName(outcome.error), outcome.cause
    try:
        return StatesErrorName.from_name(outcome.error), outcome.cause
    except ValueError:
        return runtime_error(), f"the stub throws {outcome.error}, which is no error of Step Functions"


PATCHES = (stubs_answer_tasks, activities_have_stubs, any_service_may_be_named, runtime_errors_are_final)
