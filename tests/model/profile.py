"""Explore with the state machine until so many steps are made."""

from collections import Counter
from typing import Final

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine

STEPS_OF_A_RUN: Final = 100
_STEPS_ON_AVERAGE: Final = 60
"""At least: some runs use up hypothesis's entropy before their end, and the first is empty."""
# What fails is made smaller; what is tried first is anything.
_PHASES: Final = (Phase.generate, Phase.shrink)


def explore(steps: int, *, name: str) -> Counter[str]:
    """Make at least so many steps, in runs of their own, and count what was made.

    Args:
        steps: how many.
        name: chooses the runs, where hypothesis derandomizes.

    Raises:
        AssertionError: something is told, or left over, that may not be; the shortest run that shows it is printed.
    """
    counted = Counter[str]()
    machine = type(name, (Machine,), {"counted": counted})
    profile = settings(
        max_examples=-(-steps // _STEPS_ON_AVERAGE),
        stateful_step_count=STEPS_OF_A_RUN,
        phases=_PHASES,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    run_state_machine_as_test(machine, settings=profile)
    return counted
