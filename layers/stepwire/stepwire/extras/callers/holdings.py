"""What the table holds of one caller: the command exports it and erases it (`stepwire caller`).

The rule: `KINDS` has the kind of every item below a caller's principal; what is kept elsewhere is found through those.
"""

from collections.abc import Iterator
from typing import Final

from stepwire.aws.storage.approvals import APPROVER, found_key, subscriber_in
from stepwire.aws.storage.items import TASK_PREFIX, task_of
from stepwire.aws.storage.table import Item
from stepwire.principal import Principal

KINDS: Final = {
    "asking#": "question that was shown",
    "change#": "event",
    "events#approver": "approver",
    "events#places": "places of subscriptions",
    "events#record": "record of events",
    "events#sub#": "subscription",
    "key#": "idempotency key",
    "request#": "request",
    "result#": "result",
    TASK_PREFIX: "task",
    "terms#": "arguments",
    "usage#": "usage",
    "verified#": "verified endpoint",
    "waits": "slots of waiting requests",
}
"""What an item is, by how its sort key begins."""


def keys_of(owner: Principal, item: Item) -> Iterator[Item]:
    """Yield the key of an item, after those of items elsewhere to which nothing but this one leads."""
    sort_key = item["sk"]["S"]
    if sort_key == APPROVER:
        yield from (found_key(digest, owner) for digest in sorted(subscriber_in(owner, item).digests))
    if sort_key.startswith(TASK_PREFIX) and (line := task_of(item).line) is not None:
        yield share_key(line.line, owner)
    yield {"pk": {"S": owner}, "sk": {"S": sort_key}}


def kind_of(item: Item) -> str:
    """Return what an item is."""
    sort_key = item["sk"]["S"]
    return next((kind for prefix, kind in KINDS.items() if sort_key.startswith(prefix)), "item")


def share_key(line: str, owner: Principal) -> Item:
    """Return the primary key of what a line remembers of a caller."""
    return {"pk": {"S": line}, "sk": {"S": f"share#{owner}"}}
