"""The events of EventBridge: "Step Functions Execution Status Change" to what the kit understands."""

from typing import Any

from stepwire.aws.step_functions import state_of
from stepwire.execution_events import StatusChange
from stepwire.tasks.task import Execution


def status_change_of(event: dict[str, Any]) -> StatusChange:
    """Read an event. An output that is too large for it is left out (`outputDetails.included` is false)."""
    detail = event["detail"]
    return StatusChange(Execution(detail["stateMachineArn"], detail["name"]), state_of(detail))
