"""How a task may end, and how the ends of the arms of a race may end it: what the reference knows about both."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.simulated.step_functions import RUNNING, Execution


@dataclass(frozen=True)
class End:
    """How a task may end: the kind of its end, and a text that only its result contains."""

    kind: str
    words: str = ""


CANCELLED: Final = End("cancelled")
DECLINED: Final = End("error", "nothing was started")
NOT_STARTED: Final = End("protocol", "could not be started")
LOST: Final = End("error", "The race was lost")
_ARM: Final = re.compile(r"-([a-e])(?:r\d+)?$")
_LATER_RUN: Final = re.compile(r"-r\d+$|(?<=-[a-e])r\d+$")


@dataclass(frozen=True)
class Rules:
    """What a manifest says about a race."""

    arms: int
    quorum: int
    late: str = ""
    """The letters of the arms that let the others have a head start."""

    @property
    def most_failures(self) -> int:
        """How many arms may fail while the quorum is in reach."""
        return self.arms - self.quorum


RULES: Final = {"racing": Rules(3, 1, "c"), "quorum": Rules(3, 2)}
"""The races, by the names of their tools."""


def rules_of(label: str) -> Rules | None:
    """Return the rules of the race of a call with this label; None if its tool does not race."""
    return RULES.get(label.split(" ", maxsplit=1)[0])


def arm_of(arn: str) -> str:
    """Return the letter of the arm that an execution works for; empty without a race."""
    found = _ARM.search(arn)
    return found[1] if found else ""


def first_run_of(arn: str) -> str:
    """Return the ARN of the first execution of the same arm, or of the same task."""
    return _LATER_RUN.sub("", arn)


def ends_of_race(
    rules: Rules, executions: Mapping[str, Execution], refused: Iterable[str], followed: set[str]
) -> set[End]:
    """Return the ends that a race may have.

    Args:
        rules: the rules.
        executions: those of its arms, by ARN.
        refused: the ARNs of those whose start was refused.
        followed: the ARNs of those that another attempt follows.
    """
    won: dict[str, End] = {}
    failed, stopped = {arm_of(arn) for arn in refused}, set[str]()
    for arn, one in executions.items():
        if one.status == "SUCCEEDED":
            won[arm_of(arn)] = End("output", json.loads(one.end["output"])["said"])
        elif one.status == "ABORTED":
            stopped.add(arm_of(arn))
        elif one.status != RUNNING and arn not in followed:
            failed.add(arm_of(arn))
    ends = set(won.values()) if len(won) >= rules.quorum else set[End]()
    if len(failed | stopped) > rules.most_failures and (failed or won):
        ends.add(LOST)
    if len(stopped) > rules.most_failures:
        ends.add(CANCELLED)
    return ends
