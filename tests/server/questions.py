"""What a client is shown of a question, and the answers that the tests give."""

from tests.server.answers import Json
from tests.server.clients import ModernClient

ACCEPT: Json = {"action": "accept", "content": {"amount": 7}}
DECLINE: Json = {"action": "decline"}


def shown(client: ModernClient, task_id: str) -> Json:
    """Look at a task."""
    return client.task("get", task_id).result


def own(result: Json) -> Json:
    """Leave out of a result what every modern result has."""
    return {name: value for name, value in result.items() if name not in {"resultType", "_meta"}}
