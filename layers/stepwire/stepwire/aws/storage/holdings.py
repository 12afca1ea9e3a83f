"""Everything that the table and the bucket hold of one caller, for its operator: to give it to them, and to erase it.

The rule: `KINDS` has the kind of every item below a caller's principal; what is kept elsewhere is found through those.
An erasure may end anywhere: each call erases a part, and the next one goes on with what is left.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from stepwire.aws.s3 import prefix_of
from stepwire.aws.storage.approvals import APPROVER, found_key, subscriber_in
from stepwire.aws.storage.items import TASK_PREFIX, task_of
from stepwire.aws.storage.lines import share_key
from stepwire.aws.storage.table import Item, Table, all_of
from stepwire.principal import Principal
from stepwire.tasks.task import Task

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

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
_PAGE: Final = 100  # items


class Erased(Struct, frozen=True):
    """What one call has erased."""

    items: int
    objects: int
    is_done: bool


class NotEnded(Exception):
    """A task has not ended: erasing it would leave its execution alone."""

    def __init__(self, task: Task) -> None:
        super().__init__(task.task_id)
        self.task = task


class Holdings(Struct, frozen=True):
    """What is held of one caller."""

    table: Table
    owner: Principal

    def items(self, prefix: str = "", after: str | None = None, most: int | None = None) -> Iterator[Item]:
        """Yield the items whose sort keys begin so, in their order: all, or so many."""
        start = {} if after is None else {"ExclusiveStartKey": self._key(after)}
        condition = "pk = :owner AND begins_with(sk, :prefix)" if prefix else "pk = :owner"
        values = {":owner": {"S": self.owner}, **({":prefix": {"S": prefix}} if prefix else {})}
        return self.table.query(condition, values, most=most, page=_PAGE, **start)

    def tasks(self, after: str | None) -> tuple[list[Task], str | None]:
        """Return a part of the tasks, and where the next part begins; None: this was the last."""
        heads = list(self.items(TASK_PREFIX, after, _PAGE))
        return list(map(task_of, heads)), heads[-1]["sk"]["S"] if len(heads) == _PAGE else None

    def erase(self, objects: "ErasedObjects", may_go_on: Callable[[], bool]) -> Erased:
        """Erase what is there, as long as it may go on and the caller begins nothing new.

        Raises:
            NotEnded: a task has not ended; nothing was erased.
        """
        for task in map(task_of, self.items(TASK_PREFIX)):
            if not task.has_ended:
                raise NotEnded(task)
        erased = objects.erase(self.owner, may_go_on)
        count = 0
        while may_go_on():
            found = list(self.items(most=_PAGE))
            if not found:
                return Erased(count, erased, is_done=True)
            heads = [item for item in found if _is_head(item)]
            if not all(task.has_ended for task in map(task_of, heads)):
                break  # created meanwhile; the next call says so
            count += self._delete([key for item in found for key in self._keys_of(item)])
        return Erased(count, erased, is_done=False)

    def _keys_of(self, item: Item) -> Iterator[Item]:
        """Yield the key of an item, after those of what only it leads to."""
        sort_key = item["sk"]["S"]
        if sort_key == APPROVER:
            yield from (found_key(digest, self.owner) for digest in sorted(subscriber_in(self.owner, item).digests))
        if _is_head(item) and (line := task_of(item).line) is not None:
            yield share_key(line.line, self.owner)
        yield self._key(sort_key)

    def _delete(self, keys: Sequence[Item]) -> int:
        """Delete items; those that nothing leads to afterwards come last, so that a fault before them repeats all."""
        own = [key for key in keys if key["pk"]["S"] == self.owner]
        for part in ([key for key in keys if key["pk"]["S"] != self.owner], own):
            all_of(partial(self.table.client.delete_item, TableName=self.table.name, Key=key) for key in part)
        return len(own)

    def _key(self, sort_key: str) -> Item:
        return {"pk": {"S": self.owner}, "sk": {"S": sort_key}}


class ErasedObjects(Struct, frozen=True):
    """Erases the large results of callers."""

    bucket: str
    client: "S3Client"

    def erase(self, owner: Principal, may_go_on: Callable[[], bool]) -> int:
        """Erase all results of a caller, as long as it may go on; return how many."""
        count = 0
        while may_go_on():
            found = self.client.list_objects_v2(Bucket=self.bucket, Prefix=prefix_of(owner), MaxKeys=_PAGE)
            keys = [one["Key"] for one in found.get("Contents", ()) if "Key" in one]
            if not keys:
                break
            for key in keys:
                self.client.delete_object(Bucket=self.bucket, Key=key)
            count += len(keys)
        return count


def _is_head(item: Item) -> bool:
    return item["sk"]["S"].startswith(TASK_PREFIX)


def kind_of(item: Item) -> str:
    """Return what an item is."""
    sort_key = item["sk"]["S"]
    return next((kind for prefix, kind in KINDS.items() if sort_key.startswith(prefix)), "item")
