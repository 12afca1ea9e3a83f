"""The DynamoDB item of a task: write it and read it.

    pk    the owner's principal    sk  "task#" + the task's id    expires_at  epoch seconds, the table's TTL attribute
    runs  the state machines that work on it, as JSON; so is every attribute that is no plain text or number (`codec`)
    open  the sweep's shard, only while an execution may run or start: with checked_at, the key of the index `neglected`

This item is the head of the task: small, because every poll reads it and every change writes it. Large terms and a
large result are beside it (`parts`), and the head names their places: `terms_at`, `result_at`. An attribute that would
say the default is left out. The rule: each value is in one attribute, and an attribute holds what its name says.
docs/upgrades.md has the rules for changing the format.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias, TypeVar

from stepwire.aws.storage.times import MILLISECOND, milliseconds_of, moment_of, seconds_of
from stepwire.codec import decode, encode
from stepwire.principal import Principal
from stepwire.tasks.client_tasks import ClientTask
from stepwire.tasks.ids import TaskId, TaskKey, execution_name_of, prefix_in
from stepwire.tasks.inputs import InputRequest
from stepwire.tasks.runs import ONCE, Retry, Run
from stepwire.tasks.task import (
    Cancelled,
    Causes,
    Completed,
    Failed,
    Follows,
    FollowUpIds,
    InputRequired,
    Inputs,
    Origin,
    Progress,
    ResultElsewhere,
    ResultInExecution,
    Status,
    StoredResult,
    Task,
    TaskError,
    Terms,
    TermsElsewhere,
    ToolResult,
    Work,
    Working,
)

Item: TypeAlias = dict[str, Any]
"""An item in the format of DynamoDB's API: {"name": {"S": "text"}, ...}."""

T = TypeVar("T")
D = TypeVar("D")

FORMAT: Final = 1
TASK_PREFIX: Final = "task#"
USAGE: Final = "usage"
NEGLECTED_INDEX: Final = "neglected"
SHARDS: Final = ("0", "1", "2", "3")
"""The values of `open`: each is a partition of the index, and a partition accepts 1,000 writes per second."""
CHECKED_AT_STEP: Final = timedelta(minutes=5)
"""`checked_at` is the time of the last check in these steps, rounded down; `looked_at` is exact."""
IN_BUCKET: Final = "s3#"
"""Begins the place of a result that is in the bucket, and not in the table."""


def item_of(task: Task) -> Item:
    """Return the item of a task."""
    texts = {
        "tool": task.work.tool,
        "runs": encode(task.runs),
        "retry": None if task.retry == ONCE else encode(task.retry),
        **texts_of_terms(task.work.terms),
        "result_bucket": task.work.result_bucket,
        "result_prefix": task.work.result_prefix,
        "execution_name": execution_name_of(task.named_after, task.work.execution_prefix),
        "causes": None if task.work.causes is Causes.REDACTED else task.work.causes.value,
        **_texts_of(task.status),
        "open": _sweep_shard_of(task) if task.needs_checks else None,
        "origin": None if task.origin == Origin() else encode(task.origin),
        "inputs": None if task.inputs == Inputs() else encode(task.inputs),
        "client_tasks": encode(task.client_tasks) if task.client_tasks else None,
        "follows": None if task.follows is None else encode(task.follows),
        "follow_ups": None if task.follow_ups == FollowUpIds() else encode(task.follow_ups),
        "progress": None if task.progress is None else encode(task.progress),
        "states": None if task.states is None else encode(task.states),
    }
    numbers = {
        "format": FORMAT,
        "version": task.version,
        "created_at": milliseconds_of(task.created_at),
        "last_updated_at": milliseconds_of(task.last_updated_at),
        "checked_at": _in_steps(task.checked_at),
        "looked_at": milliseconds_of(task.checked_at),
        "ttl_ms": task.ttl // MILLISECOND,
        "keep_result_ms": task.keep_result // MILLISECOND,
        "poll_interval_ms": task.poll_interval // MILLISECOND,
        "longest_poll_interval_ms": task.longest_poll_interval // MILLISECOND,
        "shows_state": int(task.work.shows_state),
        **_numbers_of(task.status),
        **({"usage_shard": task.usage_shard} if task.usage_shard else {}),
        **({"quorum": task.quorum} if task.quorum > 1 else {}),
        **({"slots": task.slots} if task.slots > 1 else {}),
        # Rounded up: DynamoDB may delete the item from this second on, when no reader sees the task any more.
        "expires_at": seconds_of(task.expires_at),
    }
    return {
        **item_key(task.key),
        **{name: {"S": value} for name, value in texts.items() if value is not None},
        **{name: {"N": str(value)} for name, value in numbers.items()},
    }


def task_of(item: Item) -> Task:
    """Return the task of an item."""
    key = task_key_from_item(item)
    return Task(
        owner=key.owner,
        task_id=key.task_id,
        work=Work(
            _text(item, "tool"),
            TermsElsewhere(_text(item, "terms_at")) if "terms_at" in item else terms_of(item),
            prefix_in(_text(item, "execution_name")),
            shows_state=bool(_number(item, "shows_state")),
            result_bucket=_maybe(item, "result_bucket"),
            result_prefix=_maybe(item, "result_prefix"),
            causes=Causes(_maybe(item, "causes") or Causes.REDACTED.value),
        ),
        status=_status_of(item),
        created_at=moment_of(_number(item, "created_at")),
        last_updated_at=moment_of(_number(item, "last_updated_at")),
        ttl=_number(item, "ttl_ms") * MILLISECOND,
        poll_interval=_number(item, "poll_interval_ms") * MILLISECOND,
        longest_poll_interval=_number(item, "longest_poll_interval_ms") * MILLISECOND,
        checked_at=moment_of(_number(item, "looked_at")),
        runs=_json(item, "runs", tuple[Run, ...], ()),
        quorum=_number(item, "quorum") if "quorum" in item else 1,
        retry=_json(item, "retry", Retry, ONCE),
        slots=_number(item, "slots") if "slots" in item else 1,
        origin=_json(item, "origin", Origin, Origin()),
        inputs=_json(item, "inputs", Inputs, Inputs()),
        client_tasks=_json(item, "client_tasks", tuple[ClientTask, ...], ()),
        progress=_json(item, "progress", Progress, None),
        states=_json(item, "states", tuple[str, ...], None),
        keep_result=_number(item, "keep_result_ms") * MILLISECOND,
        follows=_json(item, "follows", Follows, None),
        follow_ups=_json(item, "follow_ups", FollowUpIds, FollowUpIds()),
        usage_shard=_number(item, "usage_shard") if "usage_shard" in item else 0,
        version=_number(item, "version"),
    )


def terms_of(item: Item) -> Terms:
    """Return the terms in an item."""
    return Terms(_text(item, "input"), _maybe(item, "output_schema"), _maybe(item, "output_shape"))


def texts_of_terms(terms: Terms | TermsElsewhere) -> Mapping[str, str | None]:
    """Return the terms as attributes of an item."""
    match terms:
        case Terms(text, schema, shape):
            return {"input": text, "output_schema": schema, "output_shape": shape}
        case TermsElsewhere(place):
            return {"terms_at": place}


def task_key_from_item(item: Item) -> TaskKey:
    """Return the key of an item's task; the item's own key attributes suffice."""
    return TaskKey(Principal(item["pk"]["S"]), TaskId(item["sk"]["S"].removeprefix(TASK_PREFIX)))


def item_key(key: TaskKey) -> Item:
    """Return the primary key of a task's item."""
    return {"pk": {"S": key.owner}, "sk": {"S": TASK_PREFIX + key.task_id}}


def usage_key(owner: Principal, shard: int = 0) -> Item:
    """Return the primary key of the item with what a caller uses of a shard of the limits."""
    return {"pk": {"S": owner}, "sk": {"S": f"{USAGE}#{shard}"}}


def usage_shard_of(item: Item) -> int:
    """Return the shard of an item with what a caller uses."""
    return int(item["sk"]["S"].removeprefix(f"{USAGE}#"))


def _in_steps(moment: datetime) -> int:
    """Return a time rounded down: the key of an index costs two writes whenever it changes."""
    step = CHECKED_AT_STEP // MILLISECOND
    return milliseconds_of(moment) // step * step


def _sweep_shard_of(task: Task) -> str:
    return SHARDS[ord(task.task_id[-1]) % len(SHARDS)]


def _texts_of(status: Status) -> Mapping[str, str | None]:
    match status:
        case Working(message):
            return {"status": "working", "message": message}
        case InputRequired(requests, message):
            return {"status": "input_required", "message": message, "requests": encode(requests)}
        case Completed(result, message):
            return {"status": _completed(is_error=result.is_error), "message": message, **_texts_of_result(result)}
        case Failed(error, message):
            return {"status": "failed", "message": message, "error": encode(error)}
        case Cancelled(message):
            return {"status": "cancelled", "message": message}


def _texts_of_result(result: StoredResult) -> Mapping[str, str | None]:
    match result:
        case ToolResult(text):
            return {"result": text}
        case ResultElsewhere(_, place):
            return {"result_at": place}
        case ResultInExecution():
            return {}


def _numbers_of(status: Status) -> Mapping[str, int]:
    match status:
        case Completed(ResultElsewhere(_, _, size)):
            return {"result_bytes": size}
        case _:
            return {}


def _stored_result_of(item: Item, *, is_error: bool) -> StoredResult:
    if "result" in item:
        return ToolResult(_text(item, "result"), is_error)
    if "result_at" in item:
        return ResultElsewhere(is_error, _text(item, "result_at"), _number(item, "result_bytes"))
    return ResultInExecution(is_error)


def _status_of(item: Item) -> Status:
    message = _maybe(item, "message")
    match _text(item, "status"):
        case "completed" | "completed_with_error" as status:
            return Completed(_stored_result_of(item, is_error=status == _completed(is_error=True)), message)
        case "failed":
            return Failed(decode(_text(item, "error"), TaskError), message)
        case "cancelled":
            return Cancelled(message)
        case "input_required":
            return InputRequired(decode(_text(item, "requests"), tuple[InputRequest, ...]), message)
        case _:
            return Working(message)


def _completed(*, is_error: bool) -> str:
    return "completed_with_error" if is_error else "completed"


def _text(item: Item, name: str) -> str:
    return item[name]["S"]


def _maybe(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"])


def _json(item: Item, name: str, to: type[T], default: D) -> T | D:
    return decode(item[name]["S"], to) if name in item else default
