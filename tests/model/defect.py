"""A defect that is planted: one part of the product that is left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.model.machine import Machine


@dataclass(frozen=True)
class Defect:
    """A part of the product that is left out."""

    found_as: str
    """The message of the failure."""
    patches: list[tuple[Any, str, Any]]
    shown_by: Callable[[Machine], None]
    """A run that shows the defect."""
    is_too_rare: bool = False
    """Whether the random search does not find it within its steps or minutes; the run above shows it all the same."""


def left_out(*_args: object, **_more: object) -> None:
    """Do nothing, in place of what a defect leaves out."""


def always(*_args: object, **_more: object) -> bool:
    """Say yes, in place of what a defect does not check."""
    return True
