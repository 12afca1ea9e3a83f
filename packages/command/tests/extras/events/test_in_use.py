"""What `stepwire upgrade --with` says of subscriptions, before it ends their deliveries."""

from datetime import timedelta

from packages.command.tests.operated import OWNER, working
from packages.command.tests.table import AT, TableOfAnEndpoint
from stepwire.extras.events.events import FINISHED, Filter, Position
from stepwire.extras.events.store import DynamoDbSubscriptionStore
from stepwire.extras.events.subscription import Subscription

HOUR = timedelta(hours=1)


def test_subscriptions_that_have_not_expired_are_counted(table: TableOfAnEndpoint) -> None:
    store = DynamoDbSubscriptionStore(table.table)
    for number, ends_at in enumerate((AT + HOUR, AT + HOUR, AT - HOUR)):
        url = f"https://hooks.example/{number}"
        store.begin(Subscription(OWNER, Filter(FINISHED), url, "whsec_one", ends_at, Position(1, AT)))
    table.hold(working(AT - timedelta(minutes=1)))

    assert table.seen("events") == {"subscriptions": "2"}
