"""The inbox of approvers in the table: an item for each open question, under each quality by which it is found.

    pk  "approvals#" + the quality's digest      sk  the time + "#" + a digest of the question's key
        owner, task_id, number   the question's key     expires_at  the TTL attribute
    pk  "approvals#" + the quality's digest      sk  "open"
        questions                how many are open      expires_at  the TTL attribute
    pk  an approver's principal  sk  "asking#" + the digest of a call
        attempt, reason          `Asking`; without a reason where the user has closed the form
        expires_at               the TTL attribute
    pk  a subscriber's principal sk  "events#approver"
    pk  "subscribers#" + the quality's digest           sk  a subscriber's principal
        person, digests, until   `Subscriber`           expires_at  the TTL attribute

The rule: an entry and its count change in one transaction, so whatever fails and is done again, the count is never
below what is there. It may be above: nobody counts what DynamoDB removes by itself, so an entry outlives its task.

The questions of one quality are in one partition, which gives its oldest ones. The item `open` also tells whether there
is anything to look for under a quality. Of an approver's partitions a bounded number is read, those with open questions
first, so that each decision makes room for the next. docs/limits.md says what one partition bounds.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import partial
from math import ceil
from typing import Final, cast

from msgspec import Struct

from stepwire.aws.storage.table import UNMET, Item, Table, all_of, in_milliseconds, in_seconds
from stepwire.codec import milliseconds_of, moment_of
from stepwire.errors import StoreBusy
from stepwire.extras.approvals.inbox import Asking, Found, InboxEntry, QuestionKey
from stepwire.extras.approvals.listening import MOST_FOUND, Subscriber
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey

MOST_PARTITIONS: Final = 50
"""That are read for one approver."""
_PREFIX: Final = "approvals#"
_OPEN: Final = "open"
APPROVER: Final = "events#approver"
_SUBSCRIBERS: Final = "subscribers#"
_MOST_READ: Final = 5 * MOST_FOUND
_ASKING: Final = "asking#"
_IS_LATER_ATTEMPT: Final = "attribute_not_exists(pk) OR attempt < :attempt"
_IS_NEW: Final = "attribute_not_exists(pk)"
_IS_THERE: Final = "attribute_exists(pk)"
_COUNTS_SOME: Final = "questions > :none"
_IS_NOT_LATER: Final = "attribute_not_exists(expires_at) OR expires_at <= :last"
_MOST_TRIES: Final = 5
_LINGERS: Final = timedelta(days=7)
"""By which an entry outlives its task, for DynamoDB removes expired items in any order, mostly within two days."""


class DynamoDbInbox(Struct, frozen=True):
    """`Inbox` in a DynamoDB table."""

    table: Table

    def add(self, entry: InboxEntry) -> None:
        for digest in entry.digests:
            if not any(self._added(digest, entry) for _ in range(_MOST_TRIES)):
                raise StoreBusy

    def remove(self, entry: InboxEntry) -> None:
        for digest in entry.digests:
            self._remove(digest, _entry_key(digest, entry))

    def find(self, digests: Sequence[str], most: int) -> Found:
        markers = self.table.get_all([open_key(digest) for digest in dict.fromkeys(digests)], is_consistent=False)
        # Those in which nothing is open come last, as far as is counted: a process may have died before it counted.
        markers = sorted(markers, key=lambda one: (_count_in(one, uncounted=1) <= 0, one["pk"]["S"]))
        there = [marker["pk"]["S"] for marker in markers]
        looked_into = there[:MOST_PARTITIONS]
        each = ceil(most / max(1, len(looked_into)))
        read = [self._read(partition, each) for partition in looked_into]
        in_order = sorted((item for items in read for item in items), key=lambda item: item["sk"]["S"])
        keys = tuple(dict.fromkeys(map(_key_of, in_order)))
        is_all = looked_into == there and len(keys) <= most and all(len(items) < each for items in read)
        return Found(keys[:most], is_all)

    def _read(self, partition: str, most: int) -> Sequence[Item]:
        return self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :partition AND sk < :open",  # the times, which are digits
            ExpressionAttributeValues={":partition": {"S": partition}, ":open": {"S": _OPEN}},
            Limit=most,
        )["Items"]

    def _added(self, digest: str, entry: InboxEntry) -> bool:
        """Add and count an entry unless it is there, and return whether nobody else wrote at the same time."""
        marker = self.table.get(open_key(digest)) or {}
        item = _item_of(digest, entry)
        last = max(item["expires_at"], marker.get("expires_at", item["expires_at"]), key=lambda one: int(one["N"]))
        refused = self._counted(
            {"Put": {"TableName": self.table.name, "Item": item, "ConditionExpression": _IS_NEW}},
            digest,
            "ADD questions :by SET expires_at = :last",
            _IS_NOT_LATER,
            {":by": {"N": "1"}, ":last": last},
        )
        return not refused or refused[0] == UNMET

    def _remove(self, digest: str, key: Item) -> None:
        """Remove and count an entry, if it is there.

        Raises:
            StoreBusy: others wrote at the same time, several times.
        """
        delete = {"Delete": {"TableName": self.table.name, "Key": key, "ConditionExpression": _IS_THERE}}
        for _ in range(_MOST_TRIES):
            values = {":by": {"N": "-1"}, ":none": {"N": "0"}}
            match self._counted(delete, digest, "ADD questions :by", _COUNTS_SOME, values):
                case ():
                    return
                case (reason, _) if reason == UNMET:
                    return
                case (_, reason) if reason == UNMET:  # the marker has expired
                    self.table.delete(key, _IS_THERE, {})
                    return
                case _:
                    pass  # another writer was faster
        raise StoreBusy

    def _counted(self, write: Item, digest: str, count: str, condition: str, values: Item) -> tuple[str, ...]:
        """Make a write together with a change of the marker; return why they were refused, as `Table.transact` does."""
        marker = {
            "TableName": self.table.name,
            "Key": open_key(digest),
            "UpdateExpression": count,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        return self.table.transact([write, {"Update": marker}])


class DynamoDbAskings(Struct, frozen=True):
    """`Askings` in a DynamoDB table."""

    table: Table

    def note(self, approver: Principal, call: str, asking: Asking, until: datetime) -> None:
        reason = {} if asking.reason is None else {"reason": {"S": asking.reason}}
        attempt: Item = {"N": str(asking.attempt)}
        item = {**_asking_key(approver, call), "attempt": attempt, **reason, "expires_at": in_seconds(until)}
        self.table.put(item, _IS_LATER_ATTEMPT, {":attempt": attempt})

    def find(self, approver: Principal, call: str) -> Asking | None:
        item = self.table.get(_asking_key(approver, call))
        return None if item is None else Asking(int(item["attempt"]["N"]), item.get("reason", {}).get("S"))


class DynamoDbSubscribers(Struct, frozen=True):
    """`Subscribers` in a DynamoDB table: what a sign-in has shown, also under each quality."""

    table: Table

    def known(self, owner: Principal) -> Subscriber | None:
        item = self.table.get(_subscriber_key(owner))
        return None if item is None else subscriber_in(owner, item)

    def keep(self, subscriber: Subscriber) -> None:
        known, owner = self.known(subscriber.owner), subscriber.owner
        lost = known.digests - subscriber.digests if known is not None else frozenset[str]()
        shown: Item = {
            "person": {"S": subscriber.person},
            "digests": {"S": " ".join(sorted(subscriber.digests))},
            "until": in_milliseconds(subscriber.until),
            "expires_at": in_seconds(subscriber.until),
        }
        writes = [partial(self.table.put, {**found_key(digest, owner), **shown}) for digest in subscriber.digests]
        writes += [partial(self.table.delete, found_key(digest, owner), "", {}) for digest in lost]
        all_of(writes)
        # Last: a fault before it has the others written again.
        self.table.put({**_subscriber_key(owner), **shown})

    def find(self, digests: Iterable[str], at: datetime) -> Sequence[Subscriber]:
        found = (one for digest in digests for one in self._under(digest, at))
        return list({one.owner: one for one in found}.values())

    def _under(self, digest: str, at: datetime) -> Iterable[Subscriber]:
        items = self.table.client.query(
            TableName=self.table.name,
            KeyConditionExpression="pk = :pk",
            FilterExpression="#until > :at",  # an item may be there for days after that
            ExpressionAttributeNames={"#until": "until"},
            ExpressionAttributeValues={":pk": {"S": _SUBSCRIBERS + digest}, ":at": in_milliseconds(at)},
            Limit=_MOST_READ,
        )["Items"]
        return [subscriber_in(Principal(item["sk"]["S"]), item) for item in cast(list[Item], items)][:MOST_FOUND]


def _subscriber_key(owner: Principal) -> Item:
    return {"pk": {"S": owner}, "sk": {"S": APPROVER}}


def found_key(digest: str, owner: Principal) -> Item:
    """Return the primary key of the item under which a subscriber is found by a quality."""
    return {"pk": {"S": _SUBSCRIBERS + digest}, "sk": {"S": owner}}


def subscriber_in(owner: Principal, item: Item) -> Subscriber:
    """Return the subscriber of an item."""
    digests = frozenset(item["digests"]["S"].split())
    return Subscriber(owner, item["person"]["S"], digests, moment_of(int(item["until"]["N"])))


def _asking_key(approver: Principal, call: str) -> Item:
    return {"pk": {"S": approver}, "sk": {"S": _ASKING + call}}


def _entry_key(digest: str, entry: InboxEntry) -> Item:
    sort_key = f"{milliseconds_of(entry.asked_at):013d}#{_name_of(entry.key)}"
    return {"pk": {"S": _PREFIX + digest}, "sk": {"S": sort_key}}


def _item_of(digest: str, entry: InboxEntry) -> Item:
    return {
        **_entry_key(digest, entry),
        "owner": {"S": entry.key.task.owner},
        "task_id": {"S": entry.key.task.task_id},
        "number": {"N": str(entry.key.number)},
        "expires_at": in_seconds(entry.expires_at + _LINGERS),
    }


def _count_in(marker: Item, *, uncounted: int) -> int:
    """Return about how many questions are open behind a marker, or a number for one that has no count yet."""
    return int(marker["questions"]["N"]) if "questions" in marker else uncounted


def open_key(digest: str) -> Item:
    """Return the primary key of the item that counts the open questions under a quality."""
    return {"pk": {"S": _PREFIX + digest}, "sk": {"S": _OPEN}}


def _name_of(key: QuestionKey) -> str:
    text = f"{key.task.owner} {key.task.task_id} {key.number}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _key_of(item: Item) -> QuestionKey:
    task = TaskKey(Principal(item["owner"]["S"]), TaskId(item["task_id"]["S"]))
    return QuestionKey(task, int(item["number"]["N"]))
