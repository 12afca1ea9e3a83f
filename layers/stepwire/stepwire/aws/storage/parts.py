"""What may be too large for a task's item: its terms and its result, each in an item of its own beside it.

    pk  the owner's principal    sk  "terms#" or "result#" + the task's id + "#" + a digest of the content

A result that is too large for an item is an object in S3 (`large_results`).
The task's own item, its head, names the place of each. The rule: a part is written before the head that names it, and
an item of a place never changes its content. So writers that race, and a crash between any two writes, leave at worst
a part that no head names, which expires like the others.
"""

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from stepwire.aws.storage.items import IN_BUCKET, Item, item_of, terms_of, texts_of_terms
from stepwire.aws.storage.times import seconds_of
from stepwire.errors import PartMissing
from stepwire.tasks.ids import TaskKey
from stepwire.tasks.task import Completed, ResultElsewhere, Task, Terms, TermsElsewhere, ToolResult

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from stepwire.aws.storage.large_results import LargeResults

LARGEST_NEW_HEAD: Final = 1_536  # bytes; leaves room for a message, so that most heads stay below the next limit
LARGEST_HEAD: Final = 2_048  # bytes of a task that runs: a change of it costs two write units
LARGEST_ENDED_HEAD: Final = 4_096  # bytes: a read costs one read unit, and no change follows
LARGEST_PART: Final = 400_000  # bytes of a result in an item; an item of DynamoDB has at most 409,600
LARGEST_INSIDE: Final = 256  # bytes of a part that no head is too large for: an item of its own would cost more
_MOST_OF_A_NUMBER: Final = 21  # bytes


class LargeResult(Struct, frozen=True):
    """A result that is too large for an item."""

    digest: str
    text: str


class Divided(Struct, frozen=True):
    """A task as it is stored."""

    head: Task
    item: Item
    """The item of the head."""
    parts: tuple[Item, ...] = ()
    """The items to write before the head."""
    large_result: LargeResult | None = None
    """What to write to the bucket before the head."""


def divided(task: Task) -> Divided:
    """Return a task with its large parts in items of their own, so that its head is small: see the limits above."""
    done, most = Divided(task, item_of(task)), _largest_head(task)
    if size_of(done.item) <= most:
        return done
    for take in sorted((_without_terms, _without_result), key=lambda one: one(task).size, reverse=True):
        taken = take(done.head)
        if taken.size > LARGEST_INSIDE and size_of(done.item) > most:
            parts = (*done.parts, taken.part) if taken.part else done.parts
            done = Divided(taken.head, item_of(taken.head), parts, taken.large_result or done.large_result)
    return done


def no_large_results() -> "LargeResults":
    """Stand for the bucket in a function that has none."""
    raise NotImplementedError("this function neither records ends nor returns results")


def size_of(item: Item) -> int:
    """Return the size of an item in bytes, as DynamoDB computes it."""
    return sum(len(name.encode()) + _size_of_value(value) for name, value in item.items())


def read_units(item: Item) -> int:
    """Return what a strongly consistent read of an item costs."""
    return -(-size_of(item) // 4096)


def write_units(item: Item) -> int:
    """Return what a write of an item costs, if the item is not larger than the one that it replaces."""
    return -(-size_of(item) // 1024)


class Parts(Struct, frozen=True):
    """`TaskParts` in a DynamoDB table and a bucket."""

    table_name: str
    client: "Callable[[], DynamoDBClient]"
    large_results: "Callable[[], LargeResults]"

    def write(self, divided: Divided) -> None:
        """Write the parts of a task. Idempotent.

        Raises:
            ObjectsUnavailable: S3 does not answer, or the bucket is denied.
        """
        for item in divided.parts:
            self.client().put_item(TableName=self.table_name, Item=item)
        if divided.large_result is not None:
            self.large_results().write(divided.head.key, divided.large_result.digest, divided.large_result.text)

    def terms_of(self, task: Task) -> Terms:
        terms = task.work.terms
        return terms if isinstance(terms, Terms) else terms_of(self._read(terms_key(task.key, terms)))

    def result_of(self, task: Task, kept: ResultElsewhere) -> ToolResult:
        if kept.place.startswith(IN_BUCKET):
            text = self.large_results().read(task.key, kept.place.removeprefix(IN_BUCKET))
            return ToolResult(text, kept.is_error)
        return result_of(self._read(result_key(task.key, kept)), kept)

    def _read(self, key: Item) -> Item:
        found = self.client().get_item(TableName=self.table_name, Key=key, ConsistentRead=True)
        if "Item" not in found:
            raise PartMissing
        return cast(Item, found["Item"])


def terms_key(key: TaskKey, terms: TermsElsewhere) -> Item:
    """Return the primary key of a task's terms."""
    return _part_key("terms", key, terms.place)


def result_key(key: TaskKey, kept: ResultElsewhere) -> Item:
    """Return the primary key of a task's result."""
    return _part_key("result", key, kept.place)


def result_of(item: Item, kept: ResultElsewhere) -> ToolResult:
    """Return the result of an item."""
    return ToolResult(item["result"]["S"], kept.is_error)


class _Taken(Struct, frozen=True):
    """A task without one of its parts."""

    head: Task
    part: Item
    size: int
    """Bytes of the part; 0 if the task does not hold it."""
    large_result: LargeResult | None = None
    """The part, if it is too large for an item."""


_Take: TypeAlias = Callable[[Task], _Taken]


def _without_terms(task: Task) -> _Taken:
    terms = task.work.terms
    if not isinstance(terms, Terms):
        return _Taken(task, {}, 0)
    texts = {name: text for name, text in texts_of_terms(terms).items() if text is not None}
    elsewhere = TermsElsewhere(_digest(texts))
    # A result that could not be read at the end is fetched later, with the terms; until then its task is kept.
    expires_at = {"N": str(seconds_of(task.expires_at + task.keep_result))}
    part = {**terms_key(task.key, elsewhere), **_strings(texts), "expires_at": expires_at}
    head = replace(task, work=replace(task.work, terms=elsewhere))
    return _Taken(head, part, sum(len(text.encode()) for text in texts.values()))


def _without_result(task: Task) -> _Taken:
    status = task.status
    if not (isinstance(status, Completed) and isinstance(status.result, ToolResult)):
        return _Taken(task, {}, 0)
    text = status.result.text
    texts, size = {"result": text}, len(text.encode())
    digest = _digest(texts)
    if size > LARGEST_PART:
        in_bucket = ResultElsewhere(status.result.is_error, IN_BUCKET + digest, size)
        head = replace(task, status=replace(status, result=in_bucket))
        return _Taken(head, {}, size, LargeResult(digest, text))
    elsewhere = ResultElsewhere(status.result.is_error, digest, size)
    expires_at = {"N": str(seconds_of(task.expires_at))}
    part = {**result_key(task.key, elsewhere), **_strings(texts), "expires_at": expires_at}
    return _Taken(replace(task, status=replace(status, result=elsewhere)), part, size)


def _largest_head(task: Task) -> int:
    if task.has_ended:
        return LARGEST_ENDED_HEAD
    return LARGEST_NEW_HEAD if task.version <= 1 else LARGEST_HEAD


def _part_key(kind: str, key: TaskKey, place: str) -> Item:
    return {"pk": {"S": key.owner}, "sk": {"S": f"{kind}#{key.task_id}#{place}"}}


def _strings(texts: dict[str, str]) -> Item:
    return {name: {"S": text} for name, text in texts.items()}


def _digest(texts: dict[str, str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, text in texts.items():
        content = text.encode()
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()


def _size_of_value(value: dict[str, Any]) -> int:
    """Return the size of a value; of a number, an upper bound."""
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return min(_MOST_OF_A_NUMBER, len(content) // 2 + 2)
        case "SS":
            return sum(len(text.encode()) for text in content)
        case _:
            raise NotImplementedError(kind)
