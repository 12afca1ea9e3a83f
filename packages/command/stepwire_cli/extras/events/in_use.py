"""What of events is in use: subscriptions, to whose endpoints events are delivered."""

from typing import Any, Final

from stepwire.aws.storage.table import in_milliseconds
from stepwire.extras.events.store import SUBSCRIPTION
from stepwire_cli.deployment.in_use import Contents, Use

# They lie below their callers, and no index has them.
_SEARCH: Final[dict[str, Any]] = {
    "FilterExpression": "begins_with(sk, :prefix) AND ends_at > :at",
    "ProjectionExpression": "pk, sk",
    "Select": "SPECIFIC_ATTRIBUTES",
}


def _subscriptions(contents: Contents) -> str:
    values = {":prefix": {"S": SUBSCRIPTION}, ":at": in_milliseconds(contents.at)}
    return contents.items("Scan", ExpressionAttributeValues=values, **_SEARCH).count(lambda _item: 1)


USES: Final = (
    Use(
        "subscriptions",
        "no event is recorded, delivered or read, and what happens meanwhile is never told. A "
        "subscription that has not expired when the extra is back gets the events from then on.",
        "Tell these callers to poll their tasks first.",
        _subscriptions,
    ),
)
