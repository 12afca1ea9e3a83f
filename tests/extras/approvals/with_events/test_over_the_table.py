"""The event and the tools of approvers over the table."""

from typing import Any

import pytest

from stepwire.aws.storage.table import Table
from stepwire.extras.approvals.listening import REQUESTED
from stepwire.extras.approvals.storage import DynamoDbAskings, DynamoDbInbox, DynamoDbSubscribers
from stepwire_local.account.isolation import REGION
from stepwire_local.iam.clients import aws_client
from tests.contracts.conftest import aws
from tests.extras.approvals.approving import Decider, refunds, started
from tests.extras.approvals.built import ApprovalFakes
from tests.server.answers import Json
from tests.server.messages import ACCEPT, answers_of
from tests.tables import new_table

__all__ = ["aws"]


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_question_is_told_of_listed_and_decided_over_the_table(era: str) -> None:
    shared = Table(new_table(), lambda: aws_client("dynamodb", REGION))
    stores: Any = DynamoDbInbox(shared), DynamoDbAskings(shared), DynamoDbSubscribers(shared)
    world = refunds(fakes={"approvals": ApprovalFakes(*stores)})
    bob = Decider.of(world, era)
    asked: Json = {"name": REQUESTED, "arguments": {}}
    cursor = bob.client.ask("events/poll", asked).result["cursor"]
    started(world)

    (event,) = bob.client.ask("events/poll", {**asked, "cursor": cursor}).result["events"]
    (waiting,) = bob.listed()
    bob.decide(waiting["approvalId"], {"action": "accept", "content": {"amount": 101}}, ACCEPT)

    assert event["data"]["approvalId"] == waiting["approvalId"]
    assert "101 is greater" in bob.asked[1]["message"]
    assert [one["content"] for one in answers_of(world).values()] == [{"amount": 7}]
    assert bob.listed() == []
    assert world.faults == []
