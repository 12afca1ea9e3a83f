"""What would go wrong later with a manifest that compiles. Pure: a manifest in, findings out.

The rule: a finding says what a caller or a host would meet, and what to write instead. It needs no AWS.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, cast

from stepwire.manifests.manifest import Manifest
from stepwire_wrap.wording import RIGHT, fault_of

Json = dict[str, Any]


class Severity(Enum):
    """How bad it is."""

    ERROR = "error"
    """Calls fail, or the tool is not offered."""
    WARNING = "warning"
    """Some calls fail, or a model is misled."""
    ADVICE = "advice"
    """Nothing goes wrong; it may be better."""


@dataclass(frozen=True)
class Finding:
    """Something that is wrong, or would go wrong."""

    where: str
    """The file or the parameter, and the field in it."""
    what: str
    fix: str = ""
    severity: Severity = Severity.WARNING
    lines: tuple[str, ...] = ()
    """What to write instead, where it can be told."""

    def __str__(self) -> str:
        """Return it as a line, and what to write instead below it."""
        line = f"{_ended(self.what)} Fix: {_ended(self.fix)}" if self.fix else self.what
        return "\n    ".join((f"{self.where}: {line}", *self.lines))


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", '."')) else f"{text}."


LONGEST: Final = 1_024  # characters; several hosts cut or refuse more
LONGEST_NAME: Final = 64
FREE_PARAMETER: Final = 4_096  # bytes; of the tier that costs nothing
LARGEST_PARAMETER: Final = 8_192  # bytes
_TYPING: Final = frozenset({"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"})
_REFERENCE: Final = re.compile(r"\{\{.*?\}\}")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_MACHINE: Final = re.compile(
    r"[^\s<>{}\[\]?*\"#%\\^|~`$&,;:/]{1,80}"
    r"|arn:aws[a-z-]*:states:[a-z0-9-]+:\d{12}:stateMachine:[^:\s]{1,80}(:[A-Za-z0-9_.-]{1,80})?"
)
# AgentCore Gateway fails to create or synchronize a target whose tools have one of these.
_REFUSED: Final = ("$ref", "$defs", "$anchor", "$dynamicRef", "$dynamicAnchor")
_TOP: Final = ("oneOf", "anyOf", "allOf")


def findings_in(manifest: Manifest) -> Iterator[Finding]:
    """Yield what would go wrong, in the order of the fields; `where` is the field alone."""
    for check in _CHECKS:
        yield from check(manifest)


def findings_of_parameter(text: str, largest: int = LARGEST_PARAMETER) -> Iterator[Finding]:
    """Yield why Systems Manager refuses a text as the value of a parameter; `where` is empty."""
    if (found := _REFERENCE.search(text)) is not None:
        yield Finding(
            "",
            f"Systems Manager takes {found[0][:60]} for another parameter, and refuses the value.",
            r"write \u007b for its first brace, in double quotes; in other texts, a space between the braces.",
        )
    if (size := len(text.encode(errors="replace"))) > largest:
        yield Finding(
            "",
            f"it has {size:,} bytes, and a parameter takes {largest:,}.",
            "shorten it." if size > LARGEST_PARAMETER else "write Tier: Intelligent-Tiering.",
        )


def _of_the_name(manifest: Manifest) -> Iterator[Finding]:
    if len(manifest.name) > LONGEST_NAME or not _NAME.fullmatch(manifest.name):
        yield Finding(
            "name",
            f"hosts that pass tools to a model take only letters, digits, _ and -, at most {LONGEST_NAME}.",
            "choose such a name.",
        )


def _of_the_description(manifest: Manifest) -> Iterator[Finding]:
    text = " ".join(manifest.description.split())
    if (fault := fault_of(text, manifest.name)) is not None:
        yield Finding("description", fault, RIGHT)
    if len(text) > LONGEST:
        yield Finding(
            "description",
            f"it has {len(text)} characters; several hosts cut or refuse more than {LONGEST}.",
            "shorten it, or describe the arguments in input_schema.",
        )


def _of_the_machine(manifest: Manifest) -> Iterator[Finding]:
    for machine in manifest.machines:
        if _MACHINE.fullmatch(machine.name):
            continue
        yield Finding(
            "race.arms" if manifest.race else "state_machine",
            f"{machine.name!r} is neither the name nor the ARN of a state machine.",
            "write its name, or arn:aws:states:REGION:ACCOUNT:stateMachine:NAME.",
        )


def _of_the_input(manifest: Manifest) -> Iterator[Finding]:
    schema: Json = manifest.input_schema
    properties: Json = schema.get("properties", {})
    for word in _TOP:
        if word in schema:
            yield Finding(
                f"input_schema.{word}",
                "some model APIs refuse it at the top of a tool's schema.",
                "move it into a property, or check it in the workflow.",
            )
    for name in schema.get("required", ()):
        if name not in properties:
            never = schema.get("additionalProperties") is False
            meaning = "so no call can be right" if never else "so a model does not know what to give"
            yield Finding("input_schema.required", f"{name} is no property, {meaning}.", "add it to properties.")
    for name, field in properties.items():
        yield from _of_a_property(name, field)


def _of_a_property(name: str, field: object) -> Iterator[Finding]:
    where = f"input_schema.properties.{name}"
    if not isinstance(field, dict):
        return
    members = cast(Json, field)
    if not str(members.get("description", "")).strip():
        yield Finding(where, "it has no description, so a model guesses.", "say what it is, its unit, an example.")
    if _TYPING.isdisjoint(members):
        yield Finding(where, "it has no type, so a model may send any value.", "write type: string, or the right one.")


def _of_references(manifest: Manifest) -> Iterator[Finding]:
    # An output schema with references is not shown to clients without tasks, of which a Gateway is one.
    if found := [word for word in _REFUSED if word in _keywords(manifest.input_schema)]:
        yield Finding(
            "input_schema",
            f"AgentCore Gateway refuses a target whose tools have {', '.join(found)}.",
            "write out what is referred to.",
        )


def _of_the_times(manifest: Manifest) -> Iterator[Finding]:
    if manifest.poll_interval > manifest.longest_poll_interval:
        yield Finding("poll_interval", "it is longer than longest_poll_interval.", "make it the shorter of the two.")
    if manifest.longest_poll_interval >= manifest.ttl:
        yield Finding("ttl", "a task may expire between two polls.", "make it longer than longest_poll_interval.")


def _of_the_annotations(manifest: Manifest) -> Iterator[Finding]:
    hints: Json = {} if manifest.annotations is None else manifest.annotations.model_dump(by_alias=True)
    if hints.get("readOnlyHint") and hints.get("destructiveHint"):
        yield Finding("annotations", "the tool is both read-only and destructive.", "remove one of the hints.")


_CHECKS: Final[tuple[Callable[[Manifest], Iterator[Finding]], ...]] = (
    _of_the_name,
    _of_the_description,
    _of_the_machine,
    _of_the_input,
    _of_references,
    _of_the_times,
    _of_the_annotations,
)


def _keywords(value: object) -> set[str]:
    if isinstance(value, list):
        return set[str]().union(*map(_keywords, cast("list[object]", value)))
    if not isinstance(value, dict):
        return set()
    members = cast(Json, value)
    return set(members).union(*map(_keywords, members.values()))
