"""Patches of the names of errors: those that definitions invent, and those that leave a branch or an item."""

from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.asl.component.common.error_name.custom_error_name import CustomErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import iteration_worker
from moto.stepfunctions.parser.asl.component.state.exec.state_parallel import branches_decl

_Replace = Callable[[object, str, object], None]


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


class FinalError(str):
    """The name of an error that nothing catches: it stays one on its way out of branches."""

    __slots__ = ()


def final(name: Any, error: FinalError) -> Any:
    """Return the name of an error, made final."""
    name.error_name = error
    return name


def _error_name(error_name: str | None) -> ErrorName:
    if error_name is not None and error_name in _STATES_ERRORS:
        name = StatesErrorName.from_name(error_name)
        return final(name, error_name) if isinstance(error_name, FinalError) else name
    return CustomErrorName(error_name)


_STATES_ERRORS = frozenset(kind.to_name() for kind in StatesErrorNameType)

PATCHES = (
    error_names_may_be_anything,
    errors_of_branches_keep_their_names,
)
