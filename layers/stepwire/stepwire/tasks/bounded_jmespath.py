"""The JMESPath library, with a charge for each step and a check of each expression before it is used.

Imported when the first expression is met (`expressions`): most tools have none. Work is charged before it is done,
or as it is done.
"""

import difflib
import math
from typing import Any, Final, cast

from jmespath.exceptions import JMESPathError, JMESPathTypeError
from jmespath.functions import Functions
from jmespath.parser import Parser
from jmespath.visitor import TreeInterpreter

from stepwire.json_text import Json
from stepwire.tasks.expression_budget import LARGEST_VALUE, Budget, EvaluationFault

_MOST_NODES: Final = 300
_DEEPEST: Final = 40
_LARGEST_INTEGER: Final = 2**53 - 1
_PER_STEP: Final = 200  # bytes that are compared, copied or written in one step
# What makes a new value; all others return a part of one.
_MAKERS: Final = frozenset(
    {
        *("projection", "filter_projection", "value_projection", "flatten", "slice"),
        *("multi_select_list", "multi_select_dict", "function_expression"),
    }
)
_READ_WHOLE: Final = frozenset({"to_string", "contains", "reverse", "starts_with", "ends_with"})
# Steps for each element of a list that a function is given.
_STEPS: Final = {"sort": 1.0, "join": 0.5, "sum": 0.3, "avg": 0.3, "max": 0.3, "min": 0.3, "contains": 0.3}
_FUNCTIONS: Final[dict[str, Any]] = cast(Any, Functions).FUNCTION_TABLE
_Interpreter: Any = TreeInterpreter


def parsed(text: str) -> Any:
    """Return the tree of an expression.

    Raises:
        ValueError: it is none, has too many parts, or calls a function that there is not; the message says which.
    """
    try:
        node = cast(Any, Parser().parse(text)).parsed
    except JMESPathError as error:
        raise ValueError(f"{text!r} is no JMESPath expression: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise ValueError("the expression is nested too deeply") from None
    _check(node)
    return node


def value_of(node: Any, output: Json, budget: Budget) -> Json:
    """Return the value of an expression's tree for an output.

    Raises:
        EvaluationFault: it has none, or costs too much.
    """
    try:
        value = Bounded(budget).visit(node, output)
    except JMESPathTypeError as error:
        problem: Any = error
        takes = " or ".join(map(str, problem.expected_types))
        raise EvaluationFault(f"{problem.function_name}() takes {takes}, and was given {problem.actual_type}") from None
    except (JMESPathError, ValueError, TypeError, ArithmeticError):
        raise EvaluationFault("a function cannot be applied to what the output holds there") from None
    except RecursionError:
        raise EvaluationFault("the output is nested too deeply") from None
    budget.check_size(value)
    return value


class Bounded(_Interpreter):
    """Evaluates expressions, and charges a budget for each node."""

    def __init__(self, budget: Budget) -> None:
        _Interpreter.__init__(self)
        self._budget = budget

    def visit(self, node: Any, whole: Any) -> Any:
        """Return the value of a node for a value."""
        self._budget.charge(1)
        kind = node["type"]
        value = getattr(self, f"visit_{kind}")(node, whole)
        if kind in _MAKERS:
            size = self._budget.check_size(value)
            self._budget.charge(size / _PER_STEP if isinstance(value, str) else 0)
        return value

    def visit_comparator(self, node: Any, value: Any) -> Any:
        """Compare two values."""
        found: list[Any] = [self.visit(child, value) for child in node["children"]]
        left, right = found
        if isinstance(left, str | list | dict) and isinstance(right, str | list | dict):
            smaller = min(self._budget.size_of(left), self._budget.size_of(right))
            self._budget.charge(smaller / _PER_STEP)
        known: Any = [{"type": "literal", "value": one} for one in found]
        self._budget.charge(2)
        return _Interpreter.visit_comparator(self, {**node, "children": known}, None)

    def visit_flatten(self, node: Any, value: Any) -> Any:
        """Return a list with the elements of the lists in it."""
        found: Any = _Interpreter.visit_flatten(self, node, value)
        self._budget.charge(len(found) / 8 if found else 0)
        return found

    def visit_function_expression(self, node: Any, value: Any) -> Any:
        """Return what a function makes of its arguments."""
        given = [self.visit(child, value) for child in node["children"]]
        self._budget.charge(3)
        self._charge_call(node["value"], given)
        result = self._functions.call_function(node["value"], given)
        if isinstance(result, int | float) and not isinstance(result, bool):
            _check_number(result)
        return result

    def _charge_call(self, name: str, given: list[Any]) -> None:
        sizes = [self._budget.size_of(one) for one in given]
        if name == "join" and isinstance(given[1], list):
            count = len(cast(list[Any], given[1]))
            if sizes[0] * count + sizes[1] > LARGEST_VALUE:
                raise EvaluationFault(f"its value is larger than {LARGEST_VALUE} bytes of JSON")
        if name in _READ_WHOLE:
            self._budget.charge(sum(sizes) / _PER_STEP)
        for one in given:
            if isinstance(one, list | dict):
                self._budget.charge(len(cast(list[Any], one)) * _STEPS.get(name, 0.1))


def _check(node: Any) -> None:
    """Check the size of an expression, and that there are the functions that it calls."""
    waiting, nodes = [(node, 1)], 0
    while waiting:
        one, depth = waiting.pop()
        if not isinstance(one, dict):
            continue
        nodes += 1
        if nodes > _MOST_NODES or depth > _DEEPEST:
            raise ValueError("the expression has too many parts")
        parts = cast(dict[str, Any], one)
        if parts["type"] == "function_expression":
            _check_call(parts["value"], len(parts["children"]))
        if parts["type"] == "slice" and parts["children"][2] == 0:
            raise ValueError("the step of a slice must not be 0")
        waiting += [(child, depth + 1) for child in parts["children"]]


def _check_call(name: str, given: int) -> None:
    if name not in _FUNCTIONS:
        near = difflib.get_close_matches(name, _FUNCTIONS)
        raise ValueError(
            f"there is no function {name}(); "
            + (f"did you mean {near[0]}()?" if near else f"there are {', '.join(sorted(_FUNCTIONS))}")
        )
    takes: Any = _FUNCTIONS[name]["signature"]
    is_open = bool(takes and takes[-1].get("variadic"))
    if given < len(takes) or (given > len(takes) and not is_open):
        raise ValueError(f"{name}() takes {len(takes)}{' or more' if is_open else ''} arguments, not {given}")


def _check_number(number: float) -> None:
    if not math.isfinite(number) or (isinstance(number, int) and abs(number) > _LARGEST_INTEGER):
        raise EvaluationFault("a number is too large to be exact")
