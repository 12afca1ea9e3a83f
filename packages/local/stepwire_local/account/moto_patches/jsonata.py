"""Patch of JSONata: evaluate expressions and variables with a Python engine; moto expects a Java one.

moto writes every variable into the text of the expression. The patch takes them out before parsing: variables can hold
256 KiB, which a parser in Python needs seconds for.
"""
# ruff: noqa: SLF001 - the defects are in moto's private attributes

import hashlib
import json
import random
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, cast

import jsonata as engine  # pyright: ignore[reportMissingTypeStubs]
from jsonata.utils import Utils  # pyright: ignore[reportMissingTypeStubs]
from moto.stepfunctions.parser.api import EvaluationFailedEventDetails, HistoryEventType
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import FailureEvent, FailureEventException
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import StatesErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import StatesErrorNameType
from moto.stepfunctions.parser.asl.component.common.string import string_expression
from moto.stepfunctions.parser.asl.eval import states, variable_store
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.jsonata import jsonata as moto_jsonata
from moto.stepfunctions.parser.asl.static_analyser import variable_references_static_analyser
from moto.stepfunctions.parser.asl.utils.encoding import to_json_str

_Replace = Callable[[object, str, object], None]

# `(` or `$exists((`, then `$name:=<JSON>;` for each variable, then the expression of the workflow.
_OPENING = re.compile(r"(?:\$(?:exists|type)\()?\(")
_VARIABLE = re.compile(r"\$(\w+):=")
_ALGORITHMS = {"MD5": "md5", "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512"}
_REFERENCE: re.Pattern[str] = cast("Any", moto_jsonata)._PATTERN_VARIABLE_REFERENCE
_decoder = json.JSONDecoder()


def expressions_are_evaluated(replace: _Replace) -> None:
    """Patch: Evaluate expressions with an engine in Python.

    Defect: moto has no JSONata engine without Java; it does not escape strings in variables; $uuid and $hash return
    an error text.
    """
    replace(moto_jsonata, "_eval_jsonata", _evaluate)
    replace(string_expression, "get_intrinsic_functions_declarations", _no_declarations)
    for module in (moto_jsonata, states, variable_store):
        replace(module, "encode_jsonata_variable_declarations", _encode)


def expressions_may_name_their_context(replace: _Replace) -> None:
    """Patch: Leave `$` and `$$` to the engine, to which they are nothing at the top of an expression.

    Defect: `$states.input.prices[$ > 5]`, where `$` is the item, fails the execution with a Python error.
    """

    def references(expression: str) -> set[str]:
        found: list[str] = _REFERENCE.findall(expression)
        return set(filter(None, found)) - {"$", "$$"}

    for module in (string_expression, variable_references_static_analyser):
        replace(module, "extract_jsonata_variable_references", references)


def failed_expressions_have_their_error(replace: _Replace) -> None:
    """Patch: Raise States.QueryEvaluationError.

    Defect: A JSONata expression that fails raises States.Runtime; in AWS it raises States.QueryEvaluationError.
    """
    evaluation: Any = string_expression.StringJSONata
    original = evaluation._eval_body

    def _eval_body(self: Any, env: Any) -> None:
        try:
            original(self, env)
        except moto_jsonata.JSONataException as error:
            raise FailureEventException(_failure(env, f"The JSONata expression failed: {error.details}")) from error

    replace(evaluation, "_eval_body", _eval_body)


def _failure(env: Any, cause: str) -> FailureEvent:
    name = StatesErrorName(typ=StatesErrorNameType.StatesQueryEvaluationError)
    failed = EvaluationFailedEventDetails(cause=cause, error=name.error_name)
    details = cast("Any", EventDetails)(evaluationFailedEventDetails=failed)
    return FailureEvent(env, name, HistoryEventType.EvaluationFailed, details)


def _encode(bindings: Mapping[str, Any]) -> str:
    return "".join(f"{name}:={to_json_str(value, separators=(',', ':'))};" for name, value in bindings.items())


def _no_declarations(variable_references: set[str]) -> str:  # noqa: ARG001  # their signature
    return ""


def _evaluate(text: str) -> Any:
    expression, variables = _split(text)
    try:
        compiled = engine.Jsonata(expression)
        return json.loads(json.dumps(compiled.evaluate(None, {**_FUNCTIONS, **variables}), default=_function_type))
    except (engine.JException, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise moto_jsonata.JSONataException("UNKNOWN", str(error)) from error


def _split(text: str) -> tuple[str, dict[str, Any]]:
    """Split the text that moto made into the expression and its variables."""
    opening = _OPENING.match(text)
    if opening is None:
        return text, {}
    variables: dict[str, Any] = {}
    position = opening.end()
    while declaration := _VARIABLE.match(text, position):
        try:
            value, end = _decoder.raw_decode(text, declaration.end())
        except ValueError:
            break  # a variable that the expression itself declares
        if text[end : end + 1] != ";":
            break
        variables[declaration[1]] = Utils.NULL_VALUE if value is None else value
        position = end + 1
    return opening[0] + text[position:], variables


def _function_type(value: Any) -> Any:
    raise ValueError(f"a result of type {type(value).__name__} is not JSON")


def _partition(array: list[Any], size: float) -> list[Any]:
    return [array[first : first + int(size)] for first in range(0, len(array), int(size))]


def _refused(*_: object) -> None:
    raise ValueError("Step Functions does not support $eval; $parse reads JSON")


def _range(first: float, last: float, step: float) -> list[float]:
    return [first + index * step for index in range(int((last - first) / step) + 1)]


def _hash(value: object, algorithm: str = "SHA-1") -> str:
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    return hashlib.new(_ALGORITHMS[algorithm], text.encode()).hexdigest()


def _random(seed: float | None = None) -> float:
    return random.Random(seed).random()  # noqa: S311  # as in AWS, not for secrets


def _native(function: Callable[..., Any]) -> Any:
    return engine.Jsonata.JLambda(function)


_FUNCTIONS = {
    "eval": _native(_refused),
    "uuid": _native(lambda: str(uuid.uuid4())),
    "hash": _native(_hash),
    "parse": _native(json.loads),
    "partition": _native(_partition),
    "range": _native(_range),
    "random": _native(_random),
}

PATCHES = (expressions_are_evaluated, expressions_may_name_their_context, failed_expressions_have_their_error)
