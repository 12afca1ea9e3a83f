"""For the tests of the template: what switches the extra off, and what it adds to functions of the core."""

from typing import Final

OFF: Final = {"Events": "off"}
QUEUE: Final = "WebhookQueue"
VARIABLES: Final = {"WEBHOOK_QUEUE": QUEUE}
"""Of function status_changes, as a stack resolves them."""
_A_CALLER: Final = "?" * 32
PARTITIONS: Final = {
    "StatusChangesFunction.RecordEvents": [_A_CALLER, "subscribers#*"],
    "WebhooksFunction.ReadEvents": [_A_CALLER],
}
"""Of the table, which a statement of a policy may reach."""
