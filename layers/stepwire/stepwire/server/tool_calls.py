"""The steps of `tools/call` and `tasks/result` that both eras share."""

from typing import Final

from stepwire.catalog.access import Scopes
from stepwire.catalog.tools import TaskSupport, Tool
from stepwire.engine.dialogue import Permit
from stepwire.errors import WorkflowError
from stepwire.json_text import Json, JsonObject, as_object
from stepwire.protocol import params as read
from stepwire.protocol.sessions import switch_in
from stepwire.protocol.versions import META_CLIENT
from stepwire.rendering import legacy_result, modern_result
from stepwire.schemas.validation import Violation
from stepwire.server.kit import Call, Kit
from stepwire.tasks.inputs import Mode
from stepwire.tasks.outcomes import tool_error
from stepwire.tasks.task import Cancelled, Task, TaskError, ToolResult

_ROUNDS: Final = "rounds"
"""In the query of the endpoint's URL: 1 or 0 decides for a client of one's own."""
_TAKING_ROUNDS: Final = ("fastmcp",)
_PYTHON_SDK: Final = "mcp"
"""The name of the Python SDK, in every host that keeps its default."""
_NOT_ON_CARDS: Final = frozenset({Mode.SAMPLING.value, Mode.ROOTS.value})


def tool_of(kit: Kit, call: Call) -> Tool:
    """Return the tool that a call names.

    Raises:
        UnknownTool: no tool has that name.
        InsufficientScope: the caller may not call it.
    """
    tool = kit.catalog.find(read.text(call.params, "name"))
    kit.access.check_tool(tool, call.caller.scopes, kit.catalog)
    return tool


def permit(kit: Kit, scopes: Scopes) -> Permit:
    """Return a check that a caller with these scopes may answer the questions of a task.

    Answers resume the workflow, and a confirmation starts it. So answering needs the same scopes as calling the tool.
    The check raises InsufficientScope if the caller may not call the task's tool.
    """

    def check(task: Task) -> None:
        tool = kit.catalog.tools.get(task.work.tool)
        if tool is not None:  # a tool that is no longer served needs no scopes
            kit.access.check_tool(tool, scopes, kit.catalog)

    return check


def arguments_of(call: Call) -> JsonObject:
    """Return the arguments of a call; empty if the call has none."""
    return read.optional_object(call.params, "arguments") or {}


def declares_tasks(call: Call) -> bool:
    """Tell whether the client declares the extension for tasks, which older eras do not have."""
    return call.is_modern and call.asks_for_task


def is_task(call: Call, tool: Tool) -> bool:
    """Tell whether a call of this tool is answered with a task."""
    return tool.task_support is not TaskSupport.FORBIDDEN and call.asks_for_task


def is_followed(kit: Kit, call: Call, *, as_task: bool = False) -> bool:
    """Tell whether questions reach the client: it polls its task, calls again in rounds, or resumes its response."""
    if call.is_modern:
        return as_task or takes_rounds(call)
    return kit.resumes(call).results if as_task else kit.resumes(call).calls


def takes_rounds(call: Call) -> bool:
    """Tell whether a client of 2026-07-28 calls again after an InputRequiredResult (decision 51).

    One that declares tasks, or what it can be asked, does. Of the others only some names are known: the Python SDK
    sends the same name and bytes from hosts that take rounds and from hosts that fail the call.
    """
    asked = switch_in(call.query, _ROUNDS)
    return declares_tasks(call) or bool(call.modes) or _name_of(call) in _TAKING_ROUNDS if asked is None else asked


def may_give_up_soon(call: Call) -> bool:
    """Tell whether the client may give up a call after 5 seconds, as the OpenAI Agents SDK does unless it is told."""
    return _name_of(call) == _PYTHON_SDK


def _name_of(call: Call) -> Json:
    """Return the name of a client of 2026-07-28, as it sent it in this request."""
    return as_object(as_object(call.params.get("_meta")).get(META_CLIENT)).get("name")


def shows_card(call: Call, tool: Tool) -> bool:
    """Tell whether the client's host shows a card of this tool's tasks.

    A card asks its user. It has no model and no roots, so a tool that needs those gets none.
    """
    return call.shows_cards and tool.has_card and _NOT_ON_CARDS.isdisjoint(tool.client_capabilities)


def missing_capabilities(tool: Tool, call: Call) -> JsonObject:
    """Return the capabilities that the tool needs and the client does not declare; a confirmation needs forms."""
    on_card = {"elicitation"} if shows_card(call, tool) else set[str]()
    declared = call.client_capabilities.keys() | on_card
    missing = {name: value for name, value in tool.client_capabilities.items() if name not in declared}
    if tool.confirmation is None or Mode.FORM in call.modes or on_card:
        return missing
    return {**missing, "elicitation": {"form": {}}}


def has_ended(task: Task) -> bool:
    """Tell whether the task has ended, so that waiting for it can stop."""
    return task.has_ended


def rejection(tool: str, faults: tuple[Violation, ...]) -> str:
    """Return a message that lists what is wrong with the arguments, so that a model can correct them."""
    wrong = "; ".join(map(str, faults))
    return f"The arguments of {tool} are not valid, and nothing was started: {wrong}."


def answer_or_raise(kit: Kit, task: Task) -> ToolResult:
    """Return the result of an ended task, as the call itself would have returned it (T14).

    Raises:
        WorkflowError: the workflow ended with a JSON-RPC error.
    """
    if isinstance(task.status, Cancelled):  # K4: no specification defines this; a tool result reaches the model
        return tool_error(f"The task {task.task_id} was cancelled, so it has no result.")
    return result_or_raise(kit.operations.result_of(task))


def result_or_raise(ended: ToolResult | TaskError) -> ToolResult:
    """Return the result of a workflow that has ended.

    Raises:
        WorkflowError: it ended with a JSON-RPC error.
    """
    match ended:
        case TaskError(code, message, data):
            raise WorkflowError(code, message, data)
        case ToolResult() as result:
            return result


def written(call: Call, result: ToolResult) -> JsonObject:
    """Return a CallToolResult as the era of a call writes it."""
    return modern_result(result) if call.is_modern else legacy_result(result)
