"""Tasks, results and tools as each era writes them. No other module knows both the protocol and the tasks.

Easy to get wrong: a tool that fails makes its task `failed` in legacy, and `completed` with `isError` in modern (T18,
X11).
"""

from base64 import b64encode
from collections.abc import Iterable
from datetime import datetime
from math import inf, nextafter
from typing import Any, Final, cast

from msgspec import Struct

from stepwire import __version__
from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.codec import MILLISECOND
from stepwire.json_text import Json, JsonObject, as_object, is_object, load_json
from stepwire.protocol.messages import LEGACY_WITH_TASKS, META_SERVER, MODERN_VERSIONS, RELATED_TASK
from stepwire.tasks.inputs import (
    Elicitation,
    InputRequest,
    Mode,
    Roots,
    Sampling,
    UrlElicitation,
    method_of,
    mode_of,
    params_of,
)
from stepwire.tasks.line import InLine
from stepwire.tasks.task import (
    LONGEST_MESSAGE,
    Completed,
    InputRequired,
    Progress,
    Status,
    Task,
    TaskError,
    ToolResult,
    Working,
)
from stepwire.visible_text import visible

SERVER_INFO: Final[JsonObject] = {"name": "stepwire", "version": __version__}
"""What each result says of this server; how hosts show it to people, only `server/discover` and `initialize` say."""
# A step with three wires.
_ICON: Final = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect width="24" height="24" rx="5" fill="#1f4e79"/>'
    b'<path d="M4 17h6v-5h5V7h5" fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round"/></svg>'
)
_A_LITTLE: Final = 0.001
# Texts of a workflow's author keep their line breaks.
_LINE_ENDS = "\n\t"
# The server's own member of `_meta`, on the result of a call whose workflow is still running.
UNFINISHED_TASK = "stepwire/task"
# The server's own member of `_meta`, on the result of a call that started nothing, because another call began its task.
REPEATED: Final = "stepwire/repeated"
# The server's own members of `_meta`, on a task: the ended task that it follows, and the task that follows it.
FOLLOWS: Final = "stepwire/follows"
FOLLOW_UPS: Final = "stepwire/followUps"
LINE: Final = "stepwire/line"
"""The server's own member of `_meta`, on a task that waits in line, and on its progress: where it stands."""
_UNFINISHED_SCHEMA: Final[JsonObject] = {
    "description": "The work goes on: this is no result yet.",
    "type": "object",
    "properties": {
        UNFINISHED_TASK: {
            "type": "object",
            "properties": {"taskId": {"type": "string"}, "status": {"type": "string"}},
            "required": ["taskId", "status"],
        }
    },
    "required": [UNFINISHED_TASK],
}
_PLACED: Final = frozenset({"$ref", "$dynamicRef", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"})


class Identity(Struct, frozen=True):
    """How hosts show this endpoint to people."""

    title: str = "Stepwire"
    website: str = ""
    """URL; empty: none."""
    icon: str = ""
    """URL or data: URI of an image; empty: Stepwire's."""

    def shown(self, version: str) -> JsonObject:
        """Write it as `initialize` and `server/discover` of a version show it."""
        info: JsonObject = {**SERVER_INFO, "title": self.title}
        if version not in (LEGACY_WITH_TASKS, *MODERN_VERSIONS):  # M56
            return info
        icon = self.icon or f"data:image/svg+xml;base64,{b64encode(_ICON).decode()}"
        return {**info, **({"websiteUrl": self.website} if self.website else {}), "icons": [{"src": icon}]}


def legacy_task(task: Task, at: datetime) -> JsonObject:
    """Return a task as 2025-11-25 writes it."""
    shown = modern_task(task, at)
    if tool_failed(task.status):
        shown["status"] = "failed"
    shown["ttl"], shown["pollInterval"] = shown.pop("ttlMs"), shown.pop("pollIntervalMs")
    return shown


def modern_task(task: Task, at: datetime) -> JsonObject:
    """Return a task as 2026-07-28 writes it, without its result, error or input requests (X6)."""
    message = status_message(task)
    return {
        "taskId": task.task_id,
        "status": modern_status(task),
        **({} if message is None else {"statusMessage": message}),
        "createdAt": timestamp(task.created_at),
        "lastUpdatedAt": timestamp(task.last_updated_at),
        "ttlMs": task.kept // MILLISECOND,
        "pollIntervalMs": task.poll_hint(at) // MILLISECOND,
    }


def modern_requests(requests: Iterable[InputRequest], modes: frozenset[Mode]) -> JsonObject:
    """Return input requests by their keys; those that the client does not declare are left out (M44, M48)."""
    return {
        one.key: {"method": method_of(one.asked), "params": request_params(one)}
        for one in requests
        if mode_of(one.asked) in modes
    }


def modern_answer(answer: ToolResult | TaskError) -> JsonObject:
    """Return the members that `tasks/get` shows of an ended task: its result or error (X10)."""
    match answer:
        case ToolResult():
            return {"result": modern_result(answer)}
        case TaskError(code, message, data):
            error: JsonObject = {"code": code, "message": message}
            return {"error": error if data is None else {**error, "data": data}}


def modern_result(result: ToolResult) -> JsonObject:
    """Return a CallToolResult; two released clients require its resultType even inside a task."""
    return {"resultType": "complete", **result.value()}


def legacy_result(result: ToolResult, related_task: str | None = None) -> JsonObject:
    """Return a CallToolResult; with the task's id in the response to `tasks/result` (T16)."""
    value = result.value()
    if not isinstance(value.get("structuredContent", {}), dict):
        del value["structuredContent"]  # M36: this era allows objects only; the text content has it too
    if related_task is None:
        return value
    meta = cast(JsonObject, value.get("_meta", {}))
    return {**value, "_meta": {**meta, RELATED_TASK: {"taskId": related_task}}}


def with_meta(result: JsonObject, meta: JsonObject) -> JsonObject:
    """Return a result with more members of `_meta`."""
    return {**result, "_meta": {**as_object(result.get("_meta")), **meta}}


def mark_repeated(result: JsonObject, *, is_repeat: bool) -> JsonObject:
    """Return the result of a call, in either era, with a mark if the call started nothing."""
    if not is_repeat:
        return result
    return with_meta(result, {REPEATED: True})


def request_params(request: InputRequest) -> JsonObject:
    """Return the parameters of an input request; if it is asked again and has a message, that says why."""
    params = params_of(request.asked)
    if not isinstance(request.asked, Elicitation):
        return params
    message = visible(params["message"], _LINE_ENDS)  # a workflow may quote its caller's input here
    if request.refusal is not None:
        message = f"{message} (The answer before was not accepted: {request.refusal}.)"
    return {**params, "message": message}


def legacy_request(request: InputRequest, related_task: str | None, message_id: str) -> JsonObject:
    """Return the parameters of an input request, with the task's id if the client knows the task (T30)."""
    params = request_params(request)
    if isinstance(request.asked, UrlElicitation):
        params["elicitationId"] = message_id  # L19
    return params if related_task is None else {**params, "_meta": {RELATED_TASK: {"taskId": related_task}}}


def progress_params(
    progress: Progress, message: str | None, token: str | int, in_line: InLine | None = None
) -> JsonObject:
    """Return the parameters of a `notifications/progress`."""
    optional = {"total": progress.total, "message": None if message is None else visible(message)}
    return {
        "progressToken": token,
        "progress": progress.done,
        **{name: value for name, value in optional.items() if value is not None},
        **({} if in_line is None else {"_meta": {LINE: line_data(in_line)}}),
    }


def next_progress(sent: float) -> Progress:
    """Return progress a little above what was sent: it must grow also where there is nothing to count."""
    return Progress(max(0.0, round(sent + _A_LITTLE, 3), nextafter(sent, inf)))


def line_data(in_line: InLine) -> JsonObject:
    """Write where a task stands in its line."""
    begins: JsonObject = {} if in_line.begins_at is None else {"beginsAt": timestamp(in_line.begins_at)}
    return {"position": in_line.position, **begins, **({"paused": True} if in_line.is_paused else {})}


def legacy_tool(tool: Tool, *, with_tasks: bool, meta: JsonObject | None = None) -> JsonObject:
    """Write a tool as `tools/list` of the legacy versions shows it."""
    as_task = with_tasks and tool.task_support is TaskSupport.REQUIRED
    shown = modern_tool(tool, as_task=as_task, meta=meta)
    if shown.get("outputSchema", {}).get("type") != "object":
        # M36: this era allows `type: object` only; clients reject a list that contains another type.
        shown.pop("outputSchema", None)
    if with_tasks:
        return {**shown, "execution": {"taskSupport": tool.task_support.value}}
    shown.pop("icons", None)  # M56: the versions before 2025-11-25 have none
    return shown


def modern_tool(tool: Tool, *, as_task: bool, meta: JsonObject | None = None) -> JsonObject:
    """Write a tool as `tools/list` of 2026-07-28 shows it.

    `as_task`: the client can call it as a task only; else a call may end with an unfinished result.
    """
    schema = as_object(load_json(tool.output_schema)) if tool.output_schema else None
    shown: dict[str, Any] = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": load_json(tool.input_schema),
        "outputSchema": schema if schema is None or as_task or tool.is_express else _with_unfinished(schema),
        "annotations": tool.annotations,
        "icons": list(tool.icons) or None,
        "_meta": meta or None,
    }
    return {key: value for key, value in shown.items() if value is not None}


def _with_unfinished(schema: JsonObject) -> JsonObject | None:
    """Return a schema that also allows an unfinished result; None if nesting the schema would break its references."""
    if _has_references(schema):
        return None
    own = {name: value for name, value in schema.items() if name != "$schema"}
    # The older era insists on the type at the root, and a dialect is named nowhere else.
    root = {name: schema[name] for name in ("$schema", "type") if name in schema and schema.get("type") == "object"}
    return {**root, "anyOf": [own, _UNFINISHED_SCHEMA]}


def _has_references(value: Json) -> bool:
    """Tell whether a schema has keywords that depend on where it stands."""
    if isinstance(value, list):
        return any(map(_has_references, cast(list[Json], value)))
    return is_object(value) and any(name in _PLACED or _has_references(part) for name, part in value.items())


def complete_result(result: JsonObject) -> JsonObject:
    """Return a result with its `resultType` (M26) and the name of this server (M21), unless it says more of that."""
    meta = {META_SERVER: SERVER_INFO, **cast(JsonObject, result.get("_meta", {}))}
    return {"resultType": "complete", **result, "_meta": meta}


def timestamp(moment: datetime) -> str:
    """Return a moment as both eras write it: ISO 8601 in UTC, with milliseconds."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def modern_status(task: Task) -> str:
    """Return the name of a task's status in 2026-07-28, which is also its tag."""
    return str(task.shown_status.__struct_config__.tag)


def tool_failed(status: Status) -> bool:
    """Tell whether the workflow has ended with a tool result that reports an error."""
    return isinstance(status, Completed) and status.result.is_error


def status_message(task: Task) -> str | None:
    """Say in a sentence what a task does now, for whoever reads its status; None if there is nothing to say."""
    words = task.status.message
    match task.status:
        case InputRequired(requests):
            words = _waiting_for(next(iter(task.input_requests), requests[0]))
        case Working() if task.progress is not None:
            words = f"{_progress_text(task.progress)}: {words}" if words else _progress_text(task.progress)
        case _ if words is None and task.inputs.decisions:  # nothing newer is said, as of work that has ended since
            words = task.inputs.decisions[-1].text()
        case _:
            pass
    if task.follows is None and task.follow_up is None:
        return None if words is None else visible(words)[:LONGEST_MESSAGE]
    links = _link_text(task)
    room = LONGEST_MESSAGE - len(links) - 1
    return links if words is None else f"{visible(words)[:room]} {links}"


def task_meta(task: Task) -> JsonObject:
    """Return the `_meta` of a task: its place in line, what it follows and what follows it; empty without any."""
    if task.follows is None and task.follow_up is None and task.in_line is None:
        return {}
    meta: JsonObject = {FOLLOWS: {"taskId": task.follows.task_id}} if task.follows else {}
    meta |= {FOLLOW_UPS: {"redrive": {"taskId": task.follow_up}}} if task.follow_up else {}
    return {"_meta": meta if task.in_line is None else {**meta, LINE: line_data(task.in_line)}}


def _link_text(task: Task) -> str:
    """Say which task this one follows, and which follows it; empty if there is none."""
    words: list[str] = []
    if task.follows is not None:
        words.append(f"It continues task {task.follows.task_id}, at the operator's request.")
    if task.follow_up is not None:
        words.append(f"The operator has let its workflow go on: see task {task.follow_up}.")
    return " ".join(words)


def _waiting_for(request: InputRequest) -> str:
    if not request.audience.is_caller:
        return request.audience.waiting_text(request.answers, request.expires_at)
    match request.asked:
        case Sampling():
            words = "Waiting for an answer of the client's model"
        case Roots():
            words = "Waiting for the client's roots"
        case elicitation:
            return f"Waiting for an answer: {elicitation.message}"
    # Neither request has a text in which its client would read why it is asked again.
    return words if request.refusal is None else f"{words} (the answer before was not accepted: {request.refusal})"


def _progress_text(progress: Progress) -> str:
    if progress.total:
        return f"{100 * progress.done / progress.total:.0f}%"
    return f"{progress.done:g} done"
