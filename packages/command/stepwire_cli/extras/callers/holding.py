"""What is held of one caller, read as the operator: all of it as JSON lines, or a short view.

The rule: nothing is written, and no secret leaves: neither tokens of Step Functions nor the keys of extras. One
page of the table, and one large result, are in memory at a time.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from stepwire.aws.s3 import prefix_of
from stepwire.aws.storage.items import TASK_PREFIX, task_of
from stepwire.aws.storage.table import Item
from stepwire.codec import moment_of, moment_of_seconds
from stepwire.extras.callers.holdings import all_kinds, kind_of, shown_kinds
from stepwire.extras.callers.storage import LIST, Block, block_in, hashes_in, record_key
from stepwire.hooks import Kept
from stepwire.json_text import load_json
from stepwire.principal import Principal
from stepwire.tasks.inputs import mode_of
from stepwire.tasks.runs import Pending
from stepwire.tasks.task import Task
from stepwire_cli.account.calls import Calls
from stepwire_cli.account.lives import Life
from stepwire_cli.account.operating import Where, status_of
from stepwire_cli.account.showing import Shown, as_json

_NOWHERE: Final = Where("")
_OF_AN_EXPORT: Final = (
    "taskId", "tool", "principal", "status", "createdAt", "lastUpdatedAt", "expiresAt", "follows", "followUps", "data"
)  # fmt: skip
"""What an export has of a task; the rest is advice to its operator."""
_KEYS: Final = ("pk", "sk")
_PAGE: Final = 100  # items


@dataclass(frozen=True)
class Held:
    """What is held of a caller."""

    calls: Calls
    table: str
    owner: Principal

    def lines(self, bucket: str, at: datetime) -> Iterator[dict[str, Any]]:
        """Yield everything, as one JSON object for each item and each large result."""
        for item in self._items():
            yield {"kind": kind_of(item), **_shown(item, at)}
        for page in self.objects(bucket):
            for key in page:
                found = self.calls.call("s3", "GetObject", Bucket=bucket, Key=key)
                result = load_json(found["Body"].read().decode())
                yield {"kind": "result", "taskId": key.split("/")[1], "result": result}

    def objects(self, bucket: str) -> Iterator[list[str]]:
        """Yield the keys of the large results, a page at a time."""
        listed = self.calls.pages(
            "s3", "ListObjectsV2", "NextContinuationToken", sent_as="ContinuationToken", Bucket=bucket,
            Prefix=prefix_of(self.owner),
        )  # fmt: skip
        for page in listed:
            if found := page.get("Contents"):
                yield [one["Key"] for one in found]

    def page(self) -> list[Item]:
        """Return the first items of the table, as many as one answer has."""
        return list(self._items(most=_PAGE))

    def has_anything(self) -> bool:
        """Tell whether anything is held."""
        return any(True for _ in self._items(most=1))

    def tasks(self) -> Iterator[Task]:
        """Yield the tasks, oldest first."""
        return map(task_of, self._items(TASK_PREFIX))

    def kept(self, at: datetime) -> dict[str, list[Kept]]:
        """Return what extras keep that has not ended, by its kind."""
        kinds = all_kinds()
        found = {kinds[prefix]: map(show, self._items(prefix)) for prefix, show in shown_kinds().items()}
        return {kind: [one for one in those if one.ends_at > at] for kind, those in found.items()}

    def block(self) -> Block | None:
        """Return how the caller is blocked; None if it is not."""
        if self.owner not in hashes_in(self._item(LIST)):
            return None
        return block_in(self._item(record_key(self.owner)))

    def _item(self, key: Item) -> Item | None:
        found = self.calls.call("dynamodb", "GetItem", TableName=self.table, Key=key, ConsistentRead=True)
        return cast(Item | None, found.get("Item"))

    def _items(self, prefix: str = "", most: int | None = None) -> Iterator[Item]:
        pages = self.calls.table_pages(
            "Query",
            TableName=self.table,
            ConsistentRead=True,
            **({} if most is None else {"Limit": most}),
            KeyConditionExpression="pk = :owner AND begins_with(sk, :prefix)" if prefix else "pk = :owner",
            ExpressionAttributeValues={
                ":owner": {"S": self.owner}, **({":prefix": {"S": prefix}} if prefix else {})
            },
        )  # fmt: skip
        for page in pages:
            yield from page["Items"]
            if most is not None:
                return


def blocks_in(calls: Calls, table: str) -> dict[str, Block]:
    """Return how each blocked caller is blocked, the latest first."""
    pages = calls.table_pages(
        "Query",
        TableName=table,
        ConsistentRead=True,
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": LIST["pk"]},
    )
    items = {item["sk"]["S"]: item for page in pages for item in page["Items"]}
    blocked = hashes_in(items.pop(LIST["sk"]["S"], None))
    found = {one: block_in(items.get(one)) for one in blocked}
    never = datetime.min.replace(tzinfo=UTC)
    return dict(sorted(found.items(), key=lambda one: (one[1].since or never, one[0]), reverse=True))


@dataclass(frozen=True)
class View:
    """A caller, in short."""

    owner: Principal
    counts: dict[str, int]
    """How many tasks have each status."""
    open: list[dict[str, Any]]
    """The tasks that have not ended."""
    kept: dict[str, list[Kept]]
    """What extras keep that has not ended, by its kind."""
    block: Block | None


def view_of(held: Held, at: datetime) -> View:
    """Return what a caller has, without anything that it sent or received."""
    counts, open_tasks = Counter[str](), list[dict[str, Any]]()
    for task in held.tasks():
        status = status_of(task, at)
        counts[status.partition(" ")[0].rstrip(",")] += 1
        if not task.has_ended and task.expires_at > at:
            open_tasks.append(_open(task, status))
    return View(held.owner, dict(sorted(counts.items())), open_tasks, held.kept(at), held.block())


def _open(task: Task, status: str) -> dict[str, Any]:
    waits = task.line is not None and bool(task.runs_pending(Pending.TURN))
    return {
        "taskId": task.task_id,
        "tool": task.work.tool,
        "status": status,
        "createdAt": task.created_at.isoformat(),
        "questions": [{"number": one.number, "kind": mode_of(one.asked).value} for one in task.questions],
        "line": task.line.pool if waits and task.line else None,
    }


def _shown(item: Item, at: datetime) -> dict[str, Any]:
    """Return an item without keys and secrets."""
    sort_key = item["sk"]["S"]
    if sort_key.startswith(TASK_PREFIX):
        whole = as_json(Shown(task_of(item), Life(), _NOWHERE, at, with_data=True))
        return {name: whole[name] for name in _OF_AN_EXPORT}
    for prefix, show in shown_kinds().items():
        if sort_key.startswith(prefix):
            return show(item).data
    return {"key": sort_key, **{name: _plain(name, one) for name, one in item.items() if name not in _KEYS}}


def _plain(name: str, attribute: Item) -> Any:
    """Return an attribute as JSON has it; times as ISO 8601, texts of JSON as what they say."""
    ((kind, value),) = attribute.items()
    match kind:
        case "S":
            return _read(value)
        case "N" if name == "expires_at":
            return moment_of_seconds(int(value)).isoformat()
        case "N" if name in ("at", "since", "until", "ends_at", "paced_until", "reclaimed_at"):
            return moment_of(int(value)).isoformat()
        case "N":
            return int(value)
        case "SS" | "NS":
            return sorted(value)
        case _:
            return value


def _read(text: str) -> Any:
    """Return what a JSON text of an object or a list says; any other text as it is."""
    if text[:1] in ("{", "["):
        try:
            return load_json(text)
        except ValueError:
            return text
    return text


def view_rows(view: View) -> Iterator[str]:
    """Yield the lines of a view."""
    if view.block is None:
        yield f"caller     {view.owner}, not blocked"
    else:
        since = "" if view.block.since is None else f" since {view.block.since:%Y-%m-%d %H:%M:%S}Z"
        by = "" if view.block.operator is None else f" by {view.block.operator}"
        why = "" if view.block.reason is None else f": {view.block.reason}"
        yield f"caller     {view.owner}, blocked{since}{by}{why}"
    yield f"tasks      {', '.join(f'{count:,} {status}' for status, count in view.counts.items()) or 'none'}"
    for one in view.open:
        asks = ", ".join(f"question {question['number']}: {question['kind']}" for question in one["questions"])
        line = f"waits for its turn in {one['line']}" if one["line"] else ""
        more = "; ".join(filter(None, (asks, line)))
        yield f"  {one['taskId']}  {one['tool']}  {one['status']}{f'  {more}' if more else ''}"
    for kind, those in view.kept.items():
        yield f"{kind}s  {len(those) or 'none'}"
        yield from (f"  {one.words}" for one in those)
