"""`stepwire replay`: a message of the queue of webhooks goes back to that queue."""

import json

import pytest

from stepwire_cli.extras.events.letters import QUEUE
from stepwire_cli.operate.dead_letters import Fate
from tests.integration.stacks import Deployed
from tests.integration.test_replay import Queue, queue, stack

__all__ = ["queue", "stack"]


@pytest.mark.parametrize("is_rehearsal", [True, False])
def test_a_message_of_the_queue_of_webhooks_goes_back_there(stack: Deployed, queue: Queue, is_rehearsal: bool) -> None:
    bell = {"principal": "0" * 32, "subscription": "sub_1"}
    queue.send(bell)

    fates = queue.replay(is_rehearsal=is_rehearsal)

    url = stack.stack.physical_ids[QUEUE]
    rung = stack.stack.client("sqs").receive_message(QueueUrl=url).get("Messages", [])
    assert fates == [("sub_1", Fate.WAITING if is_rehearsal else Fate.DELIVERED)]
    assert [json.loads(one["Body"]) for one in rung] == ([] if is_rehearsal else [bell])
    assert queue.left() == is_rehearsal
