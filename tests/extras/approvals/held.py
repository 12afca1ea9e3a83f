"""For the tests of what is held of a caller: that they hear of questions to others."""

from datetime import datetime
from typing import Final

from stepwire.aws.storage.table import Table
from stepwire.extras.approvals.listening import Subscriber
from stepwire.extras.approvals.storage import DynamoDbSubscribers
from stepwire.principal import Principal

KINDS: Final = ("approver",)
BESIDE: Final = 2  # below two qualities


def hold(table: Table, owner: Principal, at: datetime) -> None:
    """Store one of everything for a caller."""
    DynamoDbSubscribers(table).keep(Subscriber(owner, owner, frozenset({"d1", "d2"}), at))
