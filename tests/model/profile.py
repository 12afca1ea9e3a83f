"""Run the state machine until a number of steps is made."""

from collections import Counter
from typing import Final

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.machine import Machine

STEPS_OF_A_RUN: Final = 100
_STEPS_ON_AVERAGE: Final = 70  # some runs exhaust the entropy of hypothesis before their end, and the first is empty


def explore(steps: int, *, name: str, shrinks: bool = False, seed_of_all: int | None = None) -> Counter[str]:
    """Make at least this many steps, in separate runs, and count the moves.

    Args:
        steps: how many.
        name: determines the runs, if there is no seed.
        shrinks: whether a failing run is shrunk, which takes longer than a test may.
        seed_of_all: determines the runs, together with the number of steps made before.

    Raises:
        AssertionError: an answer or the account is wrong; the failing run is printed.
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
