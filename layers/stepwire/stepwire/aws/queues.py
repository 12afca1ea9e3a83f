"""The queue of SQS for wake-ups of tasks.

A message names a task, and nothing of its data. SQS delivers it after its delay, to the second. No function runs
meanwhile; Lambda polls the queue, empty or not. A delay is at most 15 minutes: whoever gets a message too early sends
the next one.
"""

import json
from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError
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
        body = json.dumps({"owner": key.owner, "task_id": key.task_id, **({"run": run} if run else {})})
        try:
            self._client.send_message(QueueUrl=self.queue_url, MessageBody=body, DelaySeconds=seconds_of(delay))
        except (ClientError, BotoCoreError) as error:
            raise WakeUpsUnavailable from error


def wake_up_of(message: dict[str, Any]) -> tuple[TaskKey, int]:
    """Return the task that a message wakes, and the index of its run."""
    body = json.loads(message["body"])
    return TaskKey(Principal(body["owner"]), TaskId(body["task_id"])), body.get("run", 0)


def seconds_of(delay: timedelta) -> int:
    """Return a delay that SQS takes: whole seconds, rounded up."""
    return min(max(-(-delay // _SECOND), 0), _LONGEST_DELAY)
