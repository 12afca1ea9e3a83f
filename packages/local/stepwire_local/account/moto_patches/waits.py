"""Wait states and intervals of retries that are shortened: how long one takes at most, by its state machine.

The rule: only the time is shorter. The state still computes how long it would wait, and fails if it cannot.
"""

import time
from collections.abc import Callable
from typing import Any, Final

from moto.stepfunctions.parser.asl.component.common.retry.jitter_strategy_decl import JitterStrategyDecl
from moto.stepfunctions.parser.asl.component.state.wait.wait_function.wait_function import WaitFunction

_Replace = Callable[[object, str, object], None]

_MACHINE_PARTS: Final = 7
"""Of an ARN, without a version."""
_longest: Final = dict[str, float]()


def shorten(machine: str, seconds: float | None) -> None:
    """Let each wait of a state machine take at most so many seconds; None: as long as it says."""
    if seconds is None:
        _longest.pop(machine, None)
    else:
        _longest[machine] = seconds


def waits_can_be_shortened(replace: _Replace) -> None:
    """Patch: Wait no longer than the limit of the state machine, in fractions of a second too.

    Defect: There is no such limit.

    Ours: AWS has none either; it is an option of this local stack.
    """
    as_written: Callable[[Any, Any, int], None] = vars(WaitFunction)["_wait_interval"]

    def wait_interval(self: Any, env: Any, wait_seconds: int) -> None:
        longest = _limit(env)
        if longest is None or wait_seconds <= longest:
            as_written(self, env, wait_seconds)
            return
        end = time.monotonic() + longest
        while env.is_running() and (left := end - time.monotonic()) > 0:
            env.program_state_event.wait(left)

    replace(WaitFunction, "_wait_interval", wait_interval)


def retries_can_be_shortened(replace: _Replace) -> None:
    """Patch: Retry after no longer than the limit of the state machine.

    Defect: There is no such limit.

    Ours: AWS has none either; it is an option of this local stack.
    """
    as_written: Callable[[Any, Any], None] = vars(JitterStrategyDecl)["_eval_body"]

    def eval_body(self: Any, env: Any) -> None:
        as_written(self, env)  # the last that changes the interval, which is on the stack
        if (longest := _limit(env)) is not None:
            env.stack.append(min(env.stack.pop(), longest))

    replace(JitterStrategyDecl, "_eval_body", eval_body)


def _limit(env: Any) -> float | None:
    arn: str = env.states.context_object.context_object_data["StateMachine"]["Id"]
    return _longest.get(":".join(arn.split(":")[:_MACHINE_PARTS]))


PATCHES = (waits_can_be_shortened, retries_can_be_shortened)
