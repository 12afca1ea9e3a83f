"""Let a workflow wait until the gate opens: its token is kept for whoever opens it."""

from tests.load.gate import tokens


def handler(event: dict[str, str], context: object) -> None:
    """Keep a token."""
    tokens.put(event["task_token"])
