"""The types of events, and the arguments that narrow them: what `events/list` shows and every other method checks."""

from typing import Final, cast

from msgspec import Struct

from stepwire.errors import InvalidParams, UnknownTask
from stepwire.json_text import Json, JsonObject, is_object
from stepwire.tasks.ids import TaskId, task_id_of

FINISHED: Final = "task.finished"
INPUT_REQUIRED: Final = "task.input_required"
PROGRESSED: Final = "task.progressed"
STATUS_CHANGED: Final = "task.status_changed"

WEBHOOK: Final = "webhook"
POLL: Final = "poll"

_ARGUMENTS: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "Only tasks of this tool."},
        "taskId": {"type": "string", "description": "Only this task."},
    },
    "additionalProperties": False,
}
_TEXT: Final[JsonObject] = {"type": "string"}
_MOMENT: Final[JsonObject] = {"type": "string", "format": "date-time"}
_OF_A_TASK: Final[JsonObject] = {
    "taskId": {"type": "string", "description": "Id of the task; fetch it with tasks/get or the tool task_result."},
    "tool": _TEXT,
    "status": {"type": "string", "description": "Status of the task; also expired, and removed."},
    "version": {"type": "integer", "description": "Of two events of one task, the higher version is later."},
    "createdAt": _MOMENT,
    "lastUpdatedAt": _MOMENT,
    "expiresAt": _MOMENT,
}
_OF_A_CHANGE: Final[JsonObject] = {
    **_OF_A_TASK,
    "previousStatus": {"type": ["string", "null"], "description": "null: the task is new."},
    "isError": {"type": "boolean", "description": "Whether the tool failed; of completed tasks only."},
}
_OF_PROGRESS: Final[JsonObject] = {
    **_OF_A_TASK,
    "progress": {"type": "number"},
    "total": {"type": "number", "description": "Absent if it is not known."},
}
_REQUIRED: Final = list(_OF_A_TASK)


def _type(description: str, properties: JsonObject, also_required: str) -> JsonObject:
    required = [*_REQUIRED, also_required]
    schema: JsonObject = {"type": "object", "properties": properties, "required": required}
    return {"description": description, "inputSchema": _ARGUMENTS, "payloadSchema": schema}


_TYPES: Final[dict[str, JsonObject]] = {
    FINISHED: _type("A task has ended: it is completed, failed or cancelled.", _OF_A_CHANGE, "previousStatus"),
    INPUT_REQUIRED: _type("A task waits for an answer.", _OF_A_CHANGE, "previousStatus"),
    PROGRESSED: _type("A running task has come about a tenth of its way further.", _OF_PROGRESS, "progress"),
    STATUS_CHANGED: _type("A task is new, or its status has changed.", _OF_A_CHANGE, "previousStatus"),
}
EVENT_NAMES: Final = tuple(_TYPES)


def listed(modes: tuple[str, ...]) -> list[JsonObject]:
    """Return the types of events as `events/list` shows them, with the modes of delivery."""
    return [{"name": name, "delivery": list(modes), **shown} for name, shown in _TYPES.items()]


class Filter(Struct, frozen=True):
    """Which events a caller wants: the type, and optionally one tool or one task."""

    name: str
    tool: str | None = None
    task_id: TaskId | None = None

    @property
    def arguments(self) -> JsonObject:
        """The arguments that make this filter."""
        given = {"tool": self.tool, "taskId": self.task_id}
        return {name: value for name, value in given.items() if value is not None}


def filter_of(name: str, arguments: Json) -> Filter:
    """Return the filter of a known type.

    Raises:
        InvalidParams: the arguments do not match the type's `inputSchema`.
        UnknownTask: no task of any caller has such an id.
    """
    if arguments is None:
        return Filter(name)
    if not is_object(arguments):
        raise InvalidParams("params.arguments must be an object.")
    values = cast(JsonObject, arguments)
    unknown = sorted(set(values) - {"tool", "taskId"})
    if unknown:
        raise InvalidParams(f"params.arguments.{unknown[0][:40]} is not known: {name} takes tool and taskId.")
    for key, value in values.items():
        if not isinstance(value, str):
            raise InvalidParams(f"params.arguments.{key} must be a string.")
    task_id = task_id_of(values.get("taskId"))
    if "taskId" in values and task_id is None:
        raise UnknownTask
    return Filter(name, values.get("tool"), task_id)
