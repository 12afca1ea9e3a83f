"""Let a workflow wait until the gate opens: keep its task token for that."""

from typing import Any

from tests.load.gate import Waiting, waiting


def handler(event: dict[str, Any], context: object) -> None:
    """Keep a token, and what its workflow was begun with."""
    waiting.put(Waiting(event["task_token"], **event["input"]))
