"""Tasks: a call is answered with a handle at once, and its client polls. Part of 2025-11-25, an extension since.

Its methods are imported at once: most requests are polls.
"""

from functools import partial
from typing import Final

from stepwire.catalog.tools import Tool
from stepwire.engine.idempotency import Begun
from stepwire.errors import InvalidParams
from stepwire.json_text import JsonObject
from stepwire.protocol import params as read
from stepwire.protocol.versions import LEGACY_WITH_TASKS, MODEL_IMMEDIATE_RESPONSE, MODERN_VERSIONS
from stepwire.rendering import legacy_task, mark_repeated, modern_task, naming_card
from stepwire.server.extension import Extension, Way
from stepwire.server.extensions.tasks import methods
from stepwire.server.kit import TASKS_CAPABILITY, Call, Kit, Reply
from stepwire.server.tool_calls import is_task, shows_card
from stepwire.server.unfinished import repeat_words
from stepwire.tasks.inputs import Mode


def _capabilities(kit: Kit, call: Call) -> JsonObject:
    if call.is_modern:
        return TASKS_CAPABILITY
    if call.version != LEGACY_WITH_TASKS:
        return {}
    listing: JsonObject = {"list": {}} if kit.access.knows_callers else {}  # T21
    return {"tasks": {**listing, "cancel": {}, "requests": {"tools": {"call": {}}}}}  # T1


def _intercept(kit: Kit, call: Call, tool: Tool, plain: Way) -> Way | None:
    """Answer a call with its task."""
    if not is_task(call, tool):
        return None
    # A client with tasks that can ask its user does so itself, though its host shows cards.
    asks_on_card = tool.confirmation is not None and shows_card(call, tool) and Mode.FORM not in call.modes
    is_modern = call.is_modern
    ttl_ms = None if is_modern else read.optional_milliseconds(call.params["task"], "ttl", "params.task.ttl")
    return Way(
        partial(_task_handle, kit, call, tool),
        None if asks_on_card else plain.confirm,
        plain.resume,
        refuse=None if is_modern else _refuse_task,
        is_task=True,
        ttl_ms=ttl_ms,
        is_cancellable=False,
    )


def _refuse_task(words: str) -> Reply:
    raise InvalidParams(words)  # the response must be a task, so a CallToolResult cannot say it (T7)


def _task_handle(kit: Kit, call: Call, tool: Tool, begun: Begun) -> JsonObject:
    """Write the task that a call has begun, as its era does."""
    task = begun.task
    if call.is_modern:
        result: JsonObject = {**modern_task(task, kit.now()), "resultType": "task"}
    else:
        shown = legacy_task(task, kit.now())
        # T9: a new task is `working`, even if it already waits for its confirmation.
        result = {"task": {**shown, "status": "working"} if task.awaits_confirmation else shown}
        if begun.is_repeat:
            result["_meta"] = {MODEL_IMMEDIATE_RESPONSE: repeat_words(tool)}  # T33
    if shows_card(call, tool):
        result = naming_card(result, task.task_id)
    return mark_repeated(result, is_repeat=begun.is_repeat)


TASKS: Final = Extension(
    {LEGACY_WITH_TASKS: methods.LEGACY, **dict.fromkeys(MODERN_VERSIONS, methods.MODERN)},
    _capabilities,
    intercept=_intercept,
)
