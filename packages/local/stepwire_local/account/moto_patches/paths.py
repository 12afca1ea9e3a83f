"""Patches of JSONPath and of what is compared: what a path gives, where the context object may be read, and times."""
# ruff: noqa: SLF001 - the defects are in moto's private attributes

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, cast

from jsonpath_ng import ext  # pyright: ignore[reportMissingTypeStubs]
from jsonpath_ng.ext.parser import parse  # pyright: ignore[reportMissingTypeStubs]
from jsonpath_ng.jsonpath import Child, Fields, Index, Root, This  # pyright: ignore[reportMissingTypeStubs]
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEventException
from moto.stepfunctions.parser.asl.component.common.path import result_path
from moto.stepfunctions.parser.asl.component.common.string.string_expression import (
    StringContextPath,
    StringVariableSample,
)
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison_func import (
    ComparisonFuncStringVariableSample,
    ComparisonFuncValue,
)
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison_operator_type import (
    ComparisonOperatorType,
)
from moto.stepfunctions.parser.asl.component.state.choice.comparison.comparison_variable import ComparisonVariable
from moto.stepfunctions.parser.asl.component.state.choice.comparison.operator.factory import OperatorFactory
from moto.stepfunctions.parser.asl.component.state.choice.comparison.operator.implementations.is_operator import (
    IsTimestamp,
)
from moto.stepfunctions.parser.asl.component.state.choice.comparison.variable import NoSuchVariable
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.timestamp import Timestamp
from moto.stepfunctions.parser.asl.parse import asl_parser  # it imports every module that reads paths
from moto.stepfunctions.parser.asl.utils import json_path

from stepwire_local.account.moto_patches.branches import failure, runtime_error

_Replace = Callable[[object, str, object], None]

_CONTEXT: Final = "$$"
_FILTER: Final = "[?"
_IS_PRESENT: Final = ComparisonOperatorType.IsPresent
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def definite_paths_give_one_value(replace: _Replace) -> None:
    """Patch: Give the value for a path that can match once only, and a list for any other.

    Defect: `$.a[0].b` gives a list of one, so that a Choice on it never matches. AWS gives the value. moto decides by
    the first match instead of the path: since its issue 7825, a match below an index counts as one of many. A path with
    a wildcard, a slice, a filter or `..` gives a list in AWS, even of one match; there moto unpacks `$..b`.
    """
    assert asl_parser  # noqa: S101  # imported for what it imports
    original = json_path.extract_json

    def extract_json(path: str, data: Any) -> Any:
        expression = _parsed(path)
        values = _found(expression, data)
        if not _is_definite(expression):
            return values if values or _FILTER in path else original(path, data)
        if not values:
            raise json_path.NoSuchJsonPathError(json_path=path, data=data)
        return values[0]

    for module in [module for name, module in sys.modules.items() if name.startswith("moto.stepfunctions")]:
        if getattr(module, "extract_json", None) is original:
            replace(module, "extract_json", extract_json)


@lru_cache(maxsize=1024)
def _parsed(path: str) -> Any:
    return cast("Any", parse)(path)


def _found(expression: Any, data: Any) -> list[Any]:
    try:
        return [found.value for found in expression.find(data)]
    except (IndexError, KeyError, TypeError):  # an index into what is no array
        return []


def _is_definite(expression: Any) -> bool:
    """Return whether a path can match at most once."""
    if isinstance(expression, Child):
        parts = cast("Any", expression)
        return _is_definite(parts.left) and _is_definite(parts.right)
    if isinstance(expression, Fields):
        names: tuple[str, ...] = cast("Any", expression).fields
        return len(names) == 1 and names[0] != "*"
    if isinstance(expression, Index):
        return len(cast("Any", expression).indices) == 1
    return isinstance(expression, Root | This)


def choices_compare_with_the_context(replace: _Replace) -> None:
    """Patch: Read the value from the context object.

    Defect: A Choice rule such as `"NumericEqualsPath": "$$.Execution.Input.limit"` looks for the path in the input, and
    fails.
    """
    original: Any = cast("Any", ComparisonFuncValue)._eval_body

    def _eval_body(self: Any, env: Any) -> None:
        if not (isinstance(self.value, str) and self.value.startswith(_CONTEXT) and _compares_paths(self)):
            original(self, env)
            return
        # As moto does for variables: the operator reads `$` of the value that lies below the one to compare.
        variable = env.stack.pop()
        StringContextPath(self.value).eval(env=env)
        env.stack.append(variable)
        cast("Any", OperatorFactory).get(self.operator_type).eval(env=env, value="$")
        del env.stack[-2]

    replace(ComparisonFuncValue, "_eval_body", _eval_body)


def choices_need_their_paths(replace: _Replace) -> None:
    """Patch: Fail with States.Runtime for good, unless the rule asks whether it is present.

    Defect: A Choice rule about a path that the input does not have matches nothing, so that the Default is taken;
    the error of one that compares with such a path is caught by States.ALL. In AWS both end the execution. What a
    variable does not have is taken for null.
    """

    def _eval_body(self: Any, env: Any) -> None:
        self.variable.eval(env)
        path, rule = self.variable.string_sampler, self.comparison_function
        if _is_undefined(path, env):
            env.stack[-1] = NoSuchVariable(path.literal_value)
        if isinstance(env.stack[-1], NoSuchVariable) and rule.operator_type != _IS_PRESENT:
            raise _invalid_path(env, path.literal_value)
        if isinstance(rule, ComparisonFuncStringVariableSample) and _is_undefined(rule.string_variable_sample, env):
            raise _invalid_path(env, rule.string_variable_sample.literal_value)
        try:
            rule.eval(env)
        except (json_path.NoSuchJsonPathError, FailureEventException) as error:
            raise _invalid_path(env, rule.value) from error

    replace(ComparisonVariable, "_eval_body", _eval_body)


def _is_undefined(path: Any, env: Any) -> bool:
    """Return whether a path in a variable leads to nothing, which moto takes for null."""
    if not isinstance(path, StringVariableSample):
        return False
    StringVariableSample(path.query_language_mode, f"$exists({path.expression})").eval(env)
    return not env.stack.pop()


def _invalid_path(env: Any, path: str) -> FailureEventException:
    cause = f"Invalid path '{path}': The choice state's condition path references an invalid value."  # AWS's words
    return failure(env, runtime_error(), cause)


def times_may_have_fractions_and_offsets(replace: _Replace) -> None:
    """Patch: Read every time of RFC 3339.

    Defect: For a Choice, a time with fractions of a second, such as `$$.Execution.StartTime`, or with an offset is no
    timestamp. For a Wait, one with an offset is none either, and one in UTC is taken as local: it waits hours too long
    or not at all.
    """

    def local_time(timestamp: str) -> datetime | None:
        moment = _time(timestamp)
        return None if moment is None else moment.astimezone().replace(tzinfo=None)  # moto compares it with such a one

    replace(IsTimestamp, "string_to_timestamp", staticmethod(_time))
    replace(Timestamp, "_from_timestamp_string", staticmethod(local_time))


def _time(text: str) -> datetime | None:
    with suppress(TypeError, ValueError):
        return datetime.fromisoformat(text) if _TIME.fullmatch(text) else None
    return None


def _compares_paths(rule: Any) -> bool:
    return str(rule.operator_type).endswith("Path")


def paths_are_parsed_once(replace: _Replace) -> None:
    """Patch: Cache the expression of each path.

    Defect: Each event for a queue parses eight paths again, and each result the path where it goes: a parser is built
    for each, which takes 5 milliseconds.
    """
    for module in (ext, result_path):
        replace(module, "parse", lru_cache(maxsize=1024)(cast("Any", module).parse))


PATCHES = (
    definite_paths_give_one_value,
    choices_compare_with_the_context,
    choices_need_their_paths,
    times_may_have_fractions_and_offsets,
    paths_are_parsed_once,
)
