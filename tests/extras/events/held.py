"""For the tests of what is held of a caller: a record of events, and a subscription."""

from datetime import datetime, timedelta
from typing import Final

from stepwire.aws.storage.table import Table
from stepwire.extras.events.events import FINISHED, Filter, Position
from stepwire.extras.events.store import DynamoDbEventStore, DynamoDbSubscriptionStore
from stepwire.extras.events.subscription import Subscription
from stepwire.principal import Principal

KINDS: Final = ("subscription",)
BESIDE: Final = 0


def hold(table: Table, owner: Principal, at: datetime) -> None:
    """Store one of everything for a caller."""
    DynamoDbEventStore(table).open_record(owner, at, at + timedelta(days=1))
    wanted = Subscription(owner, Filter(FINISHED), "https://hooks.example/", "whsec_x", at, Position(1, at))
    subscriptions = DynamoDbSubscriptionStore(table)
    subscriptions.reserve(owner, wanted.id, at, 1)
    subscriptions.begin(wanted)
