"""A task as an item of DynamoDB, and back.

    pk  the principal           sk  "task#" + the task's id        expires_at  epoch seconds, the table's TTL
    open  while an execution may go on or begin, and only then: with checked_at, the key of the index `neglected`

An item that a later version wrote with more attributes loses them when an earlier one saves it, and what an earlier
version wrote is read without the attributes it does not have. docs/upgrades.md has the rule for a change of the shape.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from stepwire.json_text import Json, JsonObject, read_back, write
from stepwire.principal import Principal
from stepwire.tasks.ids import TaskId, TaskKey
from stepwire.tasks.inputs import (
    Action,
    Answer,
    Callback,
    Elicitation,
    FormElicitation,
    InputRequest,
    InputResponse,
    Mode,
    Unanswerable,
    UndeliveredAnswer,
    UrlElicitation,
    WorkflowInput,
    params_of,
)
from stepwire.tasks.task import (
    Cancelled,
    Causes,
    Completed,
    Failed,
    InputRequired,
    Inputs,
    Origin,
    Progress,
    ResultInExecution,
    Status,
    Task,
    TaskError,
    ToolResult,
    Work,
    Working,
)

Item: TypeAlias = dict[str, Any]
"""An item as DynamoDB's API writes it: {"name": {"S": "text"}, ...}."""

FORMAT: Final = 3
TASK_PREFIX: Final = "task#"
NEGLECTED_INDEX: Final = "neglected"
SHARDS: Final = ("0", "1", "2", "3")
"""The values of `open`: one partition of an index takes a thousand writes a second."""
_MILLISECOND: Final = timedelta(milliseconds=1)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def item_of(task: Task) -> Item:
    """Write a task as an item."""
    texts = {
        "tool": task.work.tool,
        "state_machine_arn": task.work.state_machine_arn,
        "input": task.work.input,
        "output_schema": task.work.output_schema,
        "result_bucket": task.work.result_bucket,
        "result_prefix": task.work.result_prefix,
        "causes": None if task.work.causes is Causes.REDACTED else task.work.causes.value,
        **_texts_of(task.status),
        "open": _shard_of(task) if task.needs_looking_after else None,
        "origin": None if task.origin == Origin() else _origin_text(task.origin),
        "inputs": None if task.inputs == Inputs() else _inputs_text(task.inputs),
        "progress": None if task.progress is None else write([task.progress.done, task.progress.total]),
    }
    numbers = {
        "format": FORMAT,
        "version": task.version,
        "created_at": milliseconds_of(task.created_at),
        "last_updated_at": milliseconds_of(task.last_updated_at),
        "checked_at": milliseconds_of(task.checked_at),
        "ttl_ms": task.ttl // _MILLISECOND,
        "keep_result_ms": task.keep_result // _MILLISECOND,
        "poll_interval_ms": task.poll_interval // _MILLISECOND,
        "longest_poll_interval_ms": task.longest_poll_interval // _MILLISECOND,
        "shows_state": int(task.work.shows_state),
        # Rounded up: DynamoDB may delete from this second on, and no reader may still see the task then.
        "expires_at": seconds_of(task.expires_at),
    }
    return {
        **key_of(task.key),
        **{name: {"S": value} for name, value in texts.items() if value is not None},
        **{name: {"N": str(value)} for name, value in numbers.items()},
    }


def task_of(item: Item) -> Task:
    """Read a task from its item."""
    key = task_key_of(item)
    return Task(
        owner=key.owner,
        task_id=key.task_id,
        work=Work(
            _text(item, "tool"),
            _text(item, "state_machine_arn"),
            _text(item, "input"),
            _maybe(item, "output_schema"),
            shows_state="shows_state" in item and bool(_number(item, "shows_state")),
            result_bucket=_maybe(item, "result_bucket"),
            result_prefix=_maybe(item, "result_prefix"),
            causes=Causes(_maybe(item, "causes") or Causes.REDACTED.value),
        ),
        status=_status_of(item),
        created_at=_moment(item, "created_at"),
        last_updated_at=_moment(item, "last_updated_at"),
        ttl=_number(item, "ttl_ms") * _MILLISECOND,
        poll_interval=_number(item, "poll_interval_ms") * _MILLISECOND,
        longest_poll_interval=_number(item, _longest_poll_interval(item)) * _MILLISECOND,
        checked_at=_moment(item, "checked_at"),
        origin=_origin_of(_json(item, "origin")),
        inputs=_inputs_of(_json(item, "inputs")),
        progress=_progress_of(_json(item, "progress")),
        may_begin=_maybe(item, "open") is not None and _text(item, "status") == "cancelled",
        keep_result=_number(item, "keep_result_ms") * _MILLISECOND if "keep_result_ms" in item else timedelta(),
        version=_number(item, "version"),
    )


def task_key_of(item: Item) -> TaskKey:
    """Read which task an item is, if only its key was read."""
    return TaskKey(Principal(item["pk"]["S"]), TaskId(item["sk"]["S"].removeprefix(TASK_PREFIX)))


def key_of(key: TaskKey) -> Item:
    """Write the key of a task's item."""
    return {"pk": {"S": key.owner}, "sk": {"S": TASK_PREFIX + key.task_id}}


def _shard_of(task: Task) -> str:
    return SHARDS[ord(task.task_id[-1]) % len(SHARDS)]


def seconds_of(moment: datetime) -> int:
    """Write a moment as the table's TTL counts."""
    return -(-milliseconds_of(moment) // 1000)


def moment_of(seconds: float) -> datetime:
    """Read a moment as the table's TTL counts, or finer."""
    return _EPOCH + timedelta(seconds=seconds)


def milliseconds_of(moment: datetime) -> int:
    """Write a moment as milliseconds since 1970."""
    return (moment - _EPOCH) // _MILLISECOND


def _texts_of(status: Status) -> Mapping[str, str | None]:
    match status:
        case Working(message):
            return {"status": "working", "message": message}
        case InputRequired(requests, message):
            text = write([_request(one) for one in requests])
            return {"status": "input_required", "message": message, "requests": text}
        case Completed(result, message):
            text = result.text if isinstance(result, ToolResult) else None
            return {"status": _completed(is_error=result.is_error), "message": message, "result": text}
        case Failed(TaskError(code, words, data), message):
            return {"status": "failed", "message": message, "error": write([code, words, data])}
        case Cancelled(message):
            return {"status": "cancelled", "message": message}


def _status_of(item: Item) -> Status:
    message = _maybe(item, "message")
    match _text(item, "status"):
        case "completed" | "completed_with_error" as status:
            is_error = status == _completed(is_error=True)
            text = _maybe(item, "result")
            return Completed(ResultInExecution(is_error) if text is None else ToolResult(text, is_error), message)
        case "failed":
            return Failed(TaskError(*read_back(_text(item, "error"))), message)
        case "cancelled":
            return Cancelled(message)
        case "input_required":
            return InputRequired(tuple(map(_request_of, read_back(_text(item, "requests")))), message)
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


def _moment(item: Item, name: str) -> datetime:
    return _EPOCH + _number(item, name) * _MILLISECOND


def _longest_poll_interval(item: Item) -> str:
    return "longest_poll_interval_ms" if "longest_poll_interval_ms" in item else "poll_interval_ms"


def _json(item: Item, name: str) -> Json:
    return read_back(item[name]["S"]) if name in item else None


def _request(request: InputRequest) -> Json:
    match request.destination:
        case Callback(token):
            destination: JsonObject = {"token": token}
        case WorkflowInput(member):
            destination = {"member": member}
    expires_at = None if request.expires_at is None else milliseconds_of(request.expires_at)
    return [request.key, request.number, params_of(request.elicitation), destination, expires_at, request.refusal]


def _request_of(value: Json) -> InputRequest:
    key, number, elicitation, destination, expires_at, refusal = value
    return InputRequest(
        key,
        number,
        _elicitation_of(elicitation),
        Callback(destination["token"]) if "token" in destination else WorkflowInput(destination["member"]),
        None if expires_at is None else _EPOCH + expires_at * _MILLISECOND,
        refusal,
    )


def _elicitation_of(params: JsonObject) -> Elicitation:
    # Not `elicitation_of`, which doubts: what is read back here has been checked before it was written.
    if params["mode"] == "url":
        return UrlElicitation(params["message"], params["url"])
    return FormElicitation(params["message"], write(params["requestedSchema"]))


def _inputs_text(inputs: Inputs) -> str:
    return write([inputs.asked, inputs.used_keys, [[one.token, _answer(one.answer)] for one in inputs.undelivered]])


def _inputs_of(value: Json) -> Inputs:
    if value is None:
        return Inputs()
    asked, used_keys, undelivered = value
    return Inputs(
        asked, tuple(used_keys), tuple(UndeliveredAnswer(token, _answer_of(answer)) for token, answer in undelivered)
    )


def _answer(answer: Answer) -> Json:
    if isinstance(answer, Unanswerable):
        return None
    # As a value: as a text in a text, its quotes would take twice the room.
    return [answer.action.value, None if answer.content is None else read_back(answer.content)]


def _answer_of(value: Json) -> Answer:
    if value is None:
        return Unanswerable()
    action, content = value
    # What a form takes is an object; as a text in the text, an earlier version wrote it.
    return InputResponse(Action(action), content if content is None or isinstance(content, str) else write(content))


def _origin_text(origin: Origin) -> str:
    return write([sorted(mode.value for mode in origin.modes), origin.progress_token, origin.request])


def _origin_of(value: Json) -> Origin:
    if value is None:
        return Origin()
    modes, progress_token, request = value
    return Origin(frozenset(map(Mode, modes)), progress_token, request)


def _progress_of(value: Json) -> Progress | None:
    return None if value is None else Progress(*value)
