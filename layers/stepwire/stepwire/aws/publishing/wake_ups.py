"""Wake-ups of tasks: messages in a queue of SQS, which delivers each after its delay, to the second.

A delay of SQS is at most 15 minutes: whoever gets a message too early sends the next one. So nothing runs, and nothing
is billed, while a task waits for its next attempt.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from msgspec import Struct

from stepwire.errors import WakeUpsUnavailable
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey

_LONGEST_DELAY: Final = 900  # seconds
_SECOND: Final = timedelta(seconds=1)


class SqsWakeUps(Struct, frozen=True, dict=True):
    """Wake-ups in a queue. The client is built on the first call: few tasks need one."""

    queue_url: str
    build_client: Callable[[], Any]

    @cached_property
    def _client(self) -> Any:
        return self.build_client()

    def schedule(self, key: TaskKey, delay: timedelta, run: int = 0) -> None:
        """Send a message with a delay in whole seconds, rounded up."""
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415

        seconds = min(max(-(-delay // _SECOND), 0), _LONGEST_DELAY)
        body = json.dumps({"owner": key.owner, "task_id": key.task_id, **({"run": run} if run else {})})
        try:
            self._client.send_message(QueueUrl=self.queue_url, MessageBody=body, DelaySeconds=seconds)
        except (ClientError, BotoCoreError) as error:
            raise WakeUpsUnavailable from error


def task_to_wake(message: dict[str, Any]) -> TaskKey:
    """Return the task of a message from the queue."""
    body = json.loads(message["body"])
    return TaskKey(Principal(body["owner"]), TaskId(body["task_id"]))


def run_to_wake(message: dict[str, Any]) -> int:
    """Return the index of the run that a message from the queue wakes."""
    return json.loads(message["body"]).get("run", 0)
