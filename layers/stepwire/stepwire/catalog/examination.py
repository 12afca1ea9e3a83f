"""What a state machine must be so that a tool can be served for it. Pure.

The rule: whatever would fail at a call is found here, and said in words with which the tool's owner can mend it.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from stepwire.catalog.manifest import Manifest
from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.errors import CatalogError
from stepwire.json_text import JsonTextError, as_object, parse

LARGEST_DEFINITION: Final = 1_048_576
"""Bytes; what Step Functions takes."""
_ACCOUNT: Final = 4  # part of an ARN
_SHOWN: Final = 100  # characters of what is wrong with a definition


class Kind(Enum):
    """The type of a state machine."""

    STANDARD = "STANDARD"
    EXPRESS = "EXPRESS"


class Examined(Struct, frozen=True):
    """A state machine as Step Functions describes it."""

    kind: Kind
    definition: str
    """Its Amazon States Language, of the version that a call starts."""


def fitted(tool: Tool, manifest: Manifest, examined: Examined) -> Tool:
    """Return the tool of a manifest as the state machine lets it be.

    Raises:
        CatalogError: the state machine and the manifest do not fit each other.
    """
    _check_definition(examined.definition)
    if examined.kind is Kind.STANDARD:
        return tool
    _check_express(manifest)
    return replace(tool, is_express=True, task_support=TaskSupport.FORBIDDEN)


def role_problem(role: str, arn: str, allowed: Sequence[str]) -> str | None:
    """Return why a role cannot run a state machine; None if it can."""
    if not any(role.startswith(one[:-1]) if one.endswith("*") else role == one for one in allowed):
        return f"{role} is not among the roles that the endpoint may assume: its operator adds it to WorkflowRoleArns"
    if role.split(":")[_ACCOUNT] != arn.split(":")[_ACCOUNT]:
        return f"{role} must be of the state machine's account, {arn.split(':')[_ACCOUNT]}"
    return None


def _check_definition(definition: str) -> None:
    size = len(definition.encode(errors="replace"))
    if size > LARGEST_DEFINITION:
        raise CatalogError(f"state_machine: its definition has {size} bytes, more than {LARGEST_DEFINITION}")
    try:
        states = as_object(parse(definition)).get("States")
    except JsonTextError as error:
        raise CatalogError(f"state_machine: its definition cannot be read: {str(error)[:_SHOWN]}") from None
    if not isinstance(states, dict):
        raise CatalogError("state_machine: its definition cannot be read: it has no States")


def _check_express(manifest: Manifest) -> None:
    """Refuse what needs a task: an EXPRESS execution cannot be followed, and nothing is kept of it."""
    if manifest.task_support is TaskSupport.REQUIRED:
        raise CatalogError(
            "task_support: a state machine of type EXPRESS never runs as a task: leave it out, or write forbidden"
        )
    if manifest.role is not None:
        raise CatalogError("role: a state machine of type EXPRESS must be of the endpoint's own account and Region")
    needing = (
        ("confirm", manifest.confirm),
        ("idempotency", manifest.idempotency),
        ("retry", manifest.retry),
        ("race", manifest.race),
    )
    for field, value in needing:
        if value is not None:
            raise CatalogError(
                f"{field}: needs a task, and a state machine of type EXPRESS has none: leave the field out, "
                "or make the state machine STANDARD"
            )
