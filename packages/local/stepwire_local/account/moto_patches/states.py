"""Patch of states: each that an execution enters is told of, as it is entered."""

from collections.abc import Callable
from typing import Any

from moto.stepfunctions.parser.asl.component.state.state import CommonStateField

from stepwire_local.activity import Activity, tell
from stepwire_local.stubs.owners import name_of

_Replace = Callable[[object, str, object], None]


def states_are_told_of(replace: _Replace) -> None:
    """Patch: Tell of each state when it is entered.

    Defect: What runs can be read only from the history, which is to be asked for.

    Ours: AWS tells nobody either; the lines on the terminal are of this local stack.
    """
    original: Any = vars(CommonStateField)["_eval_body"]

    def eval_body(self: Any, env: Any) -> None:
        context: Any = env.states.context_object.context_object_data
        tell(Activity("state", name_of(context["StateMachine"]["Id"]), self.name, context["Execution"]["Name"]))
        original(self, env)

    replace(CommonStateField, "_eval_body", eval_body)


PATCHES = (states_are_told_of,)
