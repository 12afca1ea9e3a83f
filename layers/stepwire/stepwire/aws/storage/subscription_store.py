"""The webhook subscriptions in DynamoDB: one item for each, and one for each endpoint that has proved itself.

    pk  the caller's principal   sk  "events#sub#" + id       wanted, terms, position, standing: JSON texts; ends_at
    pk  the caller's principal   sk  "verified#" + digest     until
    pk  the caller's principal   sk  "events#places"          places, version

A delivery claims its subscription (`busy_until`), so that its events are delivered one after another. Until
`carried_until`, a message of the queue is on its way, sent for the change `asked_for`; `news` says that something has
happened since the last look. The secrets are encrypted as the whole table is (docs/decisions/0042-events.md).

The limit of a caller's subscriptions is kept by places: a subscription is written only by a request that has reserved
its place just now, and a place is given to another only after its reservation, if no live subscription has it. So
there are never more live subscriptions than places, whatever happens at the same time.
"""

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime, timedelta
from typing import Any, Final, cast

from botocore.exceptions import ClientError
from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, milliseconds_of, refused_item, seconds_of
from stepwire.codec import decode, encode, encode_without
from stepwire.errors import StoreBusy
from stepwire.principal import Principal
from stepwire.subscriptions.events import Filter
from stepwire.subscriptions.ports import CARRIED, Busy, Listener
from stepwire.subscriptions.subscription import LONGEST_TTL, RESERVATION, Subscription

_SUBSCRIPTION: Final = "events#sub#"
_VERIFIED: Final = "verified#"
_PLACES: Final = "events#places"
_PLACES_RETENTION: Final = LONGEST_TTL + timedelta(days=1)  # longer than any subscription
_MOST_TRIES: Final = 20  # simultaneous requests of one caller
_IS_FIRST: Final = "attribute_not_exists(pk)"
_IS_AS_READ: Final = "version = :seen"
_IS_LIVE_AND_FREE: Final = (
    "attribute_exists(pk) AND ends_at > :at AND (attribute_not_exists(busy_until) OR busy_until <= :at"
    " OR (busy_until = :until AND busy_by = :by))"
)
_IS_CLAIMED: Final = "busy_until = :until"
_HAS_NO_NEWS: Final = "attribute_not_exists(news)"
_IS_CARRIED: Final = "carried_until > :at"
_IS_LIVE_AND_SILENT: Final = (
    "attribute_exists(pk) AND ends_at > :at AND (attribute_not_exists(carried_until) OR carried_until <= :at"
    " OR asked_for = :change)"
)
_AT_ONCE: Final = 8  # marks; the client has ten connections
_IS_THERE: Final = "attribute_exists(pk)"
_SINGLE: Final = ("wanted", "position", "standing")
_REFRESHED: Final = ("terms", "expires_at", "ends_at", "standing")
_REFRESH: Final = (
    "SET terms = :terms, expires_at = :expires_at, ends_at = :ends_at, standing = :standing"
    " REMOVE carried_until, asked_for"
)
"""The mark of news stays, for whoever delivers now."""
_SAVE_PLACES: Final = "SET places = :places, version = :version, expires_at = :expires_at"


class DynamoDbSubscriptionStore(Struct, frozen=True):
    """`SubscriptionStore` in a DynamoDB table."""

    table: Table

    def load(self, owner: Principal, subscription_id: str) -> Subscription | None:
        item = self.table.get(_key(owner, subscription_id))
        return None if item is None else _subscription_of(item)

    def live(self, owner: Principal, at: datetime) -> Mapping[str, Listener]:
        found: dict[str, Listener] = {}
        request: dict[str, Any] = {
            "TableName": self.table.name,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": {":pk": {"S": owner}, ":prefix": {"S": _SUBSCRIPTION}},
            # The secrets stay where they are.
            "ProjectionExpression": "sk, wanted, ends_at, carried_until, news, asked_for",
            "ConsistentRead": True,
        }
        while True:
            page = self.table.client.query(**request)
            for item in cast(list[Item], page["Items"]):
                if int(item["ends_at"]["N"]) > milliseconds_of(at):
                    found[item["sk"]["S"].removeprefix(_SUBSCRIPTION)] = _listener_of(item, at)
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def ask(self, owner: Principal, changes: Mapping[str, str], at: datetime) -> list[str]:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            asked = {
                one: pool.submit(copy_context().run, self._ask, _key(owner, one), change, at)
                for one, change in changes.items()
            }
        return [one for one, answer in asked.items() if answer.result()]

    def _ask(self, key: Item, change: str, at: datetime) -> bool:
        """Mark a subscription; return whether it needs a message."""
        values = {
            ":at": _number(at),
            ":until": _number(at + CARRIED),
            ":change": {"S": change},
            ":true": {"BOOL": True},
        }
        for _ in range(_MOST_TRIES):
            is_new = self.table.update_if(
                key, "SET news = :true, asked_for = :change, carried_until = :until", _IS_LIVE_AND_SILENT, values
            )
            if is_new:
                return True
            marked = {name: values[name] for name in (":at", ":true")}
            if self.table.update_if(key, "SET news = :true", _IS_CARRIED, marked) or not self._is_live(key, at):
                return False
        raise StoreBusy

    def _is_live(self, key: Item, at: datetime) -> bool:
        item = self.table.get(key)
        return item is not None and int(item["ends_at"]["N"]) > milliseconds_of(at)

    def reserve(self, owner: Principal, subscription_id: str, at: datetime, most: int) -> bool:
        now = milliseconds_of(at)
        for _ in range(_MOST_TRIES):
            seen = self.table.get(_places_key(owner))
            places = {} if seen is None else decode(seen["places"]["S"], dict[str, int])
            if subscription_id not in places and len(places) >= most:
                live = self.live(owner, at)
                places = {one: until for one, until in places.items() if until > now or one in live}
                if len(places) >= most:
                    return False
            places[subscription_id] = milliseconds_of(at + RESERVATION)
            if self._save_places(owner, places, seen, at):
                return True
        raise StoreBusy

    def _save_places(self, owner: Principal, places: Mapping[str, int], seen: Item | None, at: datetime) -> bool:
        """Write the places unless another request has done so since they were read."""
        version = 0 if seen is None else int(seen["version"]["N"])
        values: Item = {
            ":places": {"S": encode(places)},
            ":version": {"N": str(version + 1)},
            ":expires_at": {"N": str(seconds_of(at + _PLACES_RETENTION))},
        }
        if seen is None:
            return self.table.update_if(_places_key(owner), _SAVE_PLACES, _IS_FIRST, values)
        return self.table.update_if(_places_key(owner), _SAVE_PLACES, _IS_AS_READ, values | {":seen": seen["version"]})

    def begin(self, subscription: Subscription) -> None:
        self.table.put(_item_of(subscription))

    def refresh(self, subscription: Subscription) -> None:
        item = _item_of(subscription)
        values = {f":{name}": item[name] for name in _REFRESHED}
        if not self.table.update_if(_key(subscription.owner, subscription.id), _REFRESH, _IS_THERE, values):
            self.begin(subscription)  # it was deleted just now

    def delete(self, owner: Principal, subscription_id: str) -> bool:
        old = self.table.client.delete_item(
            TableName=self.table.name, Key=_key(owner, subscription_id), ReturnValues="ALL_OLD"
        )
        return "Attributes" in old

    def claim(
        self, owner: Principal, subscription_id: str, carrier: str, at: datetime, until: datetime
    ) -> Subscription | Busy | None:
        try:
            claimed = self.table.client.update_item(
                TableName=self.table.name,
                Key=_key(owner, subscription_id),
                UpdateExpression=(
                    "SET busy_until = :until, busy_by = :by, carried_until = :carried REMOVE news, asked_for"
                ),
                ConditionExpression=_IS_LIVE_AND_FREE,
                ExpressionAttributeValues={
                    ":at": _number(at),
                    ":until": _number(until),
                    ":by": {"S": carrier},
                    ":carried": _number(until + CARRIED),
                },
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except ClientError as error:
            found = refused_item(error)
            return Busy() if found and int(found["ends_at"]["N"]) > milliseconds_of(at) else None
        return _subscription_of(cast(Item, claimed["Attributes"]))

    def finish(self, subscription: Subscription, until: datetime) -> bool:
        removed = "REMOVE busy_until, busy_by, carried_until, asked_for"
        if self._save(subscription, until, removed, f"{_IS_CLAIMED} AND {_HAS_NO_NEWS}", {}):
            return True
        key = _key(subscription.owner, subscription.id)
        return not self.table.update_if(key, "REMOVE news, asked_for", _IS_CLAIMED, {":until": _number(until)})

    def pause(self, subscription: Subscription, until: datetime, resumes_at: datetime) -> None:
        carried = {":carried": _number(resumes_at + CARRIED)}
        self._save(subscription, until, ", carried_until = :carried REMOVE busy_until, busy_by", _IS_CLAIMED, carried)

    def _save(self, one: Subscription, until: datetime, rest: str, condition: str, values: Item) -> bool:
        item = _item_of(one)
        return self.table.update_if(
            _key(one.owner, one.id),
            f"SET #position = :position, standing = :standing {rest}",
            condition,
            {":position": item["position"], ":standing": item["standing"], ":until": _number(until), **values},
            ["position"],
        )

    def is_verified(self, owner: Principal, url: str, at: datetime) -> bool:
        item = self.table.get(_verified_key(owner, url))
        return item is not None and int(item["until"]["N"]) > milliseconds_of(at)

    def set_verified(self, owner: Principal, url: str, until: datetime) -> None:
        times = {"until": _number(until), "expires_at": {"N": str(seconds_of(until))}}
        self.table.put({**_verified_key(owner, url), **times})


def _item_of(one: Subscription) -> Item:
    """Return the item: what a filter reads, what its caller changes and what deliveries change are apart in it."""
    texts = {name: encode(getattr(one, name)) for name in _SINGLE}
    return {
        **_key(one.owner, one.id),
        **{name: {"S": text} for name, text in texts.items()},
        "terms": {"S": encode_without(("owner", *_SINGLE), one)},
        "ends_at": _number(one.expires_at),
        "expires_at": {"N": str(seconds_of(one.expires_at))},
    }


def _subscription_of(item: Item) -> Subscription:
    single = {name: decode(item[name]["S"], object) for name in _SINGLE}
    return decode(item["terms"]["S"], Subscription, owner=item["pk"]["S"], **single)


def _listener_of(item: Item, at: datetime) -> Listener:
    is_carried = "carried_until" in item and int(item["carried_until"]["N"]) > milliseconds_of(at)
    asked_for = item["asked_for"]["S"] if is_carried and "asked_for" in item else None
    return Listener(decode(item["wanted"]["S"], Filter), is_carried and "news" in item, asked_for)


def _key(owner: Principal, subscription_id: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _SUBSCRIPTION + subscription_id}}


def _places_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _PLACES}}


def _verified_key(owner: Principal, url: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _VERIFIED + hashlib.sha256(url.encode()).hexdigest()}}


def _number(moment: datetime) -> Item:
    return {"N": str(milliseconds_of(moment))}
