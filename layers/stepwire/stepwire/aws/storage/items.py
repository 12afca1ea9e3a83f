"""The DynamoDB item of a task: write it and read it.

    pk    the owner's principal    sk  "task#" + the task's id    expires_at  epoch seconds, the table's TTL attribute
    attempt, race  the state of a retry policy (`attempts`) and of a race (`races`), as JSON
    open  the sweep's shard, only while an execution may run or start: with checked_at, the key of the index `neglected`

This item is the head of the task: small, because every poll reads it and every change writes it. Large terms and a
large result are beside it (`parts`), and the head names their places: `terms_at`, `result_at`. An attribute that would
say the default is left out. The rule: each value is in one attribute, and an attribute holds what its name says.
docs/upgrades.md has the rules for changing the format.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stepwire.aws.storage.attempts import attempt_in, text_of_attempt
from stepwire.aws.storage.times import (
    MILLISECOND,
    milliseconds_if_any,
    milliseconds_of,
    moment_if_any,
    moment_of,
    seconds_of,
)
from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire.principal import Principal
from stepwire.tasks.client_tasks import ClientTask
from stepwire.tasks.ids import TaskId, TaskKey, execution_name_of, prefix_in
from stepwire.tasks.inputs import (
    Action,
    Answer,
    Asked,
    Asking,
    Callback,
    FormElicitation,
    InputRequest,
    InputResponse,
    Mode,
    Roots,
    Sampling,
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

if TYPE_CHECKING:
    from stepwire.tasks.races import Race

Item: TypeAlias = dict[str, Any]
"""An item in the format of DynamoDB's API: {"name": {"S": "text"}, ...}."""

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
        "state_machine_arn": task.work.state_machine_arn,
        "attempt": None if task.attempt is None else text_of_attempt(task.attempt),
        "race": None if task.race is None else _text_of_race(task.race, task.work.state_machine_arn),
        **texts_of_terms(task.work.terms),
        "result_bucket": task.work.result_bucket,
        "result_prefix": task.work.result_prefix,
        "execution_name": _first_execution_name(task),
        "role": task.work.role or None,
        "causes": None if task.work.causes is Causes.REDACTED else task.work.causes.value,
        **_texts_of(task.status),
        "open": _sweep_shard_of(task) if task.needs_checks else None,
        "origin": None if task.origin == Origin() else _origin_text(task.origin),
        "inputs": None if task.inputs == Inputs() else _inputs_text(task.inputs),
        "client_tasks": write([_client_task(one) for one in task.client_tasks]) if task.client_tasks else None,
        "follows": None if task.follows is None else task.follows.task_id,
        "input_of": None if task.follows is None else task.follows.first,
        "followed_by_redrive": task.follow_ups.redrive,
        "followed_by_restart": task.follow_ups.restart,
        "progress": None if task.progress is None else _progress_text(task.progress),
        "states": None if task.states is None else write(list(task.states)),
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
        **({"unbegun": 1} if task.is_unbegun else {}),
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
    key, status, machine = task_key_from_item(item), _status_of(item), _text(item, "state_machine_arn")
    return Task(
        owner=key.owner,
        task_id=key.task_id,
        work=Work(
            _text(item, "tool"),
            machine,
            TermsElsewhere(_text(item, "terms_at")) if "terms_at" in item else terms_of(item),
            prefix_in(_text(item, "execution_name")),
            shows_state=bool(_number(item, "shows_state")),
            result_bucket=_maybe(item, "result_bucket"),
            result_prefix=_maybe(item, "result_prefix"),
            causes=Causes(_maybe(item, "causes") or Causes.REDACTED.value),
            role=_maybe(item, "role") or "",
        ),
        status=status,
        created_at=moment_of(_number(item, "created_at")),
        last_updated_at=moment_of(_number(item, "last_updated_at")),
        ttl=_number(item, "ttl_ms") * MILLISECOND,
        poll_interval=_number(item, "poll_interval_ms") * MILLISECOND,
        longest_poll_interval=_number(item, "longest_poll_interval_ms") * MILLISECOND,
        checked_at=moment_of(_number(item, "looked_at")),
        origin=_origin_of(_json(item, "origin")),
        inputs=_inputs_of(_json(item, "inputs")),
        client_tasks=tuple(map(_client_task_of, _json(item, "client_tasks") or ())),
        progress=_progress_of(_json(item, "progress")),
        states=tuple(_json(item, "states")) if "states" in item else None,
        may_begin="open" in item and not isinstance(status, Working | InputRequired),
        keep_result=_number(item, "keep_result_ms") * MILLISECOND,
        attempt=attempt_in(_text(item, "attempt")) if "attempt" in item else None,
        race=_race_in(_text(item, "race"), machine) if "race" in item else None,
        follows=_follows_in(item),
        follow_ups=FollowUpIds(_maybe_id(item, "followed_by_redrive"), _maybe_id(item, "followed_by_restart")),
        is_unbegun="unbegun" in item,
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


def _first_execution_name(task: Task) -> str:
    return execution_name_of(task.execution_key, task.work.execution_prefix)


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
            text = write([_request(one) for one in requests])
            return {"status": "input_required", "message": message, "requests": text}
        case Completed(result, message):
            return {"status": _completed(is_error=result.is_error), "message": message, **_texts_of_result(result)}
        case Failed(TaskError(code, words, data), message):
            return {"status": "failed", "message": message, "error": write([code, words, data])}
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
            return Failed(TaskError(*load_json(_text(item, "error"))), message)
        case "cancelled":
            return Cancelled(message)
        case "input_required":
            return InputRequired(tuple(map(_request_of, load_json(_text(item, "requests")))), message)
        case _:
            return Working(message)


def _completed(*, is_error: bool) -> str:
    return "completed_with_error" if is_error else "completed"


def _text(item: Item, name: str) -> str:
    return item[name]["S"]


def _maybe(item: Item, name: str) -> str | None:
    return item[name]["S"] if name in item else None


def _maybe_id(item: Item, name: str) -> TaskId | None:
    return TaskId(item[name]["S"]) if name in item else None


def _follows_in(item: Item) -> Follows | None:
    return Follows(TaskId(_text(item, "follows")), TaskId(_text(item, "input_of"))) if "follows" in item else None


def _number(item: Item, name: str) -> int:
    return int(item[name]["N"])


def _json(item: Item, name: str) -> Json:
    return load_json(item[name]["S"]) if name in item else None


def _request(request: InputRequest) -> Json:
    match request.destination:
        case Callback(token, arm, asking):
            destination: JsonObject = {"token": token, **({"arm": arm} if arm else {}), "asking": _asking(asking)}
        case WorkflowInput(member):
            destination = {"member": member}
    expires_at = milliseconds_if_any(request.expires_at)
    return [request.key, request.number, _asked(request.asked), destination, expires_at, request.refusal]


def _request_of(value: Json) -> InputRequest:
    key, number, asked, destination, expires_at, refusal = value
    asks_until = moment_if_any(expires_at)
    return InputRequest(key, number, _asked_of(asked), _destination_of(destination), asks_until, refusal)


def _asked(asked: Asked) -> Json:
    match asked:
        case Sampling():
            return {"mode": Mode.SAMPLING.value, "params": params_of(asked)}
        case Roots():
            return {"mode": Mode.ROOTS.value}
        case _:
            return params_of(asked)


def _asked_of(value: JsonObject) -> Asked:
    # Without the validation of `asked_of`: questions are validated before they are written.
    match Mode(value["mode"]):
        case Mode.FORM:
            return FormElicitation(value["message"], write(value["requestedSchema"]))
        case Mode.URL:
            return UrlElicitation(value["message"], value["url"])
        case Mode.SAMPLING:
            return Sampling(write(value["params"]))
        case Mode.ROOTS:
            return Roots()


def _destination_of(value: JsonObject) -> Callback | WorkflowInput:
    if "token" not in value:
        return WorkflowInput(value["member"])
    return Callback(value["token"], value.get("arm", ""), _asking_of(value["asking"]))


def _asking(asking: Asking | None) -> Json:
    return None if asking is None else [asking.digest, milliseconds_of(asking.at), asking.has_entry]


def _asking_of(value: Json) -> Asking | None:
    if value is None:
        return None
    digest, at, has_entry = value
    return Asking(digest, moment_of(at), has_entry)


def _inputs_text(inputs: Inputs) -> str:
    return write([inputs.asked, inputs.used_keys, [_undelivered(one) for one in inputs.undelivered]])


def _inputs_of(value: Json) -> Inputs:
    if value is None:
        return Inputs()
    asked, used_keys, undelivered = value
    return Inputs(asked, tuple(used_keys), tuple(map(_undelivered_of, undelivered)))


def _undelivered(one: UndeliveredAnswer) -> Json:
    return [one.token, _answer(one.answer), _asking(one.asking), one.is_unclaimed]


def _undelivered_of(value: Json) -> UndeliveredAnswer:
    token, answer, asking, is_unclaimed = value
    return UndeliveredAnswer(token, _answer_of(answer), _asking_of(asking), is_unclaimed)


def _answer(answer: Answer) -> Json:
    if isinstance(answer, Unanswerable):
        return None
    action = None if answer.action is None else answer.action.value
    # As a value: as a string in a string, each quote would be escaped.
    return [action, None if answer.content is None else load_json(answer.content)]


def _answer_of(value: Json) -> Answer:
    if value is None:
        return Unanswerable()
    action, content = value
    return InputResponse(
        None if action is None else Action(action),
        None if content is None else write(content),
    )


def _client_task(one: ClientTask) -> Json:
    return [one.number, one.session, one.task_id, one.poll_interval // MILLISECOND, one.has_ended]


def _client_task_of(value: Json) -> ClientTask:
    number, session, task_id, interval, has_ended = value
    return ClientTask(number, session, task_id, interval * MILLISECOND, has_ended)


def _origin_text(origin: Origin) -> str:
    return write([sorted(mode.value for mode in origin.modes), origin.progress_token, origin.request])


def _origin_of(value: Json) -> Origin:
    if value is None:
        return Origin()
    modes, progress_token, request = value
    return Origin(frozenset(map(Mode, modes)), progress_token, request)


def _progress_text(progress: Progress) -> str:
    return write([progress.done, progress.total, progress.is_counted])


def _progress_of(value: Json) -> Progress | None:
    return None if value is None else Progress(*value)


def _text_of_race(race: "Race", machine: str) -> str:
    from stepwire.aws.storage.races import text_of_race  # noqa: PLC0415 - few tasks are races

    return text_of_race(race, machine)


def _race_in(text: str, machine: str) -> "Race":
    from stepwire.aws.storage.races import race_in  # noqa: PLC0415 - few tasks are races

    return race_in(text, machine)
