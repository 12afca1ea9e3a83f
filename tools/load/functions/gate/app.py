"""A function that stores the task token of a workflow until the gate opens."""

from typing import Any

from tools.load.gate import Waiting, waiting


def handler(event: dict[str, Any], context: object) -> None:
    """Store a token, and the input of its workflow."""
    waiting.put(Waiting(event["task_token"], **event["input"]))
