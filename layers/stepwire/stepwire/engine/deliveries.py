"""Deliver recorded answers to the states that wait for them, at least once."""

from collections.abc import Callable
from typing import Final

from stepwire.engine.ports import Workflows
from stepwire.engine.recorder import Recorder
from stepwire.errors import WorkflowsUnavailable
from stepwire.tasks.events import AnswersDelivered
from stepwire.tasks.inputs import InputResponse, UndeliveredAnswer
from stepwire.tasks.task import Task

NOT_SUPPORTED: Final = "Stepwire.InputNotSupported"
"""The error name of a state whose question cannot be answered."""
_NOT_ASKED: Final = "The question cannot be put to the user of the client that called."


def delivered(recorder: Recorder, workflows: Workflows, task: Task, report: Callable[[Exception], None]) -> Task:
    """Return a task after delivering its answers.

    An answer for which nobody waited stays with the task, for the retry of the state that asked: Step Functions retries
    a state whose question was recorded, if the function's response was lost.
    """
    done, unclaimed = set[str](), set[str]()
    for one in task.inputs.undelivered:
        try:
            if not one.is_unclaimed:
                (done if _deliver(workflows, one) else unclaimed).add(one.token)
        except WorkflowsUnavailable as error:
            report(error)
    if not done and not unclaimed:
        return task
    return recorder.record(task, AnswersDelivered(frozenset(done), frozenset(unclaimed))) or task


def _deliver(workflows: Workflows, one: UndeliveredAnswer) -> bool:
    """Deliver an answer; return False if certainly nobody waited for it."""
    if isinstance(one.answer, InputResponse):
        return workflows.complete_callback(one.token, one.answer.text())
    workflows.fail_callback(one.token, NOT_SUPPORTED, _NOT_ASKED)
    return True
