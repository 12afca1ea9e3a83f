"""The commands of operators, as function execution_events gets them: redrive or restart a task that has ended.

Whoever may invoke the function may give them: no event of EventBridge or of a queue has this form. The answer is for
the operator, and has no data of the caller.

    {"stepwire_command": {"means": "redrive" | "restart", "owner": hex, "task_id": id, "operator"?: ARN}}
    {"task_id": id, "status": status, "is_new": bool, "has_begun": bool} or {"refused": reason}
"""

from typing import Any, Final

from stepwire.engine.assembly import Engine
from stepwire.errors import NotFollowedUp, WorkflowsUnavailable
from stepwire.principal import Principal
from stepwire.rendering import modern_status
from stepwire.tasks.follow_ups import Means
from stepwire.tasks.ids import TaskKey, task_id_of

_MALFORMED: Final = "The command names no task: update the command `stepwire`, or this stack."
UNAVAILABLE: Final = "Step Functions does not answer, or may not be asked; nothing was done. Repeat the command."


def obeyed(command: dict[str, Any], engine: Engine) -> dict[str, Any]:
    """Redrive or restart a task, and return the answer."""
    task_id, owner = task_id_of(command.get("task_id")), command.get("owner")
    if task_id is None or not isinstance(owner, str) or command.get("means") not in {one.value for one in Means}:
        return {"refused": _MALFORMED}
    means = engine.follow_ups.redrive if command["means"] == Means.REDRIVE.value else engine.follow_ups.restart
    try:
        made = means(TaskKey(Principal(owner), task_id), command.get("operator"))
    except NotFollowedUp as refusal:
        return {"refused": refusal.reason}
    except WorkflowsUnavailable as fault:
        engine.ports.report(fault)
        return {"refused": UNAVAILABLE}
    return {
        "task_id": made.task.task_id,
        "status": modern_status(made.task.status),
        "is_new": made.is_new,
        "has_begun": made.has_begun,
    }
