"""Patches of the names of errors: of those that definitions invent, of AWS's own, and of those that leave a branch."""
# ruff: noqa: SLF001 - the defects are in moto's private attributes

from collections.abc import Callable
from typing import Any, Final, cast

from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.string.string_expression import StringIntrinsicFunction
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison import ConditionStringJSONata
from moto.stepfunctions.parser.asl.component.state.choice.state_choice import StateChoice
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import iteration_worker
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel import branches_decl
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails

_Replace = Callable[[object, str, object], None]

_RUNTIME: Final = StatesErrorNameType.StatesRuntime
# The words are those of AWS.
_NO_NEXT_STATE: Final = "Failed to transition out of the state. The state does not point to a next state."


def errors_of_branches_keep_their_names(replace: _Replace) -> None:
    """Patch: Keep the name of the error.

    Defect: In Parallel and Map, an error whose name begins with States., such as States.Timeout, becomes
    States.Runtime, which no Catch matches.
    """
    for module in (branches_decl, iteration_worker):
        replace(module, "CustomErrorName", _error_name)


def error_names_may_be_anything(replace: _Replace) -> None:
    """Patch: Accept such a name: a Fail state reports it, and Retry and Catch match it.

    Defect: A definition whose Fail, Retry or Catch has a name of its own with the prefix States. is refused, or fails
    as it comes there. Published workflows rely on such names.
    """

    def __init__(self: Any, error_name: str | None) -> None:  # noqa: N807  # it replaces the class's own
        ErrorName.__init__(self, error_name=error_name)

    replace(CustomErrorName, "__init__", __init__)


def choices_fail_with_their_errors(replace: _Replace) -> None:
    """Patch: Fail with States.Runtime for good, and with States.QueryEvaluationError.

    Defect: A Choice that matches no rule fails with an error that States.ALL catches, and with words of moto. AWS ends
    the execution so, although its documentation names States.NoChoiceMatched. One whose Condition is neither true nor
    false fails with States.Runtime.
    """
    choose = cast("Any", StateChoice)._eval_state

    def _eval_state(self: Any, env: Any) -> None:
        try:
            choose(self, env)
        except RuntimeError as error:
            raise failure(env, runtime_error(), _NO_NEXT_STATE) from error

    replace(StateChoice, "_eval_state", _eval_state)
    kind = StatesErrorNameType.StatesQueryEvaluationError
    _rename(replace, ConditionStringJSONata, kind, (RuntimeError,))


def intrinsic_functions_fail_with_their_error(replace: _Replace) -> None:
    """Patch: Fail with States.IntrinsicFailure.

    Defect: An intrinsic function that fails, as States.ArrayGetItem with an index that is too large, fails with
    States.Runtime.
    """
    faults = (ArithmeticError, LookupError, TypeError, ValueError)
    _rename(replace, StringIntrinsicFunction, StatesErrorNameType.StatesIntrinsicFailure, faults)


def _rename(replace: _Replace, owner: Any, kind: StatesErrorNameType, faults: tuple[type[Exception], ...]) -> None:
    """Let the faults of an evaluation be errors of Step Functions with this name."""
    original = owner._eval_body

    def named(self: Any, env: Any) -> None:
        try:
            original(self, env)
        except faults as fault:
            raise failure(env, StatesErrorName(kind), str(fault)) from fault

    replace(owner, "_eval_body", named)


def failure(env: Any, name: ErrorName, cause: str) -> FailureEventException:
    """Return an error of a state, as its history has it."""
    failed = TaskFailedEventDetails(error=name.error_name, cause=cause)
    details = cast("Any", EventDetails)(taskFailedEventDetails=failed)
    return FailureEventException(FailureEvent(env, name, HistoryEventType.TaskFailed, details))


class FinalError(str):
    """The name of an error that nothing catches: it stays one on its way out of branches."""

    __slots__ = ()


def runtime_error() -> Any:
    """Return the name States.Runtime as one that nothing catches."""
    return _final(StatesErrorName(_RUNTIME), FinalError(_RUNTIME.to_name()))


def _final(name: Any, error: FinalError) -> Any:
    """Return the name of an error, made final."""
    name.error_name = error
    return name


def _error_name(error_name: str | None) -> ErrorName:
    if error_name is not None and error_name in _STATES_ERRORS:
        name = StatesErrorName.from_name(error_name)
        return _final(name, error_name) if isinstance(error_name, FinalError) else name
    return CustomErrorName(error_name)


_STATES_ERRORS = frozenset(kind.to_name() for kind in StatesErrorNameType)

PATCHES = (
    choices_fail_with_their_errors,
    intrinsic_functions_fail_with_their_error,
    error_names_may_be_anything,
    errors_of_branches_keep_their_names,
)
