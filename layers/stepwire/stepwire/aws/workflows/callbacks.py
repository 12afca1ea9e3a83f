"""Read the events with which workflow states ask for input.

{"execution_arn": "...", "task_token": "...", "key": "approval", "elicitation": {...}, "timeout_seconds"?: 86400,
 "state_entered"?: "2026-..."}

Instead of `elicitation`: `sampling` with the params of `sampling/createMessage`, or `roots` with an empty object.
"""

from typing import Any

from stepwire.aws.workflows.step_functions import execution_of
from stepwire.background.input_requests import Question


def question_of(event: dict[str, Any]) -> Question:
    """Return the question of an event.

    Raises:
        KeyError: the token or the execution is missing, so the state cannot be answered.
    """
    return Question(
        execution=execution_of(str(event["execution_arn"])),
        token=str(event["task_token"]),
        key=event.get("key"),
        elicitation=event.get("elicitation"),
        timeout_seconds=event.get("timeout_seconds"),
        sampling=event.get("sampling"),
        roots=event.get("roots"),
        state_entered=event.get("state_entered"),
    )
