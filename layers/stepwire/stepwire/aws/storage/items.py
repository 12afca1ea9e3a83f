"""The DynamoDB item of a task: write it and read it.

    pk    the owner's principal    sk  "task#" + the task's id    expires_at  epoch seconds, the table's TTL attribute
    state_machine_arn  of a task with a retry policy or a race, a list with its state (`attempts`, `races`)
    open  the sweep's shard, only while an execution may run or start: with checked_at, the key of the index `neglected`

This item is the head of the task: small, because every poll reads it and every change writes it. Large terms and a
large result are beside it (`parts`), and the head names their places: `terms_at`, `result_at`; `result_object` is the
place of a result in S3.

Attributes that a later version added are lost when an earlier version saves the item; attributes that an earlier
version did not write are optional. docs/upgrades.md has the rules for changing the format.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import starmap
from typing import Any, Final, TypeAlias

from stepwire.aws.storage import attempts
from stepwire.aws.storage.times import (
    MILLISECOND,
    milliseconds_if_any,
    milliseconds_of,
    moment_if_any,
    moment_of,
    seconds_of,
)
from stepwire.json_text import Json, JsonObject, load_json, write
from stepwire.lean_dataclasses import replace
from stepwire.principal import Principal
from stepwire.tasks.client_tasks import ClientTask
from stepwire.tasks.ids import TaskId, TaskKey, execution_name_of, prefix_in
from stepwire.tasks.inputs import (
    ELICITATION_MODES,
    Action,
    Answer,
    Asking,
    Callback,
    Elicitation,
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
    mode_of,
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

Item: TypeAlias = dict[str, Any]
"""An item in the format of DynamoDB's API: {"name": {"S": "text"}, ...}."""

FORMAT: Final = 3
TASK_PREFIX: Final = "task#"
USAGE: Final = "usage"
NEGLECTED_INDEX: Final = "neglected"
SHARDS: Final = ("0", "1", "2", "3")
"""The values of `open`: each is a partition of the index, and a partition accepts 1,000 writes per second."""
CHECKED_AT_STEP: Final = timedelta(minutes=5)
"""`checked_at` is the time of the last check in these steps, rounded down; `looked_at` is exact."""
IN_BUCKET: Final = "s3#"
"""Begins the place of a result that is in the bucket, and not in the table."""
_UNKNOWN_BEFORE: Final[JsonObject] = {"mode": "url", "message": "", "url": ""}
"""Stands in `requests` for a question that earlier versions cannot ask."""


def item_of(task: Task) -> Item:
    """Return the item of a task."""
    texts = {
        "tool": task.work.tool,
        "state_machine_arn": attempts.text_of(task),
        **texts_of_terms(task.work.terms),
        "result_bucket": task.work.result_bucket,
        "result_prefix": task.work.result_prefix,
        "execution_name": _first_execution_name(task) if task.work.execution_prefix else None,
        "role": task.work.role or None,
        "causes": None if task.work.causes is Causes.REDACTED else task.work.causes.value,
        **_texts_of(task.status),
        "open": _sweep_shard_of(task) if task.needs_checks else None,
        "origin": None if task.origin == Origin() else _origin_text(task.origin),
        "client_modes": _text_unless_empty(sorted(mode.value for mode in task.origin.modes - ELICITATION_MODES)),
        "inputs": None if task.inputs == Inputs() else _inputs_text(task.inputs),
        "client_results": _text_unless_empty(_client_results(task.inputs)),
        "askings": _text_unless_empty(_askings(task.inputs)),
        "client_tasks": _text_unless_empty(map(_client_task, task.client_tasks)),
        "follows": None if task.follows is None else task.follows.task_id,
        "input_of": None if task.follows is None else task.follows.first,
        "followed_by_redrive": task.follow_ups.redrive,
        "followed_by_restart": task.follow_ups.restart,
        "progress": None if task.progress is None else write([task.progress.done, task.progress.total]),
        "states": None if task.states is None else write(list(task.states)),
        "progress_source": "items" if task.progress is not None and task.progress.is_counted else None,
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
    key, status = task_key_from_item(item), _status_of(item)
    work = attempts.read(_text(item, "state_machine_arn"))
    return Task(
        owner=key.owner,
        task_id=key.task_id,
        work=Work(
            _text(item, "tool"),
            work.state_machine_arn,
            TermsElsewhere(_text(item, "terms_at")) if "terms_at" in item else terms_of(item),
            shows_state="shows_state" in item and bool(_number(item, "shows_state")),
            result_bucket=_maybe(item, "result_bucket"),
            result_prefix=_maybe(item, "result_prefix"),
            causes=Causes(_maybe(item, "causes") or Causes.REDACTED.value),
            execution_prefix=prefix_in(_maybe(item, "execution_name") or ""),
            role=_maybe(item, "role") or "",
        ),
        status=status,
        created_at=moment_of(_number(item, "created_at")),
        last_updated_at=moment_of(_number(item, "last_updated_at")),
        ttl=_number(item, "ttl_ms") * MILLISECOND,
        poll_interval=_number(item, "poll_interval_ms") * MILLISECOND,
        longest_poll_interval=_number(item, _longest_poll_interval(item)) * MILLISECOND,
        checked_at=moment_of(_number(item, "looked_at" if "looked_at" in item else "checked_at")),
        origin=_origin_of(_json(item, "origin"), _json(item, "client_modes") or ()),
        inputs=_with_askings(
            _inputs_of(_json(item, "inputs"), dict(_json(item, "client_results") or ())), _json(item, "askings")
        ),
        client_tasks=tuple(map(_client_task_of, _json(item, "client_tasks") or ())),
        progress=_progress_of(_json(item, "progress"), is_counted="progress_source" in item),
        states=tuple(_json(item, "states")) if "states" in item else None,
        may_begin="open" in item and not isinstance(status, Working | InputRequired),
        keep_result=_number(item, "keep_result_ms") * MILLISECOND if "keep_result_ms" in item else timedelta(),
        attempt=work.attempt,
        race=work.race,
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
            # An earlier version needs an input; Step Functions refuses to start anything with this one.
            return {"input": "", "terms_at": place}


def task_key_from_item(item: Item) -> TaskKey:
    """Return the key of an item's task; the item's own key attributes suffice."""
    return TaskKey(Principal(item["pk"]["S"]), TaskId(item["sk"]["S"].removeprefix(TASK_PREFIX)))


def item_key(key: TaskKey) -> Item:
    """Return the primary key of a task's item."""
    return {"pk": {"S": key.owner}, "sk": {"S": TASK_PREFIX + key.task_id}}


def usage_key(owner: Principal, shard: int = 0) -> Item:
    """Return the primary key of the item with what a caller uses of a shard of the limits."""
    return {"pk": {"S": owner}, "sk": {"S": f"{USAGE}#{shard}" if shard else USAGE}}


def usage_shard_of(item: Item) -> int:
    """Return the shard of an item with what a caller uses."""
    return int(item["sk"]["S"].removeprefix(USAGE).removeprefix("#") or 0)


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
            others = _text_unless_empty(filter(None, starmap(_client_request, enumerate(requests))))
            return {"status": "input_required", "message": message, "requests": text, "client_requests": others}
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
            # An earlier version does not know `result_object`, so it asks Step Functions for the result.
            return {"result_object" if place.startswith(IN_BUCKET) else "result_at": place}
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
    for name in ("result_at", "result_object"):
        if name in item:
            return ResultElsewhere(is_error, _text(item, name), _number(item, "result_bytes"))
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
            requests = map(_request_of, load_json(_text(item, "requests")))
            return InputRequired(_with_client_requests(requests, _json(item, "client_requests")), message)
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


def _longest_poll_interval(item: Item) -> str:
    return "longest_poll_interval_ms" if "longest_poll_interval_ms" in item else "poll_interval_ms"


def _text_unless_empty(values: Iterable[Json]) -> str | None:
    listed = list(values)
    return write(listed) if listed else None


def _json(item: Item, name: str) -> Json:
    return load_json(item[name]["S"]) if name in item else None


def _request(request: InputRequest) -> Json:
    match request.destination:
        case Callback(token, arm, asking):
            named = {"arm": arm or None, "asking": _asking(asking)}
            destination: JsonObject = {"token": token, **{name: one for name, one in named.items() if one is not None}}
        case WorkflowInput(member):
            destination = {"member": member}
    params, expires_at = params_of(request.asked), milliseconds_if_any(request.expires_at)
    if not isinstance(request.asked, Elicitation):
        # `client_requests` has the rest. An earlier version drops what looks expired, and asks nobody.
        params, expires_at = _UNKNOWN_BEFORE, 0
    return [request.key, request.number, params, destination, expires_at, request.refusal]


def _client_request(position: int, request: InputRequest) -> Json:
    """Return what `requests` lacks of a question for the client's model or roots; None for any other question."""
    if isinstance(request.asked, Elicitation):
        return None
    expires_at = milliseconds_if_any(request.expires_at)
    return [position, mode_of(request.asked).value, params_of(request.asked), expires_at]


def _with_client_requests(requests: Iterable[InputRequest], others: Json) -> tuple[InputRequest, ...]:
    merged: list[InputRequest] = list(requests)
    for position, mode, params, expires_at in others or ():
        asked = Sampling(write(params)) if Mode(mode) is Mode.SAMPLING else Roots()
        one = merged[int(position)]
        merged[int(position)] = replace(one, asked=asked, expires_at=moment_if_any(expires_at))
    return tuple(merged)


def _request_of(value: Json) -> InputRequest:
    key, number, elicitation, destination, expires_at, refusal = value
    return InputRequest(
        key,
        number,
        _elicitation_of(elicitation),
        _destination_of(destination),
        moment_if_any(expires_at),
        refusal,
    )


def _destination_of(value: JsonObject) -> Callback | WorkflowInput:
    if "token" not in value:
        return WorkflowInput(value["member"])
    return Callback(value["token"], value.get("arm", ""), _asking_of(value.get("asking")))


def _asking(asking: Asking | None) -> Json:
    return None if asking is None else [asking.digest, milliseconds_of(asking.at), int(asking.has_entry)]


def _asking_of(value: Json) -> Asking | None:
    if value is None:
        return None
    digest, at, has_entry = value
    return Asking(digest, moment_of(int(at)), bool(has_entry))


def _elicitation_of(params: JsonObject) -> Elicitation:
    # Without the validation of `elicitation_of`: elicitations are validated before they are written.
    if params["mode"] == "url":
        return UrlElicitation(params["message"], params["url"])
    return FormElicitation(params["message"], write(params["requestedSchema"]))


def _inputs_text(inputs: Inputs) -> str:
    return write([inputs.asked, inputs.used_keys, [[one.token, _answer(one.answer)] for one in inputs.undelivered]])


def _inputs_of(value: Json, results: Mapping[int, Json]) -> Inputs:
    if value is None:
        return Inputs()
    asked, used_keys, undelivered = value
    answers = (
        UndeliveredAnswer(token, _result_of(results[at]) if at in results else _answer_of(answer))
        for at, (token, answer) in enumerate(undelivered)
    )
    return Inputs(asked, tuple(used_keys), tuple(answers))


def _client_results(inputs: Inputs) -> list[Json]:
    """Return the undelivered results of clients, by their positions in `inputs`."""
    answers = enumerate(one.answer for one in inputs.undelivered)
    return [[at, load_json(one.text())] for at, one in answers if isinstance(one, InputResponse) and one.action is None]


def _askings(inputs: Inputs) -> list[Json]:
    """Return what was asked and is answered, by the positions of the answers in `inputs`."""
    answers = enumerate(inputs.undelivered)
    return [[at, _asking(one.asking), int(one.is_unclaimed)] for at, one in answers if one.asking is not None]


def _with_askings(inputs: Inputs, askings: Json) -> Inputs:
    if not askings:
        return inputs
    undelivered = list(inputs.undelivered)
    for at, asking, is_unclaimed in askings:
        changed = replace(undelivered[int(at)], asking=_asking_of(asking), is_unclaimed=bool(is_unclaimed))
        undelivered[int(at)] = changed
    return replace(inputs, undelivered=tuple(undelivered))


def _result_of(value: Json) -> Answer:
    return InputResponse(None, write(value))


def _answer(answer: Answer) -> Json:
    # `client_results` has the results of clients. An earlier version fails the state, which may catch that.
    if isinstance(answer, Unanswerable) or answer.action is None:
        return None
    # As a value: as a string in a string, each quote would be escaped.
    return [answer.action.value, None if answer.content is None else load_json(answer.content)]


def _answer_of(value: Json) -> Answer:
    if value is None:
        return Unanswerable()
    action, content = value
    # A form's content is an object; an earlier version wrote it as a string.
    return InputResponse(Action(action), content if content is None or isinstance(content, str) else write(content))


def _client_task(one: ClientTask) -> Json:
    return [one.number, one.session, one.task_id, one.poll_interval // MILLISECOND, int(one.has_ended)]


def _client_task_of(value: Json) -> ClientTask:
    number, session, task_id, interval, has_ended = value
    return ClientTask(number, session, task_id, interval * MILLISECOND, bool(has_ended))


def _origin_text(origin: Origin) -> str:
    modes = sorted(mode.value for mode in origin.modes & ELICITATION_MODES)
    return write([modes, origin.progress_token, origin.request])


def _origin_of(value: Json, client_modes: Iterable[str]) -> Origin:
    if value is None:
        return Origin()
    modes, progress_token, request = value
    return Origin(frozenset(map(Mode, (*modes, *client_modes))), progress_token, request)


def _progress_of(value: Json, *, is_counted: bool) -> Progress | None:
    return None if value is None else Progress(*value, is_counted=is_counted)
