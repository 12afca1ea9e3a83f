"""Calls with which the tests of streams begin."""

from typing import Any

from tests.server.answers import Answer
from tests.server.clients import LegacyClient


def plain_call(client: LegacyClient, tool: str = "optional", **more: Any) -> tuple[Answer, str]:
    """Call a tool without a task; give the first body, and the id of the task inside."""
    answer = client.call(tool, **more)
    return answer, client.ask("tasks/list").result["tasks"][0]["taskId"]
