"""The commands of the AWS CLI in the documents, held against botocore's models of AWS.

The CLI makes its commands and options from the same models, and adds some of its own. Nothing here runs a shell: a
variable or a `$(...)` in a value is what stands there.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, cast

import botocore.session
import jmespath.parser
from botocore import xform_name
from botocore.validate import ParamValidator

from tests.docs.jmespath_shapes import check
from tests.docs.pages import Page

_START: Final = re.compile(r"(?:^|[\s(])aws (?=[a-z0-9-]+ [a-z])")
_VARIABLE: Final = re.compile(r"\$\w+")
_OF_THE_CLI: Final = frozenset(
    {"region", "profile", "query", "output", "cli-input-json", "max-items", "page-size", "no-paginate"}
)
_OWN_COMMANDS: Final = frozenset({("s3", ""), ("configure", ""), ("cloudformation", "deploy")})
"""Commands that the CLI has beside the models; an empty operation: each of the service."""
_OWN_NAMES: Final = {"s3api": "s3"}
"""Services that have another name in the CLI than in botocore."""


@dataclass(frozen=True)
class Command:
    """One command of a page."""

    page: str
    service: str
    operation: str
    options: Mapping[str, str]
    """With the first word of each value; an option without one has an empty text."""
    rest: tuple[str, ...]
    """The words after the operation."""
    is_whole: bool
    """Whether it can be typed; a page's sentence may name only a part of it."""

    def __str__(self) -> str:
        """Return how a failed test names it."""
        return f"{self.page}: aws {self.service} {self.operation}"

    @property
    def is_of_the_models(self) -> bool:
        """Whether botocore knows such commands."""
        return not _OWN_COMMANDS & {(self.service, ""), (self.service, self.operation)}


def commands_of(page: Page) -> Iterator[Command]:
    """Yield the commands of a page's blocks and sentences."""
    for text, is_whole in [*((one, True) for one in page.commands), *((one, False) for one in page.words)]:
        joined = text.replace("\\\n", " ")
        for found in _START.finditer(joined):
            words = shlex.split(_up_to_its_end(joined[found.end() :]), comments=True)
            if len(words) > 1:
                yield Command(page.name, words[0], words[1], _options(words), tuple(words[2:]), is_whole)


def _up_to_its_end(text: str) -> str:
    """Return a command up to the `|`, `;`, line or `)` that ends it, which is not in quotes or in a `$(...)` of it."""
    inside: list[str] = []
    skip = False
    for at, one in enumerate(text):
        within = inside[-1] if inside else ""
        if skip or (one == "\\" and within != "'"):
            skip = not skip
        elif within in ("'", '"') and one == within:
            inside.pop()
        elif within == "'" or (within == '"' and one != "("):
            continue
        elif one in "'\"(":
            inside.append(one)
        elif one == ")" and within == "(":
            inside.pop()
        elif not inside and one in "|;\n)":
            return text[:at]
    return text


def _options(words: list[str]) -> dict[str, str]:
    pairs = zip(words, [*words[1:], "--"], strict=True)
    return {
        word[2:]: "" if following.startswith("--") else following for word, following in pairs if word.startswith("--")
    }


def fault_of(command: Command) -> str | None:
    """Return what the AWS CLI would refuse in a command, or what its query would never find; None: nothing."""
    session = _session()
    service = _OWN_NAMES.get(command.service, command.service)
    if service not in session.get_available_services():
        return f"there is no service {command.service}"
    if command.operation == "wait":
        names = {xform_name(name, "-") for name in session.get_waiter_model(service).waiter_names}
        return None if command.rest[0] in names else f"nothing waits for {command.rest[0]}"
    model = session.get_service_model(service)
    named = {xform_name(one, "-"): one for one in model.operation_names}
    if command.operation not in named:
        return f"{command.service} has no {command.operation}"
    operation = model.operation_model(named[command.operation])
    return _fault_of_the_options(command, operation.input_shape) or _fault_of_the_query(command, operation.output_shape)


def _fault_of_the_options(command: Command, shape: Any) -> str | None:
    members: dict[str, Any] = {} if shape is None else {xform_name(n, "-"): one for n, one in shape.members.items()}
    negated = {f"no-{name}" for name, one in members.items() if one.type_name == "boolean"}
    given = command.options.keys() - _OF_THE_CLI
    if unknown := given - members.keys() - negated:
        return f"there is no option {sorted(unknown)}"
    needed: set[str] = set() if shape is None else {xform_name(name, "-") for name in shape.required_members}
    if command.is_whole and "cli-input-json" not in command.options and (missing := needed - given):
        return f"it lacks {sorted(missing)}"
    faults = (_fault_of_a_value(members[name], command.options[name]) for name in sorted(given - negated))
    return next(filter(None, faults), None)


def _fault_of_a_value(shape: Any, text: str) -> str | None:
    if text.startswith(("{", "[")):
        report = ParamValidator().validate(json.loads(text), shape)
        return report.generate_report() if report.has_errors() else None
    one = shape.member if shape.type_name == "list" else shape
    values = getattr(one, "enum", ())
    return f"{text} is none of {values}" if values and "$" not in text and text not in values else None


def _fault_of_the_query(command: Command, shape: Any) -> str | None:
    if (query := command.options.get("query")) is None or shape is None:
        return None
    try:
        check(cast("dict[str, Any]", jmespath.parser.Parser().parse(_VARIABLE.sub("x", query)).parsed), shape)
    except LookupError as error:
        return f"the query {query}: {error.args[0]}"
    return None


@cache
def _session() -> Any:
    return botocore.session.get_session()
