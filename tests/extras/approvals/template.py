"""For the tests of the template: what switches the page on, and what the extra adds to functions of the core."""

from typing import Final

OFF: Final[dict[str, str]] = {}
ON: Final = {"ApprovalLinks": "link"}
QUEUES: Final[tuple[str, ...]] = ()
VARIABLES: Final = {"APPROVAL_LINKS": "off", "RESOURCE": "Api.ApiEndpoint/mcp", "SECRET_ARN": "RequestStateSecret"}
"""Of function status_changes, as a stack resolves them."""
ACTIONS: Final = ("dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem")
"""That function status_changes may do however much is switched off."""
WITH_TASKS: Final[tuple[str, ...]] = ()
"""Partitions that are written in the transactions of tasks."""
PARTITIONS: Final = {"StatusChangesFunction.ListQuestionsForApprovers": ["approvals#*"]}
"""Of the table, which a statement of a policy may reach."""
WILDCARDS: Final = {
    "ApprovalsFunction.AnswerWaitingStates": "the actions know no resources; a token is what they go by"
}
"""Permissions with a wildcard, and why they cannot be narrower."""
