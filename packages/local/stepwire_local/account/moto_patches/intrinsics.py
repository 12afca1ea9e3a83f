"""Patch of intrinsic functions of JSONPath: what a backslash means in their texts, and a brace in States.Format."""

import re
from collections.abc import Callable
from typing import Any, Final, cast

from moto.stepfunctions.parser.asl.component.intrinsic.argument.argument import ArgumentLiteral
from moto.stepfunctions.parser.asl.component.intrinsic.function.statesfunction.generic.string_format import StringFormat
from moto.stepfunctions.parser.asl.parse.intrinsic.intrinsic_parser import IntrinsicParser

_Replace = Callable[[object, str, object], None]

# A definition's JSON writes each backslash as two. Moto's grammar knows none before a quote, so marks stand for them.
_ESCAPED: Final = re.compile(r"\\\\(\\\\|['{}])")
_MARKS: Final = {"'": "\ue000", "{": "\ue001", "}": "\ue002", "\\\\": "\ue003"}
_MEANING: Final = str.maketrans({"\ue000": "'", "\ue001": "{", "\ue002": "}", "\ue003": "\\"})


def texts_may_have_quotes(replace: _Replace) -> None:
    r"""Patch: Read an escaped quote, brace and backslash as itself, and `{}` alone as a place of `States.Format`.

    Defect: A text with an escaped quote, as in `States.Format('it\'s {}', $.name)`, ends there, and the rest of it and
    the other arguments are lost without an error; escaped braces take an argument, and others mean what they mean in
    Python: a template that is JSON fails.
    """
    parser, literal, function = (cast("Any", one) for one in (IntrinsicParser, ArgumentLiteral, StringFormat))
    parse = parser.parse

    def marked_parse(src: str) -> Any:
        return parse(_ESCAPED.sub(lambda found: _MARKS[found[1]], src))

    def value_of(self: Any, env: Any) -> Any:  # noqa: ARG001  # their signature
        value = self.definition_value
        return value.translate(_MEANING) if isinstance(value, str) else value

    def formatted(self: Any, env: Any) -> None:
        self.argument_list.eval(env=env)
        template, *values = env.stack.pop()
        first = self.argument_list.arguments[0]
        if isinstance(first, ArgumentLiteral):  # its escaped braces are still marks
            template = first.definition_value
        first_part, *parts = (part.translate(_MEANING) for part in template.split("{}"))
        if len(parts) > len(values):
            raise ValueError(f"States.Format has {len(parts)} places for {len(values)} arguments")
        written = (self._to_str_repr(value) + part for value, part in zip(values, parts, strict=False))
        env.stack.append(first_part + "".join(written))

    replace(parser, "parse", staticmethod(marked_parse))
    replace(literal, "_eval_argument", value_of)
    replace(function, "_eval_body", formatted)


PATCHES = (texts_may_have_quotes,)
