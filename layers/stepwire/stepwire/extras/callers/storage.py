"""The list of blocked callers in the table: one item, which the functions that serve callers read.

    pk  "blocks"  sk  "list"      callers: the hashes, at most 5,000 (160 kB)
    pk  "blocks"  sk  a hash      since, operator, reason: when it was blocked, by whom and why

No principal is called "blocks", and no other kind of item is in that partition, so IAM can permit it alone. The list
decides; it is written first, and the item beside it only tells an operator more. Each write is idempotent.
"""

from datetime import datetime
from typing import Final

from msgspec import Struct

from stepwire.aws.storage.table import Item, Table, in_milliseconds
from stepwire.codec import moment_of
from stepwire.extras.callers.blocks import MOST_BLOCKED
from stepwire.principal import Principal

PARTITION: Final = "blocks"
LIST: Final[Item] = {"pk": {"S": PARTITION}, "sk": {"S": "list"}}
_HAS_ROOM: Final = "attribute_not_exists(callers) OR size(callers) < :most OR contains(callers, :one)"
_IS_LISTED: Final = "contains(callers, :one)"
_WORDS: Final = ("operator", "reason")
_IS_NEW: Final = "attribute_not_exists(pk)"


class Block(Struct, frozen=True):
    """How a caller is blocked."""

    since: datetime | None = None
    """None: it was not noted, because the command was interrupted."""
    operator: str | None = None
    reason: str | None = None
    """In the operator's words."""


class DynamoDbBlocks(Struct, frozen=True):
    """The list in a DynamoDB table."""

    table: Table

    def read(self) -> frozenset[str]:
        """Return the hashes of all blocked callers."""
        return hashes_in(self.table.get(LIST))

    def block(self, one: Principal, how: Block) -> bool:
        """Add a caller to the list; return False if it is full. Idempotent: the first who blocked stays noted."""
        values = {":these": {"SS": [one]}, ":one": {"S": one},
                  ":most": {"N": str(MOST_BLOCKED)}}  # fmt: skip
        if self.table.update(LIST, "ADD callers :these", _HAS_ROOM, values) is not None:
            return False
        since = {} if how.since is None else {"since": in_milliseconds(how.since)}
        words = {name: {"S": text} for name in _WORDS if (text := getattr(how, name)) is not None}
        self.table.put({**record_key(one), **since, **words}, _IS_NEW)
        return True

    def unblock(self, one: Principal) -> bool:
        """Take a caller from the list, and return whether it was there. Idempotent."""
        values = {":these": {"SS": [one]}, ":one": {"S": one}}
        was_blocked = self.table.update_if(LIST, "DELETE callers :these", _IS_LISTED, values)
        self.table.client.delete_item(TableName=self.table.name, Key=record_key(one))
        return was_blocked


def record_key(one: Principal) -> Item:
    """Return the primary key of what is noted of a block."""
    return {"pk": {"S": PARTITION}, "sk": {"S": one}}


def hashes_in(item: Item | None) -> frozenset[str]:
    """Return the hashes of the list; None: nobody has been blocked yet."""
    return frozenset() if item is None else frozenset(item.get("callers", {}).get("SS", ()))


def block_in(item: Item | None) -> Block:
    """Return what is noted of a block."""
    if item is None:
        return Block()
    since = item.get("since", {}).get("N")
    return Block(since and moment_of(int(since)), *(item.get(name, {}).get("S") for name in _WORDS))
