"""The items of a task: its head, and beside it what may be too large for a head, its terms and its result.

    pk  the owner's principal    sk  "task#" + the task's id       the head
    pk  the owner's principal    sk  "terms#" or "result#" + the task's id + "#" + a digest of the content

The head is small, because every poll reads it and every change writes it: one JSON document, the attribute `task`
(`codec`). Attributes beside it hold what something else than a read of the task needs:

    pk, sk, created_at, version  the key, and what conditions compare; the document leaves them out
    expires_at  epoch seconds, rounded up: the table's TTL attribute
    open        the sweep's shard, only while an execution may run or start: with checked_at, the key of the index
                `neglected`; checked_at is in steps, the document has it exactly
    status, news                 what the filters of the table's stream in template.yaml compare
    format      the number of this form; no code depends on it

The rule: what a read needs is in one place, the document or a condition's attribute; the rest of the attributes are
written from the task and never read back. docs/upgrades.md has the rules for changing the form.

A part is written before the head that names it, and an item of a place never changes its content. So writers that
race, and a crash between any two writes, leave at worst a part that no head names, which expires like the others. A
result that is too large for an item is an object in the bucket of the stack (`stepwire.aws.s3`), under the same rule.
"""

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from stepwire.aws.s3 import LargeResults
from stepwire.aws.storage.table import Item, Table, in_seconds
from stepwire.codec import MILLISECOND, decode, encode_without, milliseconds_of, moment_of, seconds_of
from stepwire.errors import PartMissing
from stepwire.json_text import as_object
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.task import Completed, ResultElsewhere, Task, Terms, TermsElsewhere, ToolResult

FORMAT: Final = 1
TASK_PREFIX: Final = "task#"
NEGLECTED_INDEX: Final = "neglected"
SHARDS: Final = ("0", "1", "2", "3")
"""The values of `open`: each is a partition of the index, and a partition accepts 1,000 writes per second."""
CHECKED_AT_STEP: Final = timedelta(minutes=5)
"""`checked_at` is rounded down to these steps: the key of an index costs two writes whenever it changes."""
KINDS: Final = {
    "key#": "idempotency key",
    "request#": "request",
    "result#": "result",
    TASK_PREFIX: "task",
    "terms#": "arguments",
    "usage#": "usage",
    "waits": "slots of waiting requests",
}
"""What each item is that the core keeps below a caller, by how its sort key begins. What extras keep there, their hook
`items` says: whoever exports or erases all of a caller asks both."""
IN_BUCKET: Final = "s3#"
"""Begins the place of a result that is in the bucket, and not in the table."""
BESIDE: Final = 208
"""Bytes of a head's other attributes than its document, at most."""
# An item of its own is a call more, so the limits have room for the quotation marks of texts, which JSON escapes.
LARGEST_NEW_HEAD: Final = 1_920  # bytes; leaves room for a message, so that most heads stay below the next limit
LARGEST_HEAD: Final = 2_432  # bytes of a task that runs: a change of it costs at most three write units
LARGEST_ENDED_HEAD: Final = 5_120  # bytes: a read costs at most two read units, and no change follows
LARGEST_PART: Final = 400_000  # bytes of a result in an item; an item of DynamoDB has at most 409,600
LARGEST_INSIDE: Final = 256  # bytes of a part that no head is too large for: an item of its own would cost more
_OUTSIDE: Final = ("owner", "task_id", "created_at", "version")
"""The fields of a task that the document leaves out."""
_BY_TTL: Final = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


# ----------------------------------------------------------------------------------------------------------------- head


def item_of(task: Task) -> Item:
    """Return the head of a task."""
    status = str(task.shown_status.__struct_config__.tag)
    is_error = isinstance(task.status, Completed) and task.status.result.is_error
    step = CHECKED_AT_STEP // MILLISECOND
    numbers = {
        "format": FORMAT,
        "version": task.version,
        "created_at": milliseconds_of(task.created_at),
        "checked_at": milliseconds_of(task.checked_at) // step * step,
        # Rounded up: DynamoDB may delete the item from this second on, when no reader sees the task any more.
        "expires_at": seconds_of(task.expires_at),
    }
    return {
        **item_key(task.key),
        "task": {"S": encode_without(_OUTSIDE, task)},
        "status": {"S": f"{status}_with_error" if is_error else status},
        **({"open": {"S": SHARDS[ord(task.task_id[-1]) % len(SHARDS)]}} if task.needs_checks else {}),
        **({"news": {"S": news}} if (news := _news_of(task)) else {}),
        **{name: {"N": str(value)} for name, value in numbers.items()},
    }


def _news_of(task: Task) -> str:
    """Return what a change of a working task may tell besides its status: questions to others, progress, a place."""
    if task.inputs.has_asked_others:
        return "questions"
    if task.progress:
        return "progress"
    return "" if task.line is None else "line"


def task_of(item: Item) -> Task:
    """Return the task of a head."""
    key = task_key_from_item(item)
    created_at = moment_of(int(item["created_at"]["N"]))
    outside = {"owner": key.owner, "task_id": key.task_id, "created_at": created_at}
    return decode(item["task"]["S"], Task, **outside, version=int(item["version"]["N"]))


def item_key(key: TaskKey) -> Item:
    """Return the primary key of a task's head."""
    return {"pk": {"S": key.owner}, "sk": {"S": TASK_PREFIX + key.task_id}}


def task_key_from_item(item: Item) -> TaskKey:
    """Return the key of an item's task; the item's own key attributes suffice."""
    return TaskKey(Principal(item["pk"]["S"]), TaskId(item["sk"]["S"].removeprefix(TASK_PREFIX)))


# ---------------------------------------------------------------------------------------------------------------- parts


class Divided(Struct, frozen=True):
    """A task as it is stored."""

    head: Task
    item: Item
    """The item of the head."""
    parts: tuple[Item, ...] = ()
    """The items to write before the head."""
    large_result: tuple[str, str] | None = None
    """The digest and the text to write to the bucket before the head."""


def divided(task: Task) -> Divided:
    """Return a task with its large parts in items of their own, so that its head is small: see the limits above."""
    most = LARGEST_ENDED_HEAD if task.has_ended else LARGEST_NEW_HEAD if task.version <= 1 else LARGEST_HEAD
    stored = Divided(task, item_of(task))
    if _size_of(stored.item) <= most:
        return stored
    terms, status = task.work.terms, task.status
    texts = asdict(terms).values() if isinstance(terms, Terms) else ()
    result = status.result.text if isinstance(status, Completed) and isinstance(status.result, ToolResult) else ""
    sizes = {
        _without_terms: sum(len(text.encode()) for text in texts if text),
        _without_result: len(result.encode()),
    }
    for without in sorted(sizes, key=lambda one: sizes[one], reverse=True):
        if sizes[without] > LARGEST_INSIDE and _size_of(stored.item) > most:
            stored = without(stored)
    return stored


def _without_terms(stored: Divided) -> Divided:
    task, terms = stored.head, stored.head.work.terms
    if not isinstance(terms, Terms):
        return stored
    texts = {name: text for name, text in asdict(terms).items() if text is not None}
    elsewhere = TermsElsewhere(_digest(texts))
    # A result that could not be read at the end is fetched later, with the terms; until then its task is kept.
    key = part_key("terms", task.key, elsewhere.place)
    part = _part(key, texts, task.expires_at + task.keep_result)
    head = replace(task, work=replace(task.work, terms=elsewhere))
    return Divided(head, item_of(head), (*stored.parts, part), stored.large_result)


def _without_result(stored: Divided) -> Divided:
    task, status = stored.head, stored.head.status
    if not isinstance(status, Completed) or not isinstance(result := status.result, ToolResult):
        return stored
    texts, size = {"result": result.text}, len(result.text.encode())
    digest, is_huge = _digest(texts), size > LARGEST_PART
    kept = ResultElsewhere(result.is_error, IN_BUCKET + digest if is_huge else digest, size)
    head = replace(task, status=replace(status, result=kept))
    if is_huge:
        return Divided(head, item_of(head), stored.parts, (digest, result.text))
    part = _part(part_key("result", task.key, digest), texts, task.expires_at)
    return Divided(head, item_of(head), (*stored.parts, part))


def _size_of(head: Item) -> int:
    return BESIDE + len(head["task"]["S"].encode())


def part_key(kind: str, key: TaskKey, place: str) -> Item:
    """Return the primary key of the `terms` or the `result` of a task."""
    return {"pk": {"S": key.owner}, "sk": {"S": f"{kind}#{key.task_id}#{place}"}}


def terms_of(item: Item) -> Terms:
    """Return the terms of an item of their own."""
    return Terms(**{name: item[name]["S"] for name in Terms.__struct_fields__ if name in item})


def result_of(item: Item, kept: ResultElsewhere) -> ToolResult:
    """Return the result of an item of its own."""
    return ToolResult(item["result"]["S"], kept.is_error)


def _part(key: Item, texts: dict[str, str], expires_at: datetime) -> Item:
    return {**key, **{name: {"S": text} for name, text in texts.items()}, "expires_at": in_seconds(expires_at)}


def _digest(texts: dict[str, str]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name, text in texts.items():
        content = text.encode()
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()


class Parts(Struct, frozen=True):
    """`TaskParts` in a DynamoDB table and a bucket."""

    table: Table
    large_results: Callable[[], LargeResults]

    def write(self, divided: Divided) -> None:
        """Write the parts of a task. Idempotent.

        Raises:
            ObjectsUnavailable: S3 does not answer, or the bucket is denied.
        """
        for item in divided.parts:
            self.table.put(item)
        if divided.large_result is not None:
            self.large_results().write(divided.head.key, *divided.large_result)

    def terms_of(self, task: Task) -> Terms:
        terms = task.work.terms
        if isinstance(terms, Terms):
            return terms
        return terms_of(self._read("terms", task.key, terms.place))

    def result_of(self, task: Task, kept: ResultElsewhere) -> ToolResult:
        if kept.place.startswith(IN_BUCKET):
            text = self.large_results().read(task.key, kept.place.removeprefix(IN_BUCKET))
            return ToolResult(text, kept.is_error)
        return result_of(self._read("result", task.key, kept.place), kept)

    def _read(self, kind: str, key: TaskKey, place: str) -> Item:
        found = self.table.get(part_key(kind, key, place))
        if found is None:
            raise PartMissing
        return found


# ------------------------------------------------------------------------------------------------------ the stream


def expired_task_of(record: dict[str, Any]) -> Task | None:
    """Return the last state of an expired task; None for every other record."""
    item = as_object(record["dynamodb"].get("OldImage"))
    is_task = str(as_object(item.get("sk")).get("S")).startswith(TASK_PREFIX)
    return task_of(item) if is_expiry(record) and is_task else None


def is_expiry(record: dict[str, Any]) -> bool:
    """Tell whether DynamoDB deleted the item because its TTL had passed."""
    identity = as_object(record.get("userIdentity"))
    return record["eventName"] == "REMOVE" and {key: identity.get(key) for key in _BY_TTL} == _BY_TTL
