"""Patch of intrinsic functions of JSONPath: what a backslash means in their texts."""
# ruff: noqa: SLF001 - the defect is in moto's private methods

import re
from collections.abc import Callable
from typing import Any, Final, cast

from moto.stepfunctions.parser.asl.component.intrinsic.argument.argument import ArgumentLiteral
from moto.stepfunctions.parser.asl.component.intrinsic.function.statesfunction.generic.string_format import StringFormat
from moto.stepfunctions.parser.asl.parse.intrinsic.intrinsic_parser import IntrinsicParser
from moto.stepfunctions.parser.asl.parse.intrinsic.preprocessor import Preprocessor

_Replace = Callable[[object, str, object], None]

# A definition's JSON writes each backslash as two. Moto's grammar knows none before a quote, so marks stand for them.
_ESCAPED: Final = re.compile(r"\\\\(\\\\|['{}])")
_MARKS: Final = {"'": "\ue000", "{": "\ue001", "}": "\ue002", "\\\\": "\ue003"}
_MEANING: Final = str.maketrans({"\ue000": "'", "\ue001": "{", "\ue002": "}", "\ue003": "\\"})
_BRACES: Final = ("\ue001", "\ue002")


def texts_may_have_quotes(replace: _Replace) -> None:
    r"""Patch: Read an escaped quote, brace and backslash as itself.

    Defect: A text with an escaped quote, as in `States.Format('it\'s {}', $.name)`, ends there, and the rest of it and
    the other arguments are lost without an error; escaped braces take an argument.
    """
    parser, preprocessor, function = (cast("Any", one) for one in (IntrinsicParser, Preprocessor, StringFormat))
    parse, argument, body = parser.parse, preprocessor.visitFunc_arg_string, function._eval_body

    def marked_parse(src: str) -> Any:
        return parse(_ESCAPED.sub(lambda found: _MARKS[found[1]], src))

    def visit(self: Any, ctx: Any) -> ArgumentLiteral:
        text: str = argument(self, ctx).definition_value
        has_braces = any(mark in text for mark in _BRACES)  # only States.Format, which comes to them later, knows these
        return ArgumentLiteral(definition_value=text if has_braces else text.translate(_MEANING))

    def evaluate(self: Any, env: Any) -> None:
        body(self, env)
        env.stack.append(str(env.stack.pop()).translate(_MEANING))

    replace(parser, "parse", staticmethod(marked_parse))
    replace(preprocessor, "visitFunc_arg_string", visit)
    replace(function, "_eval_body", evaluate)


PATCHES = (texts_may_have_quotes,)
