"""The events with which states of a workflow ask for input, to what the kit understands.

{"execution_arn": "...", "task_token": "...", "key": "approval", "elicitation": {...}, "timeout_seconds"?: 86400}
"""

from typing import Any

from stepwire.aws.step_functions import execution_of
from stepwire.input_requests import Question


def question_of(event: dict[str, Any]) -> Question:
    """Read an event.

    Raises:
        KeyError: it lacks the token or the execution, so that no state could be answered.
    """
    return Question(
        execution=execution_of(str(event["execution_arn"])),
        token=str(event["task_token"]),
        key=event.get("key"),
        elicitation=event.get("elicitation"),
        timeout_seconds=event.get("timeout_seconds"),
    )
