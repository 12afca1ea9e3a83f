"""MCP Events in DynamoDB: the record of a caller's events, its webhook subscriptions, endpoints that are verified.

    pk  the caller's principal   sk  "events#record"             number, since, until, expires_at, latest
    pk  the caller's principal   sk  "change#" + 15 digits       event, at, expires_at
    pk  the caller's principal   sk  "events#sub#" + id          wanted, terms, position, standing: JSON texts; ends_at
    pk  the caller's principal   sk  "verified#" + digest        until
    pk  the caller's principal   sk  "events#places"             places, version

An event is written only if its number is free, and numbers follow one another. So a reader that has seen a number has
seen all before it. The numbers of a record begin with the time at which it was opened, in milliseconds: an older record
of the same caller has smaller ones. The record has marks of those that were added last (`latest`), so that a batch of
the stream that is given again adds nothing twice.

A delivery claims its subscription (`busy_until`), so that its events are delivered one after another. Until
`carried_until`, a message of the queue is on its way, sent for the change `asked_for`; `news` says that something has
happened since the last look. The secrets are encrypted as the whole table is (docs/decisions/0042-events.md).

The limit of a caller's subscriptions is kept by places: a subscription is written only by a request that has reserved
its place just now, and a place is given to another only after its reservation, if no live subscription has it. So
there are never more live subscriptions than places, whatever happens at the same time.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final, cast

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, all_of, in_milliseconds, in_seconds
from stepwire.changes import CallerEvent
from stepwire.codec import decode, encode, encode_without, milliseconds_of, moment_of
from stepwire.errors import StoreBusy
from stepwire.extras.events.events import LARGEST_NUMBER, RETENTION, SLACK, Filter, Head, Recorded
from stepwire.extras.events.ports import CARRIED, Listener
from stepwire.extras.events.subscription import LONGEST_SUBSCRIPTION, RESERVATION, Subscription
from stepwire.principal import Principal

RECORD: Final = "events#record"
_EVENT: Final = "change#"
_DIGITS: Final = len(str(LARGEST_NUMBER))
_MOST_NUMBERS: Final = 200  # numbers that other writers have taken
_IS_FREE: Final = "attribute_not_exists(pk)"
_IS_AS_SEEN: Final = "attribute_not_exists(pk) OR #until = :seen"
_IS_BEHIND: Final = "#number < :number"
_BEGIN: Final = "SET #number = :number, since = :since, #until = :until, expires_at = :expires_at"
_GO_ON: Final = "SET #until = :until, expires_at = :expires_at"
_ADDED: Final = "SET #number = :number, latest = :latest"
_MARK_BYTES: Final = 6
_MOST_MARKS: Final = 48  # or a whole batch; so the record is smaller than a write unit
_RESERVED: Final = ("number", "until")
"""Attributes with words of DynamoDB's for names."""


SUBSCRIPTION: Final = "events#sub#"
_VERIFIED: Final = "verified#"
_PLACES: Final = "events#places"
_PLACES_RETENTION: Final = LONGEST_SUBSCRIPTION + timedelta(days=1)  # longer than any subscription
_MOST_TRIES: Final = 20  # simultaneous requests of one caller
_IS_AS_READ: Final = "version = :seen"
_IS_LIVE_AND_FREE: Final = (
    "attribute_exists(pk) AND ends_at > :at AND (attribute_not_exists(busy_until) OR busy_until <= :at"
    " OR (busy_until = :until AND busy_by = :by))"
)
_CLAIM: Final = "SET busy_until = :until, busy_by = :by, carried_until = :carried REMOVE news, asked_for"
_IS_CLAIMED: Final = "busy_until = :until"
_IS_NOT_REFRESHED: Final = "attribute_exists(busy_by)"
_HAS_NO_NEWS: Final = "attribute_not_exists(news)"
_IS_CARRIED: Final = "carried_until > :at"
_IS_LIVE_AND_SILENT: Final = (
    "attribute_exists(pk) AND ends_at > :at AND (attribute_not_exists(carried_until) OR carried_until <= :at"
    " OR asked_for = :change)"
)
_IS_THERE: Final = "attribute_exists(pk)"
_SINGLE: Final = ("wanted", "position", "standing")
_REFRESHED: Final = ("terms", "expires_at", "ends_at", "standing")
_REFRESH: Final = (
    "SET terms = :terms, expires_at = :expires_at, ends_at = :ends_at, standing = :standing"
    " REMOVE carried_until, asked_for, busy_by"
)
"""The mark of news stays, for whoever delivers now, and who finds by `busy_by` that it was refreshed."""
_SAVE_PLACES: Final = "SET places = :places, version = :version, expires_at = :expires_at"


class DynamoDbEventStore(Struct, frozen=True):
    """`EventStore` in a DynamoDB table."""

    table: Table

    def open_record(self, owner: Principal, at: datetime, until: datetime) -> Head:
        item, end = self.table.get(_record_key(owner)), until + SLACK
        # Kept longer than it records, so that its cursors are known to be old and not foreign.
        values = {":until": in_milliseconds(end), ":expires_at": in_seconds(end + RETENTION)}
        if item is not None and _moment(item, "until") > at:
            if _moment(item, "until") < until:
                self._update(owner, _GO_ON, values)
            return _head(item)
        head = Head(milliseconds_of(at), at)
        seen = {"N": "0"} if item is None else item["until"]
        values |= {":number": {"N": str(head.number)}, ":since": in_milliseconds(at), ":seen": seen}
        if self._update(owner, _BEGIN, values, _IS_AS_SEEN):
            return head
        return _head(cast(Item, self.table.get(_record_key(owner))))  # another request has opened it just now

    def _update(self, owner: Principal, expression: str, values: Item, condition: str = "") -> bool:
        """Update the record if a condition holds; return whether it does."""
        names = [name for name in _RESERVED if f"#{name}" in expression]
        return self.table.update_if(_record_key(owner), expression, condition, values, names)

    def head(self, owner: Principal, at: datetime) -> Head | None:
        item = self.table.get(_record_key(owner))
        return None if item is None or _moment(item, "until") <= at else _head(item)

    def append(self, owner: Principal, head: Head, events: Sequence[CallerEvent]) -> None:
        marked = {_mark_of(event): event for event in events}
        added = {mark: event for mark, event in marked.items() if mark not in head.latest}
        number = head.number
        for event in added.values():
            number = self._append(owner, number, event)
        if added:
            latest = (*head.latest, *added)[-max(_MOST_MARKS, len(events)) :]
            values: Item = {":number": {"N": str(number)}, ":latest": {"S": " ".join(latest)}}
            self._update(owner, _ADDED, values, _IS_BEHIND)

    def _append(self, owner: Principal, last: int, event: CallerEvent) -> int:
        """Write an event with the next free number, and return the number."""
        text = _text_of(event)
        for number in range(last + 1, last + 1 + _MOST_NUMBERS):
            item: Item = {
                **_event_key(owner, number),
                "event": {"S": text},
                "at": in_milliseconds(event.at),
                "expires_at": in_seconds(event.at + RETENTION),
            }
            found = self.table.put(item, _IS_FREE)
            if found is None or found.get("event") == item["event"]:  # ours; else another writer's
                return number
        raise StoreBusy

    def read(self, owner: Principal, after: int, most: int) -> Sequence[Recorded]:
        page = self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":pk": {"S": owner},
                ":first": _event_key(owner, after + 1)["sk"],
                ":last": _event_key(owner, LARGEST_NUMBER)["sk"],
            },
            ConsistentRead=True,
            Limit=most,
        )
        return [_recorded(item) for item in cast(list[Item], page["Items"])]


def _record_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": RECORD}}


def _event_key(owner: Principal, number: int) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": f"{_EVENT}{number:0{_DIGITS}}"}}


def _recorded(item: Item) -> Recorded:
    return Recorded(int(item["sk"]["S"].removeprefix(_EVENT)), event_in(item))


def event_in(item: Item) -> CallerEvent:
    """Return the event of an item."""
    return decode(item["event"]["S"], CallerEvent, owner=item["pk"]["S"])


def _text_of(event: CallerEvent) -> str:
    return encode_without(("owner",), event)


def _head(item: Item) -> Head:
    latest = item["latest"]["S"].split() if "latest" in item else ()
    return Head(int(item["number"]["N"]), _moment(item, "since"), tuple(latest))


def _mark_of(event: CallerEvent) -> str:
    # Not of its id alone: a task that was taken back may be created anew, with the same id and the same versions.
    return hashlib.blake2b(_text_of(event).encode(), digest_size=_MARK_BYTES).hexdigest()


def _moment(item: Item, name: str) -> datetime:
    return moment_of(int(item[name]["N"]))


class DynamoDbSubscriptionStore(Struct, frozen=True):
    """`SubscriptionStore` in a DynamoDB table."""

    table: Table

    def load(self, owner: Principal, subscription_id: str) -> Subscription | None:
        item = self.table.get(_key(owner, subscription_id))
        return None if item is None else subscription_in(item)

    def live(self, owner: Principal, at: datetime) -> Mapping[str, Listener]:
        found = self.table.query(
            "pk = :pk AND begins_with(sk, :prefix)",
            {":pk": {"S": owner}, ":prefix": {"S": SUBSCRIPTION}},
            # The secrets stay where they are.
            ProjectionExpression="sk, wanted, ends_at, carried_until, news, asked_for",
        )
        live = (item for item in found if _moment(item, "ends_at") > at)
        return {item["sk"]["S"].removeprefix(SUBSCRIPTION): _listener_of(item, at) for item in live}

    def ask(self, owner: Principal, changes: Mapping[str, str], at: datetime) -> list[str]:
        needs = all_of(partial(self._ask, _key(owner, one), change, at) for one, change in changes.items())
        return [one for one, needs_message in zip(changes, needs, strict=True) if needs_message]

    def _ask(self, key: Item, change: str, at: datetime) -> bool:
        """Mark a subscription; return whether it needs a message."""
        marked: Item = {":at": in_milliseconds(at), ":true": {"BOOL": True}}
        values = {**marked, ":until": in_milliseconds(at + CARRIED), ":change": {"S": change}}
        for _ in range(_MOST_TRIES):
            expression = "SET news = :true, asked_for = :change, carried_until = :until"
            if self.table.update_if(key, expression, _IS_LIVE_AND_SILENT, values):
                return True
            if self.table.update_if(key, "SET news = :true", _IS_CARRIED, marked):
                return False
            item = self.table.get(key)
            if item is None or _moment(item, "ends_at") <= at:
                return False
        raise StoreBusy

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
            ":expires_at": in_seconds(at + _PLACES_RETENTION),
        }
        if seen is not None:
            values[":seen"] = seen["version"]
        return self.table.update_if(_places_key(owner), _SAVE_PLACES, _IS_AS_READ if seen else _IS_FREE, values)

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
    ) -> Subscription | None:
        values: Item = {
            ":at": in_milliseconds(at),
            ":until": in_milliseconds(until),
            ":by": {"S": carrier},
            ":carried": in_milliseconds(until + CARRIED),
        }
        claimed = self.table.updated(_key(owner, subscription_id), _CLAIM, _IS_LIVE_AND_FREE, values)
        return None if claimed is None else subscription_in(claimed)

    def finish(self, subscription: Subscription, until: datetime) -> bool:
        removed = "REMOVE busy_until, busy_by, carried_until, asked_for"
        if self._save(subscription, until, removed, f"{_IS_CLAIMED} AND {_HAS_NO_NEWS}", {}):
            return True
        key = _key(subscription.owner, subscription.id)
        return not self.table.update_if(key, "REMOVE news, asked_for", _IS_CLAIMED, {":until": in_milliseconds(until)})

    def pause(self, subscription: Subscription, until: datetime, resumes_at: datetime) -> bool:
        carried = {":carried": in_milliseconds(resumes_at + CARRIED)}
        rest = ", carried_until = :carried REMOVE busy_until, busy_by"
        if self._save(subscription, until, rest, f"{_IS_CLAIMED} AND {_IS_NOT_REFRESHED}", carried):
            return True
        key, position = _key(subscription.owner, subscription.id), _item_of(subscription)["position"]
        reached: Item = {":position": position, ":until": in_milliseconds(until)}
        expression = "SET #position = :position REMOVE busy_until"
        return not self.table.update_if(key, expression, _IS_CLAIMED, reached, ["position"])

    def _save(self, one: Subscription, until: datetime, rest: str, condition: str, values: Item) -> bool:
        item = _item_of(one)
        return self.table.update_if(
            _key(one.owner, one.id),
            f"SET #position = :position, standing = :standing {rest}",
            condition,
            {":position": item["position"], ":standing": item["standing"], ":until": in_milliseconds(until), **values},
            ["position"],
        )

    def is_verified(self, owner: Principal, url: str, at: datetime) -> bool:
        item = self.table.get(_verified_key(owner, url))
        return item is not None and _moment(item, "until") > at

    def set_verified(self, owner: Principal, url: str, until: datetime) -> None:
        item = {**_verified_key(owner, url), "until": in_milliseconds(until), "expires_at": in_seconds(until)}
        self.table.put(item)


def _item_of(one: Subscription) -> Item:
    """Return the item: what a filter reads, what its caller changes and what deliveries change are apart in it."""
    texts = {name: encode(getattr(one, name)) for name in _SINGLE}
    return {
        **_key(one.owner, one.id),
        **{name: {"S": text} for name, text in texts.items()},
        "terms": {"S": encode_without(("owner", *_SINGLE), one)},
        "ends_at": in_milliseconds(one.expires_at),
        "expires_at": in_seconds(one.expires_at),
    }


def subscription_in(item: Item) -> Subscription:
    """Return the subscription of an item."""
    single = {name: decode(item[name]["S"], object) for name in _SINGLE}
    return decode(item["terms"]["S"], Subscription, owner=item["pk"]["S"], **single)


def _listener_of(item: Item, at: datetime) -> Listener:
    is_carried = "carried_until" in item and _moment(item, "carried_until") > at
    asked_for = item["asked_for"]["S"] if is_carried and "asked_for" in item else None
    return Listener(decode(item["wanted"]["S"], Filter), is_carried and "news" in item, asked_for)


def _key(owner: Principal, subscription_id: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": SUBSCRIPTION + subscription_id}}


def _places_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _PLACES}}


def _verified_key(owner: Principal, url: str) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": _VERIFIED + hashlib.sha256(url.encode()).hexdigest()}}
