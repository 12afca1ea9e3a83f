"""Explore with the state machine until so many steps are made."""

from collections import Counter
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine

STEPS_OF_A_RUN: Final = 100
_STEPS_ON_AVERAGE: Final = 70  # some runs use up hypothesis's entropy before their end, and the first is empty


def explore(steps: int, *, name: str, shrinks: bool = True, seed_of_all: int | None = None) -> Counter[str]:
    """Make at least so many steps, in runs of their own, and count what was made.

    Args:
        steps: how many.
        name: chooses the runs, where no seed does.
        shrinks: whether a run that fails is made smaller, which takes minutes.
        seed_of_all: chooses the runs, together with how many came before.

    Raises:
        AssertionError: something is told, or left over, that may not be; a run that shows it is printed.
    """
    counted = Counter[str]()
    profile = settings(
        max_examples=-(-steps // _STEPS_ON_AVERAGE),
        stateful_step_count=STEPS_OF_A_RUN,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink) if shrinks else (Phase.generate,),
        suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much),
        report_multiple_bugs=False,
    )
    while counted["steps"] < steps:
        machine = type(f"{name}From{counted['steps']}", (Machine,), {"counted": counted})
        if seed_of_all is not None:
            machine = seed(f"{seed_of_all} {name} {counted['steps']}")(machine)
        run_state_machine_as_test(machine, settings=profile)
    return counted
