"""The webhook subscriptions in DynamoDB: one item for each, and one for each endpoint that has proved itself.

    pk  the caller's principal   sk  "events#sub#" + id       name, arguments, url, secret, ..., number, at, standing
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
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from stepwire.aws.storage.conditions import is_failed_condition, item_found
from stepwire.aws.storage.items import Item
from stepwire.aws.storage.times import milliseconds_if_any, milliseconds_of, moment_if_any, moment_of, seconds_of
from stepwire.errors import StoreBusy
from stepwire.json_text import Json, load_json, write
from stepwire.principal import Principal
from stepwire.subscriptions.event_types import Filter, filter_of
from stepwire.subscriptions.ports import CARRIED, Busy, Listener
from stepwire.subscriptions.positions import Position
from stepwire.subscriptions.subscription import LONGEST_TTL, RESERVATION, Standing, Subscription

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

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
_REFRESHED: Final = ("secret", "previous_secret", "previous_until", "expires_at", "ends_at", "standing")
_MESSAGE: Final = ("carried_until", "asked_for")
"""What a refresh forgets; the mark stays for whoever delivers now."""


class DynamoDbSubscriptionStore(Struct, frozen=True, dict=True):
    """Subscriptions in a DynamoDB table. The client is built on the first call."""

    table_name: str
    build_client: "Callable[[], DynamoDBClient]"

    @cached_property
    def _client(self) -> "DynamoDBClient":
        return self.build_client()

    def load(self, owner: Principal, subscription_id: str) -> Subscription | None:
        """Return a subscription, possibly an expired one; None if there is none."""
        item = self._get(_key(owner, subscription_id))
        return None if item is None else _subscription_of(item)

    def live(self, owner: Principal, at: datetime) -> Mapping[str, Listener]:
        """Return the caller's live subscriptions by their ids."""
        found: dict[str, Listener] = {}
        request: dict[str, Any] = {
            "TableName": self.table_name,
            "KeyConditionExpression": "pk = :pk AND begins_with(sk, :prefix)",
            "ExpressionAttributeValues": {":pk": {"S": owner}, ":prefix": {"S": _SUBSCRIPTION}},
            # The secrets stay where they are.
            "ProjectionExpression": "sk, #name, arguments, ends_at, carried_until, news, asked_for",
            "ExpressionAttributeNames": {"#name": "name"},
            "ConsistentRead": True,
        }
        while True:
            page = self._client.query(**request)
            for item in cast(list[Item], page["Items"]):
                if int(item["ends_at"]["N"]) > milliseconds_of(at):
                    found[item["sk"]["S"].removeprefix(_SUBSCRIPTION)] = _listener_of(item, at)
            if "LastEvaluatedKey" not in page:
                return found
            request["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def ask(self, owner: Principal, changes: Mapping[str, str], at: datetime) -> list[str]:
        """Mark subscriptions, some at a time; return those that need a message."""
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
            is_new = self._update(
                key, "SET news = :true, asked_for = :change, carried_until = :until", _IS_LIVE_AND_SILENT, values
            )
            if is_new:
                return True
            marked = {name: values[name] for name in (":at", ":true")}
            if self._update(key, "SET news = :true", _IS_CARRIED, marked) or not self._is_live(key, at):
                return False
        raise StoreBusy

    def _is_live(self, key: Item, at: datetime) -> bool:
        item = self._get(key)
        return item is not None and int(item["ends_at"]["N"]) > milliseconds_of(at)

    def _update(self, key: Item, expression: str, condition: str, values: Mapping[str, Any], **more: Any) -> bool:
        """Update an item if a condition holds; return whether it does."""
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=key,
                UpdateExpression=expression,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
                **more,
            )
        except Exception as error:
            if not is_failed_condition(error):
                raise
            return False
        return True

    def reserve(self, owner: Principal, subscription_id: str, at: datetime, most: int) -> bool:
        """Reserve the place of a subscription until `RESERVATION` from now; return False if all places are taken."""
        now = milliseconds_of(at)
        for _ in range(_MOST_TRIES):
            seen = self._get(_places_key(owner))
            places = {} if seen is None else _places_of(seen)
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
        condition: dict[str, Any] = {"ConditionExpression": _IS_FIRST}
        if seen is not None:
            condition = {
                "ConditionExpression": _IS_AS_READ,
                "ExpressionAttributeValues": {":seen": seen["version"]},
            }
        item = {
            **_places_key(owner),
            "places": {"S": write(dict(places))},
            "version": {"N": str(version + 1)},
            "expires_at": {"N": str(seconds_of(at + _PLACES_RETENTION))},
        }
        try:
            self._client.put_item(TableName=self.table_name, Item=item, **condition)
        except Exception as error:
            if not is_failed_condition(error):
                raise
            return False
        return True

    def begin(self, subscription: Subscription) -> None:
        """Write a new subscription."""
        self._client.put_item(TableName=self.table_name, Item=_item_of(subscription))

    def refresh(self, subscription: Subscription) -> None:
        """Write a refreshed subscription; the position stays what it is."""
        item = _item_of(subscription)
        kept = [name for name in _REFRESHED if name in item]
        dropped = [name for name in _REFRESHED if name not in item]
        removal = f" REMOVE {', '.join((*dropped, *_MESSAGE))}"
        try:
            self._client.update_item(
                TableName=self.table_name,
                Key=_key(subscription.owner, subscription.id),
                UpdateExpression="SET " + ", ".join(f"{name} = :{name}" for name in kept) + removal,
                ConditionExpression=_IS_THERE,
                ExpressionAttributeValues={f":{name}": item[name] for name in kept},
            )
        except Exception as error:
            if not is_failed_condition(error):
                raise
            self.begin(subscription)  # it was deleted just now

    def delete(self, owner: Principal, subscription_id: str) -> bool:
        """Delete a subscription; return whether there was one."""
        old = self._client.delete_item(
            TableName=self.table_name, Key=_key(owner, subscription_id), ReturnValues="ALL_OLD"
        )
        return "Attributes" in old

    def claim(
        self, owner: Principal, subscription_id: str, carrier: str, at: datetime, until: datetime
    ) -> Subscription | Busy | None:
        """Take the right to deliver until a time."""
        try:
            claimed = self._client.update_item(
                TableName=self.table_name,
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
        except Exception as error:
            if not is_failed_condition(error):
                raise
            found = item_found(error)
            return Busy() if found and int(found["ends_at"]["N"]) > milliseconds_of(at) else None
        return _subscription_of(cast(Item, claimed["Attributes"]))

    def finish(self, subscription: Subscription, until: datetime) -> bool:
        """Save the position and the standing, and give back the claim, unless there is news."""
        removed = "REMOVE busy_until, busy_by, carried_until, asked_for"
        if self._save(subscription, until, removed, f"{_IS_CLAIMED} AND {_HAS_NO_NEWS}", {}):
            return True
        key = _key(subscription.owner, subscription.id)
        return not self._update(key, "REMOVE news, asked_for", _IS_CLAIMED, {":until": _number(until)})

    def pause(self, subscription: Subscription, until: datetime, resumes_at: datetime) -> None:
        """Save the position and the standing, and give back the claim; the message is trusted to come."""
        carried = {":carried": _number(resumes_at + CARRIED)}
        self._save(subscription, until, ", carried_until = :carried REMOVE busy_until, busy_by", _IS_CLAIMED, carried)

    def _save(self, one: Subscription, until: datetime, rest: str, condition: str, values: Item) -> bool:
        item = _item_of(one)
        return self._update(
            _key(one.owner, one.id),
            f"SET #number = :number, #at = :at, standing = :standing {rest}",
            condition,
            {
                **{f":{name}": item[name] for name in ("number", "at", "standing")},
                ":until": _number(until),
                **values,
            },
            ExpressionAttributeNames={"#number": "number", "#at": "at"},
        )

    def is_verified(self, owner: Principal, url: str, at: datetime) -> bool:
        """Tell whether an endpoint has proved itself to this caller."""
        item = self._get(_verified_key(owner, url))
        return item is not None and int(item["until"]["N"]) > milliseconds_of(at)

    def set_verified(self, owner: Principal, url: str, until: datetime) -> None:
        """Remember that an endpoint has proved itself."""
        times = {"until": _number(until), "expires_at": {"N": str(seconds_of(until))}}
        self._client.put_item(TableName=self.table_name, Item={**_verified_key(owner, url), **times})

    def _get(self, key: Item) -> Item | None:
        found = self._client.get_item(TableName=self.table_name, Key=key, ConsistentRead=True)
        return cast(Item | None, found.get("Item"))


def _item_of(one: Subscription) -> Item:
    texts = {
        "name": one.wanted.name,
        "arguments": write(one.wanted.arguments),
        "url": one.url,
        "secret": one.secret,
        "previous_secret": one.previous_secret,
        "standing": _standing_text(one.standing),
    }
    moments = {"previous_until": one.previous_until, "ends_at": one.expires_at, "at": one.position.at}
    return {
        **_key(one.owner, one.id),
        **{name: {"S": value} for name, value in texts.items() if value is not None},
        **{name: _number(value) for name, value in moments.items() if value is not None},
        "number": {"N": str(one.position.number)},
        "expires_at": {"N": str(seconds_of(one.expires_at))},
    }


def _subscription_of(item: Item) -> Subscription:
    return Subscription(
        Principal(item["pk"]["S"]),
        _filter_of(item),
        item["url"]["S"],
        item["secret"]["S"],
        _moment(item, "ends_at"),
        Position(int(item["number"]["N"]), _moment(item, "at")),
        item["previous_secret"]["S"] if "previous_secret" in item else None,
        _moment(item, "previous_until") if "previous_until" in item else None,
        _standing_of(load_json(item["standing"]["S"])),
    )


def _listener_of(item: Item, at: datetime) -> Listener:
    is_carried = "carried_until" in item and int(item["carried_until"]["N"]) > milliseconds_of(at)
    asked_for = item["asked_for"]["S"] if "asked_for" in item else None
    return Listener(_filter_of(item), is_carried and "news" in item, asked_for if is_carried else None)


def _filter_of(item: Item) -> Filter:
    return filter_of(item["name"]["S"], load_json(item["arguments"]["S"]))


def _standing_text(one: Standing) -> str:
    moments = (one.next_attempt_at, one.failing_since, one.last_delivery_at)
    return write([one.failures, *map(milliseconds_if_any, moments), one.last_error, one.retried_by])


def _standing_of(value: Json) -> Standing:
    failures, next_at, since, delivered, error, carrier = value
    return Standing(failures, moment_if_any(next_at), moment_if_any(since), error, moment_if_any(delivered), carrier)


def _key(owner: Principal, subscription_id: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _SUBSCRIPTION + subscription_id}}


def _places_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _PLACES}}


def _places_of(item: Item) -> dict[str, int]:
    return load_json(item["places"]["S"])


def _verified_key(owner: Principal, url: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _VERIFIED + hashlib.sha256(url.encode()).hexdigest()}}


def _number(moment: datetime) -> Item:
    return {"N": str(milliseconds_of(moment))}


def _moment(item: Item, name: str) -> datetime:
    return moment_of(int(item[name]["N"]))
