"""JMESPath expressions over the outputs of workflows, with a bounded cost (`expression_budget`).

The library is imported when the first expression is met.
"""

from functools import lru_cache
from typing import Any, Final

from msgspec import Struct

from stepwire.json_text import Json
from stepwire.tasks.expression_budget import Budget

LONGEST_EXPRESSION: Final = 2_000  # characters


class InvalidExpression(ValueError):
    """The text is no expression that can be served; the message says why."""


class Expression(Struct, frozen=True):
    """An expression that has been checked."""

    text: str
    node: Any

    def value_in(self, output: Json, budget: Budget) -> Json:
        """Return its value for an output.

        Raises:
            EvaluationFault: it has none, or costs too much.
        """
        from stepwire.tasks.bounded_jmespath import value_of  # noqa: PLC0415 - most tools have no expression

        return value_of(self.node, output, budget)


@lru_cache(maxsize=256)
def expression_of(text: str) -> Expression:
    """Return the expression of a text.

    Raises:
        InvalidExpression: it is none, or is too long.
    """
    from stepwire.tasks.bounded_jmespath import parsed  # noqa: PLC0415

    if len(text) > LONGEST_EXPRESSION:
        raise InvalidExpression(f"an expression has at most {LONGEST_EXPRESSION} characters")
    try:
        return Expression(text, parsed(text))
    except ValueError as error:
        raise InvalidExpression(str(error)) from None
